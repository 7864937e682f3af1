package session

import (
	"time"

	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

// Level is how much an entry of the log matters.
type Level string

// The levels.
const (
	Delta   Level = "change"
	Info    Level = "info"
	Paid    Level = "paid"
	Warning Level = "warn"
	Failure Level = "error"
)

// Entry is something that happened.
type Entry struct {
	At    time.Time
	Level Level
	Text  string
}

const maxEntries = 500

// Log is what happened, oldest first.
type Log struct{ entries []Entry }

// Add notes something.
func (l *Log) Add(at time.Time, level Level, what string) {
	l.entries = append(l.entries, Entry{at, level, view.Line(what)})
	if len(l.entries) > maxEntries {
		l.entries = append([]Entry(nil), l.entries[len(l.entries)-maxEntries:]...)
	}
}

// Entries are all entries, oldest first.
func (l *Log) Entries() []Entry { return l.entries }

// Spending counts the calls that were answered, each of which costs one credit.
type Spending struct {
	SearchCap int // searches that may be made, 0 for none
	calls     map[api.Op]int
}

// Add counts a call.
func (s *Spending) Add(op api.Op) {
	if s.calls == nil {
		s.calls = map[api.Op]int{}
	}
	s.calls[op]++
}

// Of is how many calls of op were made.
func (s *Spending) Of(op api.Op) int { return s.calls[op] }

// Total is how many calls were made.
func (s *Spending) Total() int {
	n := 0
	for _, c := range s.calls {
		n += c
	}
	return n
}
