package policy_test

import "strings"

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
		{"one importer", "small", imported("// Package view draws.\npackage view\n", "tui"),
			[]string{"tui/view: 2 lines that only tui imports"}},
		{"one importer", "with its reason", imported("// Package view draws. It is a package of\n// its own because two kits share it.\npackage view\n", "tui"), nil},
		{"one importer", "two importers", imported("package view\n", "tui", "client"), nil},
		{"one importer", "none", imported("package view\n"), nil},
		{"one importer", "large enough", imported(long, "tui"), nil},

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
