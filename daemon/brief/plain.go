package brief

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// writePlain writes about a state whose members it does not know: what it holds, and which sources do not answer; where it holds
// nothing, how each source does.
func writePlain(in Input) (Draft, error) {
	if err := object(in.State); err != nil {
		return Draft{}, err
	}
	held, status := holdings(in), in.State.Sources()
	if len(held) == 0 {
		return compose(in, []paragraph{health(in, status)}), nil
	}
	return compose(in, []paragraph{held, troubles(in, status)}), nil
}

// object is the error for a state that has no members.
func object(d *state.Document) error {
	if err := d.Err(); err != nil {
		return fmt.Errorf("decode state: %w", err)
	}
	if !d.Root().IsObject() {
		return errors.New("decode state: it is no object")
	}
	return nil
}

// holdings lists the members that have rows.
func holdings(in Input) (p paragraph) {
	var items []string
	for _, name := range slices.Sorted(slices.Values(in.State.Names())) {
		var rows []struct{ Ref int }
		if name == api.MemberSourceStatus || in.State.Decode(name, &rows) != nil {
			continue
		}
		var refs []int
		for _, r := range rows {
			if citable(in, r.Ref) && !slices.Contains(refs, r.Ref) {
				refs = append(refs, r.Ref)
			}
		}
		title := strings.ReplaceAll(prose.Inline(name), "_", " ")
		if len(refs) > 0 && sayable(title, maxName) {
			count := said(name, strconv.Itoa(len(rows)))
			items = append(items, fmt.Sprintf("%s with %s %s%s", title, count, plural(len(rows), "row", "rows"), cite(refs...)))
		}
	}
	if len(items) > 0 {
		p.add(vital, "The state holds "+and(items[:min(len(items), 12)])+".")
	}
	return p
}

// health tells how every source does; without a status it lists them.
func health(in Input, status []api.SourceStatus) (p paragraph) {
	const notSold = api.SourceState("not sold")
	var by = map[api.SourceState][]string{}
	for _, s := range status {
		if s.NotSold() {
			s.Status = notSold
		}
		if name := prose.Inline(s.ID); citable(in, s.Ref) && sayable(name, maxName) {
			by[s.Status] = append(by[s.Status], name+cite(s.Ref))
		}
	}
	if len(by) == 0 {
		for i, c := range in.Citations[:min(len(in.Citations), 20)] {
			if name := prose.Inline(c.SourceID); sayable(name, maxName) {
				by[""] = append(by[""], name+cite(i+1))
			}
		}
	}
	for _, s := range []struct {
		status api.SourceState
		intro  string
	}{
		{api.SourceOK, "Up to date: "}, {api.SourceStale, "Carried from an earlier answer: "},
		{api.SourceError, "Without usable data: "}, {notSold, "Not served here, by their terms: "}, {"", "It is drawn from "},
	} {
		if names := by[s.status]; len(names) > 0 {
			p.add(vital, s.intro+and(names)+".")
		}
	}
	return p
}
