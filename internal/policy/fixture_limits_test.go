package policy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// chained are n packages under daemon, each of which imports the next.
func chained(n int) map[string]string {
	files := map[string]string{}
	for i := 1; i <= n; i++ {
		src := fmt.Sprintf("package p%d\n", i)
		if i < n {
			src += fmt.Sprintf("import _ \"example.com/m/daemon/p%d\"\n", i+1)
		}
		files[fmt.Sprintf("daemon/p%d/p.go", i)] = src
	}
	return files
}

func limitFixtures() []fixture {
	return []fixture{
		{"line length", "140 columns", sources("package feed\n\n//" + strings.Repeat("é", 138) + "\n"), nil},
		{"line length", "141 columns", sources("package feed\n\n//" + strings.Repeat("é", 139) + "\n"),
			[]string{"feed.go:3: line of 141 columns, at most 140"}},
		{"line length", "a tab is four columns", sources("package feed\n\nvar (\n\t// " + strings.Repeat("a", 134) + "\n)\n"),
			[]string{"feed.go:4: line of 141 columns"}},
		{"line length", "raw strings are data", sources("package feed\n\nconst page = `" + strings.Repeat("a", 200) + "`\n"), nil},

		{"import depth", "10", chained(11), nil},
		{"import depth", "12 is reported once", chained(13), []string{"daemon/p2: import depth 11, at most 10: daemon/p2 → daemon/p3"}},
	}
}

// branches is a function of complexity 11 and n: two each of for, case and comm clause, one each of if, range, && and ||, two
// defaults that do not count, and n ifs in a function literal.
func branches(n int) string {
	return `package feed
func f() {
	for a && b {
	}
	for range c {
	}
	for d || e {
	}
	switch {
	case g, h:
	case i:
	default:
	}
	select {
	case <-j:
	case k <- l:
	default:
	}
	if m {
	}
	func() {
` + strings.Repeat("\t\tif n {\n\t\t}\n", n) + `	}()
}
`
}

// TestSizesFound has both sides of what a reader looks at, and every kind of branch.
func TestSizesFound(t *testing.T) {
	t.Parallel()
	long := func(lines int) string { return "package feed\nfunc f() {\n" + strings.Repeat("\n", lines-2) + "}\n" }
	for _, c := range []struct {
		name, src string
		want      []string
	}{
		{"file of 700 lines", "package feed\n" + strings.Repeat("\n", longFile-1), nil},
		{"file of 701 lines", "package feed\n" + strings.Repeat("\n", longFile), []string{"701 lines"}},
		{"function of 80 lines", long(longFunc), nil},
		{"function of 81 lines", long(longFunc + 1), []string{"f has 81 lines"}},
		{"20 paths", branches(9), nil},
		{"21 paths", branches(10), []string{"f has 21 paths"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var found []string
			for _, s := range sizes(parse(t, sources(c.src))) {
				found = append(found, s.size)
			}
			if !slices.Equal(found, c.want) {
				t.Errorf("found %q, want %q", found, c.want)
			}
		})
	}
}
