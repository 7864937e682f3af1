package policy_test

import (
	"slices"
	"testing"
)

func layoutFixtures() []fixture {
	inside := "package x\nfunc TestX() {}\n"
	outside := "package x_test\nfunc TestX() {}\n"
	return []fixture{
		{"layout", "as it should be", map[string]string{
			"README.md": "", "LICENSE": "", "go.sum": "", ".gitignore": "", ".ci/run": "", "completions/ctx.bash": "",
			"contextd": "binary", "ctx": "binary", "feed.test": "binary", "cpu.prof": "",
			"cmd/ctx/main.go": "package main\n", "daemon/daemon.go": "package daemon\n", "internal/build/tool/main.go": "package main\n",
			"internal/bench/go.mod": "module m/internal/bench\n", "internal/bench/load/main.go": "package main\n",
			"sdk/sdk.go": "package sdk\n", "tui/tui.go": "package tui\n",
		}, nil},
		{"layout", "strangers", map[string]string{
			"Makefile": "", "docs/a.md": "", "ctx/main.go": "package main\n", "internal/retry/retry.go": "package retry\n",
		}, []string{"Makefile: the top level", "ctx: the top level", "docs: the top level", "ctx: the architecture", "internal/retry: the architecture"}},
		{"layout", "a slice of a room", map[string]string{"daemon/web/page/page.go": "package page\n"}, []string{"daemon/web/page: the architecture"}},
		{"layout", "code at the top", map[string]string{"main.go": "package main\n"},
			[]string{"main.go: the top level", ".: the architecture does not name this package"}},

		{"names", "nouns", map[string]string{"daemon/feed/a.go": "package feed\n", "daemon/web/sharedlink/a.go": "package sharedlink\n"}, nil},
		{"names", "nothing in particular", map[string]string{
			"client/helpers/a.go": "package helpers\n", "daemon/util/text/a.go": "package text\n", "sdk/types/a_test.go": "package types\n",
		}, []string{"client/helpers: the name helpers", "daemon/util/text: the name util", "sdk/types: the name types"}},

		{"words", "two meanings, and the plain one", map[string]string{
			"a/a.go": "package a\nfunc settle() {}\n", "b/b.go": "package b\ntype T struct{ settle int }\n",
			"daemon/d.go": "package daemon\nfunc settle() {}\n", "c/c.go": "package c\nfunc f(settle int) { var settle2 = settle; _ = settle2 }\n",
		}, nil},
		{"words", "three meanings", map[string]string{
			"a/a.go": "package a\nfunc Turn() {}\n", "b/b.go": "package b\ntype T struct{ turn int }\n", "c/c.go": "package c\nconst turn = 1\n",
		}, []string{`a/a.go:2: "turn" is declared in 3 packages`, "b/b.go:2", "c/c.go:2"}},

		{"external tests", "3 of 4", map[string]string{
			"a/a_test.go": outside, "b/b_test.go": outside, "c/c_test.go": outside, "c/export_test.go": "package x\n", "d/d_test.go": inside,
		}, nil},
		{"external tests", "2 of 3", map[string]string{
			"a/a_test.go": outside, "b/b_test.go": outside, "c/c_test.go": outside, "c/d_test.go": inside,
		}, []string{"c: 1 of 3 packages are tested from inside; at least 70 %"}},
	}
}

// TestImportRulesNameRealPackages keeps a misspelled package from disarming a rule: every package of the module that a rule
// names is one of the layout.
func TestImportRulesNameRealPackages(t *testing.T) {
	t.Parallel()
	parts := []string{"cmd", "daemon", "sdk"} // whole trees
	for _, r := range importRules() {
		for _, path := range slices.Concat(r.from, r.except) {
			if !slices.Contains(slices.Concat(packages(), parts), path) {
				t.Errorf("rule %q names %s, which the layout does not have", r.name, path)
			}
		}
	}
}
