package policy_test

import (
	"fmt"
	"strings"
)

// numbered are n packages at daemon/p1…, none of which imports another.
func numbered(n int) map[string]string {
	files := map[string]string{}
	for i := 1; i <= n; i++ {
		files[fmt.Sprintf("daemon/p%d/p.go", i)] = fmt.Sprintf("package p%d\n", i)
	}
	return files
}

// fan is a package at path that imports n others.
func fan(path string, n int) map[string]string {
	files := numbered(n)
	src := "package x\n"
	for i := 1; i <= n; i++ {
		src += fmt.Sprintf("import _ \"example.com/m/daemon/p%d\"\n", i)
	}
	files[path+"/x.go"] = src
	return files
}

// imported is the package tui/view with src, and the packages that import it.
func imported(src string, by ...string) map[string]string {
	files := map[string]string{"tui/view/view.go": src}
	for _, path := range by {
		files[path+"/x.go"] = "package x\nimport _ \"example.com/m/tui/view\"\n"
	}
	return files
}

func roomFixtures() []fixture {
	long := "package view\n" + strings.Repeat("\n", smallPackage-1)
	return []fixture{
		{"package count", "55", numbered(55), nil},
		{"package count", "56", numbered(56), []string{"go.mod: 56 packages, at most 55"}},
		{"package count", "programs of the build", with(numbered(55), "internal/build/release/main.go", "package main\n"), nil},
		{"package count", "tests alone", with(numbered(55), "internal/policy/a_test.go", "package policy_test\n"), nil},

		{"one importer", "small", imported("// Package view draws.\npackage view\n", "tui"),
			[]string{"tui/view: 2 lines that only tui imports"}},
		{"one importer", "with its reason", imported("// Package view draws. It is a package of\n// its own because two kits share it.\npackage view\n", "tui"), nil},
		{"one importer", "two importers", imported("package view\n", "tui", "client"), nil},
		{"one importer", "none", imported("package view\n"), nil},
		{"one importer", "large enough", imported(long, "tui"), nil},

		{"same name", "once each", map[string]string{"tui/a.go": "package tui\n", "client/a.go": "package client\n"}, nil},
		{"same name", "twice", map[string]string{"client/mcp/a.go": "package mcp\n", "daemon/mcp/a.go": "package mcp\n"},
			[]string{"daemon/mcp: it has the name of client/mcp"}},

		{"fan-out", "10", fan("daemon/web", 10), nil},
		{"fan-out", "11", fan("daemon/web", 11), []string{"daemon/web: it imports 11 packages of the module, at most 10"}},
		{"fan-out", "wiring", fan("daemon", 11), nil},

		{"one instance", "one type", sources(`package feed
type box[T any] struct{ x T }
func (b *box[T]) get() T { return b.x }
func pack[T any](x T) box[T] { return box[T]{x} }
var _ = box[int]{}
`), []string{"feed.go:2: box is generic for one type"}},
		{"one instance", "two types, or exported", sources(`package feed
type box[T any] struct{ x T }
func (b *box[T]) get() T { return b.x }
type Set[K comparable] map[K]bool
var _, _, _ = box[int]{}, box[*Pulse]{}, Set[string]{}
`), nil},
	}
}
