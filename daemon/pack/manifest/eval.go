package manifest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// EvaluateWithin is how long a manifest of others may take for one step of an answer. Those that are part of the program are known to end,
// and a machine may be busy.
const (
	EvaluateWithin = time.Second
	shippedWithin  = 20 * time.Second
)

// Bounds of what jq may give of one answer.
const (
	mostRaw   = 20_000  // rows
	mostBytes = 4 << 20 // of what is read of them
)

// An Evaluator runs what a manifest has of jq. Its methods return soon after ctx is done.
type Evaluator interface {
	// Rows decodes an answer of a source and returns what its rows are.
	Rows(ctx context.Context, source string, answer []byte, at time.Time) ([]any, error)
	// Judge runs selections and conditions on the cleaned rows of a source.
	Judge(ctx context.Context, source string, rows []any, at time.Time) (Judgement, error)
}

// Judgement is what selections and conditions make of rows.
type Judgement struct {
	Picks map[string][]string               `json:"picks"`
	Marks map[string]map[string]source.Mark `json:"marks"`
}

type program struct{ code *gojq.Code }

// compile compiles a program. It has no way out: neither files nor the environment, and now is when the answer came.
func compile(text string) (program, error) {
	const before = "def now: $now; "
	query, err := gojq.Parse(before + text)
	var wrong *gojq.ParseError
	if errors.As(err, &wrong) && strings.Contains(strings.TrimSpace(text), "\n") {
		at := min(max(wrong.Offset-len(before), 0), len(text))
		return program{}, fmt.Errorf("jq: %s in line %d of it", human.Label(err.Error(), 160), 1+strings.Count(text[:at], "\n"))
	}
	if err != nil {
		return program{}, fmt.Errorf("jq: %s", human.Label(err.Error(), 160))
	}
	code, err := gojq.Compile(query, gojq.WithVariables([]string{"$now"}))
	if err != nil {
		return program{}, fmt.Errorf("jq: %s", human.Label(err.Error(), 160))
	}
	return program{code}, nil
}

// Why a program ended early.
var (
	errFailed  = errors.New("failed")
	errTooLong = errors.New("took too long")
)

// run gives all values of the program on input to each, which may stop it by an error.
func (p program) run(ctx context.Context, input any, at time.Time, each func(any) error) error {
	iter := p.code.RunWithContext(ctx, input, float64(at.UnixMilli())/1000)
	for {
		v, more := iter.Next()
		if !more {
			return nil
		}
		if err, is := v.(error); is {
			var halt *gojq.HaltError
			switch {
			case ctx.Err() != nil:
				return errTooLong
			case errors.As(err, &halt):
				return fmt.Errorf("%w: halt has no place here", errFailed)
			}
			return fmt.Errorf("%w: %s", errFailed, human.Label(err.Error(), 80))
		}
		if err := each(v); err != nil {
			return err
		}
	}
}

// truth is whether the first value of the program is true; a program that fails on a row says nothing of it.
func (p program) truth(ctx context.Context, row any, at time.Time) bool {
	found := false
	err := p.run(ctx, row, at, func(v any) error {
		found = v == true
		return errStop
	})
	return found && (err == nil || errors.Is(err, errStop))
}

// first is the first value of the program on an input, nil if there is none.
func (p program) first(ctx context.Context, input any, at time.Time) (found any, err error) {
	err = p.run(ctx, input, at, func(v any) error {
		found = v
		return errStop
	})
	if errors.Is(err, errStop) {
		err = nil
	}
	return found, err
}

// errStop ends a program early.
var errStop = errors.New("stop")

type programs struct {
	source       *Source
	format       string
	csv          CSV
	as           *program // makes an answer one of the source; nil for the source itself
	expect, rows *program
	picks        []pick
	marks        []mark
}

type pick struct {
	name   string
	choose *program // nil for the first rows
	rows   int
}

type mark struct {
	kind                           string
	severity                       api.Severity
	when, clear, warning, critical *program
}

type local struct {
	sources map[string]*programs
	within  time.Duration // for one step of an answer
}

// NewLocal compiles a manifest that was read, for evaluation in this process.
func NewLocal(m *Manifest) (Evaluator, error) {
	l := local{sources: make(map[string]*programs), within: EvaluateWithin}
	if m.shipped {
		l.within = shippedWithin
	}
	var failed error
	made := func(text string) *program {
		if text == "" {
			return nil
		}
		p, err := compile(text)
		if err != nil && failed == nil {
			failed = err
		}
		return &p
	}
	for i := range m.Sources {
		s := &m.Sources[i]
		p := &programs{source: s, format: s.Format, csv: s.CSV, expect: made(s.Expect), rows: made(s.Rows)}
		for _, member := range m.Members {
			for _, id := range member.From {
				if id == s.ID {
					p.picks = append(p.picks, pick{member.Name, made(member.Select), member.Rows})
				}
			}
		}
		for _, f := range m.Flags {
			if f.Over == s.ID {
				p.marks = append(p.marks, mark{
					f.Kind, api.Severity(f.Severity), made(f.When), made(f.Clear), made(f.Warning), made(f.Critical),
				})
			}
		}
		l.sources[s.ID] = p
		for j, b := range s.Fallbacks {
			of := *p
			of.format, of.csv, of.as = b.Format, CSV{}, made(b.As)
			l.sources[fallbackID(s.ID, j)] = &of
		}
	}
	return l, failed
}

// fallbackID names the answers of a source's nth fallback.
func fallbackID(source string, n int) string { return fmt.Sprintf("%s#%d", source, n) }

// Rows implements Evaluator.
func (l local) Rows(ctx context.Context, id string, answer []byte, at time.Time) ([]any, error) {
	ctx, cancel := context.WithTimeout(ctx, l.within)
	defer cancel()
	p := l.sources[id]
	input, err := source.Decode(source.Format(p.format), source.CSV(p.csv), answer)
	if err != nil {
		return nil, err
	}
	if p.as != nil {
		if input, err = p.as.first(ctx, input, at); err != nil {
			return nil, l.refuse("as", err)
		}
	}
	if p.expect != nil && !p.expect.truth(ctx, input, at) {
		return nil, source.Refuse(source.ClassBadContent, "the answer is not as expected")
	}
	var rows []any
	bytes := 0
	err = p.rows.run(ctx, input, at, func(v any) error {
		row, size := p.source.prune(v)
		rows, bytes = append(rows, row), bytes+size
		switch {
		case len(rows) > mostRaw:
			return fmt.Errorf("gives over %d rows", mostRaw)
		case bytes > mostBytes:
			return fmt.Errorf("gives over %d MB of rows", mostBytes>>20)
		}
		return nil
	})
	if err != nil {
		return nil, l.refuse("rows", err)
	}
	return rows, nil
}

// refuse is the failure of what a manifest does with an answer.
func (l local) refuse(what string, err error) error {
	if errors.Is(err, errTooLong) {
		return source.Refuse(source.ClassBadContent, "%s: took longer than %s", what, l.within)
	}
	return source.Refuse(source.ClassBadContent, "%s: %v", what, err)
}

// Judge implements Evaluator.
func (l local) Judge(ctx context.Context, id string, rows []any, at time.Time) (Judgement, error) {
	ctx, cancel := context.WithTimeout(ctx, l.within)
	defer cancel()
	j := Judgement{Picks: make(map[string][]string), Marks: make(map[string]map[string]source.Mark)}
	known := make(map[string]bool, len(rows))
	for _, row := range rows {
		known[keyOf(row)] = true
	}
	for _, p := range l.sources[id].picks {
		keys, err := p.keys(ctx, rows, known, at)
		if err != nil {
			return j, l.refuse("select of "+p.name, err)
		}
		j.Picks[p.name] = keys
	}
	for _, m := range l.sources[id].marks {
		marks := make(map[string]source.Mark)
		for _, row := range rows {
			if made := m.of(ctx, row, at); made.Raise || made.Hold {
				marks[keyOf(row)] = made
			}
		}
		j.Marks[m.kind] = marks
	}
	if ctx.Err() != nil {
		return j, source.Refuse(source.ClassBadContent, "its conditions took longer than %s", l.within)
	}
	return j, nil
}

func keyOf(row any) string {
	object, _ := row.(map[string]any)
	key, _ := object["key"].(string)
	return key
}

// keys are those of the rows that are chosen, of known keys alone: jq can make others.
func (p pick) keys(ctx context.Context, rows []any, known map[string]bool, at time.Time) ([]string, error) {
	keys := []string{}
	add := func(row any) {
		if key := keyOf(row); known[key] && len(keys) < mostShown {
			keys = append(keys, key)
		}
	}
	if p.choose == nil {
		for _, row := range rows[:min(len(rows), p.rows)] {
			add(row)
		}
		return keys, nil
	}
	err := p.choose.run(ctx, rows, at, func(v any) error {
		if list, is := v.([]any); is {
			for _, row := range list {
				add(row)
			}
			return nil
		}
		add(v)
		return nil
	})
	return keys, err
}

func (m mark) of(ctx context.Context, row any, at time.Time) source.Mark {
	made := source.Mark{Severity: m.severity}
	made.Raise = m.when.truth(ctx, row, at)
	made.Hold = made.Raise || !m.clear.truth(ctx, row, at)
	for severity, p := range map[api.Severity]*program{api.SeverityWarning: m.warning, api.SeverityCritical: m.critical} {
		if p != nil && severity.Rank() > made.Severity.Rank() && p.truth(ctx, row, at) {
			made.Severity = severity
		}
	}
	return made
}

// timely reports whether what is made of an answer of s depends on when it is made.
func (m *Manifest) timely(s *Source) bool {
	text := s.Expect + " " + s.Rows
	for _, member := range m.Members {
		if slices.Contains(member.From, s.ID) {
			text += " " + member.Select
		}
	}
	for _, f := range m.Flags {
		if f.Over == s.ID {
			text += " " + f.When + " " + f.Clear + " " + f.Warning + " " + f.Critical
		}
	}
	remembers := func(f Field) bool { return len(f.Change) > 0 || f.Changed > 0 }
	return asksWhen.MatchString(text) || slices.ContainsFunc(s.Fields, remembers)
}

// asksWhen finds now where it is no part of another word, no variable and no member.
var asksWhen = regexp.MustCompile(`(?:^|[^$.\w])now\b`)
