package brief

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Bounds of what is told of the time since a brief was written.
const (
	sinceFlags = 8
	sinceEnded = 5
	sinceMoves = 6
	sinceMove  = 2.0 // percent from which on a price has moved
)

// Since tells by rules what came after a brief that was written from the state before, made at of: the flags that rose, became graver or
// ended, and the prices that moved. before is nil where it is not kept; then only flags that rose later are told.
func Since(before *state.Document, of time.Time, in Input) *api.Since {
	var was, are []api.Mover
	_ = before.Decode("top_movers", &was)
	if in.State.Decode("top_movers", &are) != nil {
		return nil
	}
	old, now := before.Flags(), in.State.Flags()
	w := since{in: in, refs: map[int]bool{}}
	up := w.raised(old, now, of, before != nil)
	w.add("New", up, sinceFlags)
	w.add("Ended", w.ended(old, now), sinceEnded)
	w.add("Moved", w.moves(was, are), sinceMoves)
	s := &api.Since{Text: strings.Join(w.sentences, " "), Citations: []api.Citation{}}
	if s.Text == "" {
		s.Text = fmt.Sprintf("No flag rose or ended, and no price told here moved by %s%% or more.", human.Plain(sinceMove))
	}
	for i, c := range in.Citations {
		if w.refs[i+1] {
			s.Citations = append(s.Citations, c)
		}
	}
	return s
}

type since struct {
	in        Input
	refs      map[int]bool
	sentences []string
}

// add tells the first few of items.
func (w *since) add(what string, items []string, most int) {
	if len(items) == 0 {
		return
	}
	text := strings.Join(items[:min(len(items), most)], "; ")
	if more := len(items) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	w.sentences = append(w.sentences, what+": "+text+".")
}

func (w *since) cited(text string, ref int) string {
	if !citable(w.in, ref) {
		return text
	}
	w.refs[ref] = true
	return text + cite(ref)
}

// raised tells the flags that rose or became graver, in their order, the gravest first. Where the flags of then are not known, those
// that rose later count.
func (w *since) raised(old, now []api.Flag, of time.Time, known bool) (items []string) {
	for _, f := range now {
		i := slices.IndexFunc(old, func(o api.Flag) bool { return o.ID == f.ID })
		switch {
		case i < 0 && known || f.Since.After(of):
			items = append(items, w.flag(string(f.Severity), f))
		case i >= 0 && f.Severity.Rank() > old[i].Severity.Rank():
			items = append(items, w.flag("now "+string(f.Severity), f))
		}
	}
	return items
}

func (w *since) flag(how string, f api.Flag) string {
	text := human.Label(messageOf(f), maxHeadline)
	if text == "" {
		text = prose.Inline(human.Label(f.Subject, maxName))
	}
	return w.cited(prose.Inline(how)+", "+text, f.Ref)
}

// ended tells the flags that went down.
func (w *since) ended(old, now []api.Flag) (items []string) {
	for _, o := range old {
		if !slices.ContainsFunc(now, func(f api.Flag) bool { return f.ID == o.ID }) {
			text := prose.Inline(human.Label(o.Subject, maxName)) + " (" + strings.ReplaceAll(o.Kind, "_", " ") + ")"
			items = append(items, w.cited(text, o.Ref))
		}
	}
	return items
}

// moves tells the prices that moved most between two states, as far as both have them.
func (w *since) moves(old, now []api.Mover) (items []string) {
	was := map[string]float64{}
	for _, m := range old {
		if m.PriceUSD != nil && *m.PriceUSD > 0 {
			was[m.ID] = *m.PriceUSD
		}
	}
	type move struct {
		api.Mover
		pct float64
	}
	var list []move
	told := map[string]bool{}
	for _, m := range now {
		if before := was[m.ID]; before > 0 && m.PriceUSD != nil && !told[m.ID] {
			told[m.ID] = true
			if pct := (*m.PriceUSD/before - 1) * 100; math.Abs(pct) >= sinceMove {
				list = append(list, move{m, pct})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b move) int { return cmp.Compare(math.Abs(b.pct), math.Abs(a.pct)) })
	for _, m := range list {
		text := prose.Inline(human.Label(m.Name, maxName)) + " " + signed(m.pct) + " to " + human.PriceInWords(*m.PriceUSD)
		items = append(items, w.cited(text, m.Ref))
	}
	return items
}
