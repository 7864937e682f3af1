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

func limitFixtures() []fixture {
	return []fixture{
		{"file size", "500 lines", sources(ofLines(500)), nil},
		{"file size", "501 lines", sources(ofLines(501)), []string{"feed.go:501: file of 501 lines, at most 500"}},

		{"function size", "80 lines", sources("package feed\n\n// F has\n// a comment.\nfunc F() {\n" + lines(78) + "}\n"), nil},
		{"function size", "81 lines", sources("package feed\n\nfunc (t *T[K]) F() {\n" + lines(79) + "}\n"),
			[]string{"feed.go:3: T.F has 81 lines"}},

		{"package size", "1500 lines", map[string]string{
			"tui/a.go": ofLines(500), "tui/b.go": ofLines(500), "tui/c.go": ofLines(500), "tui/d_test.go": ofLines(500),
		}, nil},
		{"package size", "1501 lines", map[string]string{
			"tui/a.go": ofLines(500), "tui/b.go": ofLines(500), "tui/c.go": ofLines(500), "tui/d.go": ofLines(1),
		}, []string{"tui: package of 1501 lines"}},

		{"import depth", "7", chained(8), nil},
		{"import depth", "9 is reported once", chained(10), []string{"daemon/p2: import depth 8, at most 7: daemon/p2 → daemon/p3"}},

		{"interface size", "5 methods", sources("package feed\ntype I interface { A(); B(); C(); D(); io.Reader }\n"), nil},
		{"interface size", "6 methods", sources("package feed\n\ntype I interface { A(); B(); C(); D(); E(); F() }\n"),
			[]string{"feed.go:3: interface of 6 methods, at most 5"}},
		{"interface size", "6 with the embedded", map[string]string{
			"tui/a.go": "package tui\ntype I interface { J; D(); io.Reader; E() }\n",
			"tui/b.go": "package tui\ntype J interface { A(); B(); C() }\n",
		}, []string{"a.go:2: interface of 6 methods"}},
		{"interface size", "unnamed", sources("package feed\nfunc f(x interface { A(); B(); C(); D(); E(); F() }) {}\n"),
			[]string{"feed.go:2: interface of 6"}},
		{"interface size", "constraint", sources("package feed\ntype N interface { ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint; comparable }\n"), nil},

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
