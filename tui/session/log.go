package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

// Level is how much an entry of the log matters.
type Level string

// The levels.
const (
	News    Level = "news"
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
	Mark  Mark
	Ref   int    // of the source that said it, 0 for none
	URL   string // of its own, "" for that of its source
	Again int    // how often the same was said right after
}

// Message is what an entry says, and how often it was said.
func (e Entry) Message() string {
	if e.Again == 0 {
		return e.Text
	}
	return fmt.Sprintf("%d times: %s", e.Again+1, e.Text)
}

const maxEntries = 500

// Log is what happened, oldest first.
type Log struct{ entries []Entry }

// Add notes something. What was said just before is counted.
func (l *Log) Add(at time.Time, level Level, what string) {
	text := view.Line(what)
	if n := len(l.entries); n > 0 && l.entries[n-1].Level == level && l.entries[n-1].Text == text {
		l.entries[n-1].At, l.entries[n-1].Again = at, l.entries[n-1].Again+1
		return
	}
	l.put(Entry{At: at, Level: level, Text: text})
}

// Write notes news.
func (l *Log) Write(at time.Time, mark Mark, what string) {
	l.put(Entry{At: at, Level: News, Mark: mark, Text: view.Line(what)})
}

// put notes an entry behind those that are not later: what stands already when one comes has its own time.
func (l *Log) put(e Entry) {
	i := len(l.entries)
	for i > 0 && l.entries[i-1].At.After(e.At) {
		i--
	}
	l.entries = slices.Insert(l.entries, i, e)
	if len(l.entries) > maxEntries {
		l.entries = append([]Entry(nil), l.entries[len(l.entries)-maxEntries:]...)
	}
}

// Entries are all entries, oldest first.
func (l *Log) Entries() []Entry { return l.entries }

// News are the entries that say what happened to the data, and warnings, newest first.
func (l *Log) News() (list []Entry) {
	for _, e := range slices.Backward(l.entries) {
		if e.Level == News || e.Level == Warning {
			list = append(list, e)
		}
	}
	return list
}

// withoutNews is l without what happened to the data.
func (l Log) withoutNews() Log {
	return Log{slices.DeleteFunc(l.entries, func(e Entry) bool { return e.Level == News })}
}

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
