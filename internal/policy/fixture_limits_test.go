package policy_test

import (
	"fmt"
	"strings"
)

// lines is n lines of a function's body.
func lines(n int) string { return strings.Repeat("\t_ = 1\n", n) }

// ofLines is a file of n lines.
func ofLines(n int) string { return "package feed\n" + strings.Repeat("\n", n-1) }

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

// folder is a package of n files of 500 lines each.
func folder(path string, n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("%s/f%d.go", path, i)] = ofLines(500)
	}
	return files
}

// with is files and one more.
func with(files map[string]string, path, src string) map[string]string {
	files[path] = src
	return files
}

func limitFixtures() []fixture {
	return []fixture{
		{"file size", "500 lines", sources(ofLines(500)), nil},
		{"file size", "501 lines", sources(ofLines(501)), []string{"feed.go:501: file of 501 lines, at most 500"}},

		{"function size", "80 lines", sources("package feed\n\n// F has\n// a comment.\nfunc F() {\n" + lines(78) + "}\n"), nil},
		{"function size", "81 lines", sources("package feed\n\nfunc (t *T[K]) F() {\n" + lines(79) + "}\n"),
			[]string{"feed.go:3: T.F has 81 lines"}},

		{"package size", "8000 lines", folder("tui", 16), nil},
		{"package size", "8001 lines", with(folder("tui", 16), "tui/x.go", ofLines(1)), []string{"tui: package of 8001 lines"}},
		{"package size", "tests are free", with(folder("tui", 16), "tui/x_test.go", ofLines(500)), nil},

		{"line length", "140 columns", sources("package feed\n\n//" + strings.Repeat("é", 138) + "\n"), nil},
		{"line length", "141 columns", sources("package feed\n\n//" + strings.Repeat("é", 139) + "\n"),
			[]string{"feed.go:3: line of 141 columns, at most 140"}},
		{"line length", "a tab is four columns", sources("package feed\n\nvar (\n\t// " + strings.Repeat("a", 134) + "\n)\n"),
			[]string{"feed.go:4: line of 141 columns"}},
		{"line length", "raw strings are data", sources("package feed\n\nconst page = `" + strings.Repeat("a", 200) + "`\n"), nil},

		{"import depth", "9", chained(10), nil},
		{"import depth", "11 is reported once", chained(12), []string{"daemon/p2: import depth 10, at most 9: daemon/p2 → daemon/p3"}},

		{"complexity", "15", sources("package feed\nfunc f() {\n" + strings.Repeat("\tif a {\n\t}\n", 14) + "}\n"), nil},
		{"complexity", "16 ifs", sources("package feed\nfunc f() {\n" + strings.Repeat("\tif a {\n\t}\n", 15) + "}\n"),
			[]string{"feed.go:2: f has cyclomatic complexity 16, at most 15"}},
		{"complexity", "every kind of branch", sources(branches(5)), []string{"f has cyclomatic complexity 16"}},
		{"complexity", "defaults are free", sources(branches(4)), nil},
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
