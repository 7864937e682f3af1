package human

import "strings"

// Nearest is the name that is most like word, "" if none is like it.
func Nearest(word string, names []string) string {
	best, least := "", min(max(len(word)/3, 1), 3)+1
	for _, name := range names {
		if d := Distance(strings.ToLower(word), strings.ToLower(name), least-1); d < least {
			best, least = name, d
		}
	}
	return best
}

// Distance is how many letters have to be put in, taken out or changed to make b of a, or some number above most.
func Distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	var space [64]int
	row := space[:]
	if len(b) >= len(space) {
		row = make([]int, len(b)+1)
	}
	row = row[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal, least := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
			least = min(least, row[j+1])
		}
		if least > most {
			return most + 1
		}
	}
	return row[len(b)]
}
