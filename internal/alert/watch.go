package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// ErrNoState says that there is no state that old.
var ErrNoState = errors.New("there is no state that old")

const (
	unknownStates = 12               // behind which what a state does not tell counts as what does not hold
	rearmStates   = 72               // for which a condition that held does not count as ended
	windowSlack   = 30 * time.Minute // by how much the state that a window begins with may be older than it
)

// Edges are the events of a state by it and those before it alone, which s.Before has: the same whoever looks, and whenever. A state that
// does not tell whether a condition holds counts as the one before it, for an hour of them. The error says why the rule could not look.
func (r Rule) Edges(ctx context.Context, s State) ([]Event, error) {
	found, err := r.Find(ctx, s)
	if err != nil {
		return nil, err
	}
	var then []Finding
	before := s
	for i := range unknownStates {
		older, err := before.Before(ctx, before.At)
		if errors.Is(err, ErrNoState) {
			if i == 0 { // there is nothing to compare with
				return nil, nil
			}
			break
		}
		if err != nil {
			return nil, err
		}
		before = older
		if then, err = r.Find(ctx, before); err == nil {
			break
		}
		then = nil
	}
	edges, _ := r.step(nil, then, before)
	_, events := r.step(edges, found, s)
	if len(events) > 0 && r.Between != nil && r.Between(before) {
		if held, err := r.heldBefore(ctx, before); held || err != nil {
			return nil, err
		}
	}
	slices.SortFunc(events, func(a, b Event) int { return strings.Compare(a.ID, b.ID) })
	return events, nil
}

// heldBefore reports whether the condition of r, which s is between, held before it and has not ended since.
func (r Rule) heldBefore(ctx context.Context, s State) (bool, error) {
	for range rearmStates {
		older, err := s.Before(ctx, s.At)
		if errors.Is(err, ErrNoState) {
			break
		}
		if err != nil {
			return false, err
		}
		s = older
		switch found, err := r.Find(ctx, s); {
		case err != nil: // it does not tell
		case len(found) > 0:
			return true, nil
		case !r.Between(s):
			return false, nil
		}
	}
	return false, nil
}

// Watch is the rule of a watch of a type with checked arguments, of a pack that shows rows. Its name is that of the condition, whoever
// watches for it. Of credits and briefs no state tells: their rules find nothing.
func Watch(t api.WatchType, a api.WatchArguments, shown []state.Shown) (Rule, error) {
	r := Rule{Name: string(t) + " " + string(a.Canonical()), Pack: a.Pack}
	switch t {
	case api.WatchFlagChanged:
		r.Find, r.Ended = Flags(a.Severity, a.Kinds), slices.Contains(a.Changes, api.FlagEnded)
	case api.WatchStatePublished:
		r.Find = published{a.Members}.find
	case api.WatchConditionMet, api.WatchChangeMoved:
		n, err := numberOf(a, shown)
		if err != nil {
			return r, err
		}
		switch b := (bound{n, a}); {
		case t == api.WatchChangeMoved:
			r.Find = move{n, a}.find
		case a.Rearm != nil:
			r.Find, r.Between = b.find, b.between
		default:
			r.Find = b.find
		}
	default:
		r.Find = func(context.Context, State) ([]Finding, error) { return nil, nil }
	}
	return r, nil
}

// number is a number of a row.
type number struct {
	key, field string
	shown      []state.Shown // of the row's kind
}

// numberOf is the number that a names.
func numberOf(a api.WatchArguments, shown []state.Shown) (number, error) {
	n := number{key: a.Key, field: a.Field}
	var kinds, fields []string
	for _, s := range shown {
		if len(s.Fields) == 0 {
			continue
		}
		if kinds = append(kinds, s.Kind); s.Kind != a.Member && s.Path != a.Member {
			continue
		}
		n.shown = append(n.shown, s)
		for _, f := range s.Fields {
			fields = append(fields, f.Name)
		}
	}
	slices.Sort(kinds)
	if len(n.shown) == 0 {
		name := human.Clip(human.Line(a.Member), 40)
		return n, api.Errorf(api.ReasonInvalidArguments, "member %q of pack %s has no numbers", name, a.Pack).
			WithHint("there are %s", strings.Join(slices.Compact(kinds), ", "))
	}
	if !slices.Contains(fields, a.Field) {
		slices.Sort(fields)
		return n, api.Errorf(api.ReasonInvalidField, "%s has no number %q", a.Member, human.Clip(human.Line(a.Field), 40)).
			WithHint("there are %s", strings.Join(slices.Compact(fields), ", "))
	}
	return n, nil
}

// in is the row and its number in a state, or why it is not known there.
func (n number) in(doc *state.Document) (row state.Row, value float64, err error) {
	if err := doc.Err(); err != nil {
		return row, 0, fmt.Errorf("read state: %w", err)
	}
	for _, r := range doc.Rows(n.shown) {
		if r.Key != n.key && !strings.EqualFold(r.Symbol, n.key) {
			continue
		}
		if r.Stale {
			return r, 0, fmt.Errorf("%s is stale", human.Line(r.Name))
		}
		if v, ok := r.Fields.Get(n.field).(float64); ok {
			return r, v, nil
		}
	}
	return row, 0, fmt.Errorf("%s of %s is not known", n.field, human.Line(n.key))
}

// finding is what is told of a number: more is the rest of it.
func (n number) finding(r state.Row, message string, more api.EventData) ([]Finding, error) {
	more.Row, more.Field, more.URL, more.Citations = r.Kind+"/"+r.Key, n.field, r.URL, []api.EventCitation{{N: r.Ref}}
	value, err := json.Marshal(more)
	if err != nil {
		return nil, fmt.Errorf("write event: %w", err)
	}
	subject := human.Line(r.Symbol)
	if subject == "" {
		subject = human.Line(r.Key)
	}
	return []Finding{{Event: Event{Kind: n.field, Subject: subject, Message: human.Line(message), Value: value}}}, nil
}

// bound is a number that is compared.
type bound struct {
	number
	api.WatchArguments
}

func (b bound) find(_ context.Context, s State) ([]Finding, error) {
	r, v, err := b.in(s.Doc)
	if err != nil || !b.Holds(v) {
		return nil, err
	}
	text := string(b.Op) + " " + strconv.FormatFloat(*b.Value, 'f', -1, 64)
	message := fmt.Sprintf("%s %s is %s: %s", r.Name, b.field, human.Value(b.field, v), text)
	return b.finding(r, message, api.EventData{Value: &v, Bound: text})
}

// between reports whether the number has not come far enough from the bound.
func (b bound) between(s State) bool {
	_, v, err := b.in(s.Doc)
	return err == nil && !b.Holds(v) && !b.Rearmed(v)
}

// move is a number that is compared with what it was.
type move struct {
	number
	api.WatchArguments
}

func (m move) find(ctx context.Context, s State) ([]Finding, error) {
	r, to, err := m.in(s.Doc)
	if err != nil {
		return nil, err
	}
	window := time.Duration(m.WindowMinutes) * time.Minute
	then, err := s.Before(ctx, s.At.Add(time.Millisecond-window))
	if err != nil {
		return nil, err
	}
	if then.At.Before(s.At.Add(-window - windowSlack)) {
		return nil, fmt.Errorf("no state of %d minutes before is kept", m.WindowMinutes)
	}
	_, from, err := m.in(then.Doc)
	if err != nil {
		return nil, err
	}
	data := api.EventData{From: &api.EventPoint{Value: from, At: then.At.UTC()}, To: &api.EventPoint{Value: to, At: s.At.UTC()}}
	size := math.Abs(to - from)
	if from != 0 {
		percent := human.Round((to-from)/math.Abs(from)*100, 4)
		data.Percent = &percent
	}
	switch {
	case m.Absolute > 0 && size < m.Absolute:
		return nil, nil
	case m.Percent > 0 && (data.Percent == nil || math.Abs(*data.Percent) < m.Percent):
		return nil, nil
	}
	message := fmt.Sprintf("%s %s went from %s to %s in %d minutes", r.Name, m.field, human.Value(m.field, from), human.Value(m.field, to),
		m.WindowMinutes)
	return m.finding(r, message, data)
}

// published finds that a state has other content than the one before it.
type published struct{ members []string }

func (p published) find(ctx context.Context, s State) ([]Finding, error) {
	before, err := s.Before(ctx, s.At)
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, m := range s.Doc.Root().Members {
		if m.Name == api.MemberSourceStatus || len(p.members) > 0 && !slices.Contains(p.members, m.Name) {
			continue
		}
		if was := before.Doc.Root().Member(m.Name); was == nil || !bytes.Equal(was.Raw, m.Raw) {
			changed = append(changed, human.Line(m.Name))
		}
	}
	if len(changed) == 0 {
		return nil, s.Doc.Err()
	}
	data := api.EventData{ChangedMembers: changed}
	for _, source := range s.Doc.Sources() {
		if source.Status != api.SourceOK {
			data.Degraded = append(data.Degraded, human.Line(source.ID))
		}
	}
	value, err := json.Marshal(data)
	message := fmt.Sprintf("state of %s, %s: %s", s.Pack, s.At.UTC().Format(time.RFC3339), strings.Join(changed, ", "))
	return []Finding{{Onset: onset(s.At), Event: Event{Kind: "state", Message: human.Clip(message, maxMessage), Value: value}}}, err
}

// maxMessage is how long a message is, in runes.
const maxMessage = 300

// Brief is the event of a brief that was logged.
func Brief(a api.WatchArguments, text string, at time.Time, demo bool) (Event, error) {
	headline := human.Line(text)
	if sentence, _, more := strings.Cut(headline, ". "); more {
		headline = sentence + "."
	}
	headline = human.Clip(headline, maxMessage)
	value, err := json.Marshal(api.EventData{Headline: headline})
	e := Event{Alert: string(api.WatchBriefPublished) + " " + string(a.Canonical()), Pack: a.Pack, At: at.UTC(), Change: Appeared,
		Kind: "brief", Message: headline, Value: value, Demo: demo}
	e.identify("")
	return e, err
}

// Credits is the event of an owner whose credits fell below a number.
func Credits(a api.WatchArguments, owner string, balance int64, at time.Time) (Event, error) {
	value, err := json.Marshal(api.EventData{Balance: &balance})
	e := Event{Alert: string(api.WatchCreditsLow) + " " + string(a.Canonical()), At: at.UTC(), Change: Appeared, Kind: "credits",
		Message: fmt.Sprintf("%d credits are left, fewer than %d", balance, a.Below), Value: value}
	e.identify(owner)
	return e, err
}

// Data is what e tells a watch, but for where it is read and proven.
func (e Event) Data(t api.WatchType) (d api.EventData, err error) {
	if t == api.WatchFlagChanged {
		d.Kind, d.Severity, d.Change, d.Flag = e.Kind, e.Severity, string(e.Change), e.Value
		var f api.Flag
		if json.Unmarshal(e.Value, &f) == nil { // the event of an end has none
			d.Citations = []api.EventCitation{{N: f.Ref}}
		}
	} else if err = json.Unmarshal(e.Value, &d); err != nil {
		return d, fmt.Errorf("read event: %w", err)
	}
	d.Message, d.Pack, d.At, d.Subject, d.Demo = e.Message, e.Pack, e.At, e.Subject, e.Demo
	return d, nil
}
