package prose

import (
	"strings"
	"unicode"
)

// Direction reads which way a figure is said to go: 1, -1, or 0 if neither a sign nor the words next to it say.
func Direction(t string, f Figure) int {
	before := strings.TrimRight(t[:f.Start], " (\n")
	for len(before) < f.Start {
		word := strings.ToLower(lastWord(before))
		rest := strings.TrimSuffix(before[:len(before)-len(word)], " ")
		if leads(word) {
			before = rest
			continue
		}
		if way := wayOf(word); way != 0 && !places(word) && !(word == "up" && makes(lastWord(rest))) {
			return way
		}
		break
	}
	if f.Sign != 0 {
		return f.Sign
	}
	behind, found := strings.CutPrefix(t[f.End:], " ")
	if !found {
		return 0
	}
	for _, span := range []string{"daily ", "weekly ", "24-hour ", "7-day "} {
		behind = strings.TrimPrefix(behind, span)
	}
	word := behind[:len(behind)-len(strings.TrimLeftFunc(behind, unicode.IsLetter))]
	return wayOf(strings.ToLower(word))
}

// lastWord is the letters that t ends with.
func lastWord(t string) string {
	return t[len(strings.TrimRightFunc(t, unicode.IsLetter)):]
}

// leads reports whether a word may stand between one for a direction and its figure.
func leads(w string) bool {
	switch w {
	case "by", "of", "about", "around", "some", "nearly", "almost", "roughly", "over", "more", "than", "another", "a", "further",
		"only", "just", "as", "much":
		return true
	}
	return false
}

// places reports whether a word says where something is, and not where it went.
func places(w string) bool {
	switch w {
	case "above", "below", "green", "red":
		return true
	}
	return false
}

// Heading reads which way the words say that something goes: the last ones before a figure, else the first behind it; 0 for none.
func Heading(before, behind string) int {
	way := 0
	words := Words(before)
	for i, w := range words {
		if h := wayOf(w.Text); h != 0 && !(w.Text == "up" && i > 0 && makes(words[i-1].Text)) {
			way = h
		}
	}
	for _, w := range Words(behind) {
		if way == 0 {
			way = wayOf(w.Text)
		}
	}
	return way
}

// makes reports whether up stands behind w for a part, as in makes up.
func makes(w string) bool { return w == "make" || w == "makes" || w == "made" || w == "making" }

func wayOf(w string) int {
	switch Stem(w) {
	case "up", "rose", "rise", "risen", "rising", "gain", "gained", "gaining", "gainer", "climb", "climbed", "climbing", "jump",
		"jumped", "jumping", "add", "added", "adding", "advance", "advanced", "advancing", "rally", "rallied", "rallying", "surge",
		"surged", "surging", "soar", "soared", "soaring", "grew", "grow", "grown", "growing", "higher", "increase", "increased",
		"increasing", "above", "green":
		return 1
	case "down", "fell", "fall", "fallen", "falling", "lost", "lose", "losing", "loser", "loss", "losse", "drop", "dropped",
		"dropping", "decline", "declined", "declining", "slid", "slide", "sliding", "shed", "shedding", "sank", "sunk", "sink",
		"slump", "slumped", "slumping", "slip", "slipped", "slipping", "plunge", "plunged", "plunging", "tumble", "tumbled",
		"tumbling", "crash", "crashe", "crashed", "crashing", "shrank", "lower", "decrease", "decreased", "below", "red", "off", "dip",
		"dipped":
		return -1
	}
	return 0
}
