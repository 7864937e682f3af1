package policy_test

func commentFixtures() []fixture {
	return []fixture{
		{"package comment", "in any file", map[string]string{
			"tui/a.go": "package tui\n", "tui/b.go": "// Package tui draws.\npackage tui\n",
			"cmd/ctx/main.go":  "// Ctx is the client.\npackage main\n",
			"client/a_test.go": "package client_test\n",
		}, nil},
		{"package comment", "none", map[string]string{
			"tui/a.go": "// Copyright.\n\npackage tui\n", "cmd/ctx/main.go": "package main\n", "client/a.go": "// Package clients draws.\npackage client\n",
		}, []string{"client/a.go:2: client has no package comment", "cmd/ctx/main.go:1: cmd/ctx has", "tui/a.go:3: tui has"}},

		{"doc comment", "all there", sources(`package feed
// A Pulse is a state.
type Pulse struct{ Field int }
// Encode encodes.
func (p *Pulse) Encode() {}
func (p *Pulse) internal() {}
func (p hidden) Exported() {}
// Kinds.
const (
	KindA = 1
	KindB = 2
)
const (
	Max = 1 // of a pulse
	// Min is less.
	Min = 0
	low = 0
)
// ErrGone is returned.
var ErrGone = errors.New("gone")
type (
	// The Row of a list.
	Row int
	// Set is a set.
	Set[K comparable] map[K]bool
)
// Has reports.
func (s Set[K]) Has(k K) bool { return s[k] }
`), nil},
		{"doc comment", "missing", sources(`package feed
type Pulse struct{}
func (p *Pulse) Encode() {}
func New() {}
const (
	Max, Min = 1, 0
)
var ErrGone = errors.New("gone")
// Types.
type (
	Row int
)
func (s Set[K]) Has(k K) bool { return s[k] }
//go:noinline
func Fast() {}
`), []string{
			"feed.go:3: exported Encode has no comment", "feed.go:4: exported New", "feed.go:13: exported Has", "feed.go:15: exported Fast",
			"feed.go:2: exported Pulse", "feed.go:6: exported Max", "feed.go:6: exported Min", "feed.go:8: exported ErrGone", "feed.go:11: exported Row",
		}},
		{"doc comment", "of another name", sources("package feed\n// Newest makes a feed.\nfunc New() {}\n// A feed.\ntype Feed int\n"),
			[]string{"feed.go:2: comment of exported New starts with another name", "feed.go:4: comment of exported Feed"}},

		{"stubs", "notes and panics", sources(`package feed
// TODO: all of it.
func f() {
	x() // and then FIXME
	panic("unimplemented")
	panic("f: Not implemented yet")
}
`), []string{"feed.go:2: a note", "feed.go:4: a note", "feed.go:5: a stub", "feed.go:6: a stub"}},
		{"stubs", "words in passing", map[string]string{
			"daemon/feed/a.go":      "package feed\n// Todos are a kind of note; mastodon.\nfunc f() { panic(\"feed: closed twice\"); panic(err); g(\"TODO\") }\n",
			"daemon/feed/a_test.go": "package feed\n// TODO in a test is the reviewer's matter.\n",
		}, nil},
	}
}
