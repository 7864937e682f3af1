package packtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/sdk/api"
)

const (
	searches = 60 // answers that are drawn to find a row that meets a condition
	searched = 60 // rows of each
)

// flags has every flag go up and down again.
func (t *trial) flags(ctx context.Context) error {
	if err := t.age(ctx); err != nil {
		return err
	}
	for _, f := range t.cfg.Manifest.Flags {
		s := declared(t.cfg.Manifest, f.Over)
		if err := t.upAndDown(ctx, f, s); err != nil {
			return err
		}
		t.stage.give(nil)
	}
	return t.refresh(ctx, "flags")
}

// span is the longest one over which s tells of changes, if conditions ask for them.
func span(m *manifest.Manifest, s *manifest.Source) (longest time.Duration) {
	asked := ""
	for _, f := range m.Flags {
		if f.Over == s.ID {
			asked += f.When + f.Clear + f.Warning + f.Critical + f.Value
		}
	}
	for _, f := range s.Fields {
		if !strings.Contains(asked, f.Name+"_change") && !strings.Contains(asked, f.Name+"_was") {
			continue
		}
		for _, d := range append(slices.Clone(f.Change), f.Changed) {
			longest = max(longest, d)
		}
	}
	return longest
}

// pace is how long may pass between two answers without a gap in what is known.
func pace(s *manifest.Source) time.Duration { return 3 * max(s.Every, 5*time.Minute) }

// age lets pass what conditions look back over, with nothing new from the sources.
func (t *trial) age(ctx context.Context) error {
	given := make(map[string][]any)
	var longest, step time.Duration
	for i := range t.cfg.Manifest.Sources {
		s := &t.cfg.Manifest.Sources[i]
		if rows := t.stage.rows(s.ID); len(rows) > 0 {
			given[s.ID] = asAny(rows)
		}
		if back := span(t.cfg.Manifest, s); back > 0 {
			longest = max(longest, back)
			if step == 0 || pace(s) < step {
				step = pace(s)
			}
		}
	}
	t.stage.give(given)
	defer t.stage.give(nil)
	for passed := time.Duration(0); longest > 0 && passed <= longest; passed += step {
		t.line.pass(step - time.Second)
		if err := t.refresh(ctx, "flags"); err != nil {
			return err
		}
	}
	return nil
}

// upAndDown finds rows that raise f and let it fall, and has the pipeline see them.
func (t *trial) upAndDown(ctx context.Context, f manifest.Flag, s *manifest.Source) error {
	rows := t.stage.rows(s.ID)
	if len(rows) == 0 {
		return nil // told as an answer
	}
	rows = rows[:min(len(rows), searched)]
	up, key := t.find(ctx, f, s, rows, "", func(mark source.Mark, marked bool) bool { return marked && mark.Raise })
	if up == nil {
		t.remark("flags", s.ID, "no row was found that raises %s, of %d drawn at random", f.Kind, searches*len(rows))
		return nil
	}
	t.stage.give(map[string][]any{s.ID: asAny(up)})
	if err := t.refresh(ctx, "flags"); err != nil {
		return err
	}
	flag, raised, full := t.flagOf(f.Kind, key)
	switch {
	case full && !raised:
		return nil // graver ones have its place
	case !raised:
		t.fail("flags", s.ID, "%s does not go up for %s", f.Kind, key)
		return nil
	case strings.Contains(flag.Message, "unknown"):
		t.remark("flags", s.ID, "the message of %s has a field that may be missing: %s", f.Kind, flag.Message)
	}
	return t.down(ctx, f, s, up, key)
}

// down has a flag that is up for a key fall again: by another row or, where none does, by time.
func (t *trial) down(ctx context.Context, f manifest.Flag, s *manifest.Source, up []map[string]any, key string) error {
	rows, _ := t.find(ctx, f, s, up, key, func(_ source.Mark, marked bool) bool { return !marked })
	if rows != nil {
		t.stage.give(map[string][]any{s.ID: asAny(rows)})
		if err := t.refresh(ctx, "flags"); err != nil {
			return err
		}
		if _, raised, _ := t.flagOf(f.Kind, key); raised {
			t.fail("flags", s.ID, "%s does not go down for %s", f.Kind, key)
		}
		return nil
	}
	t.stage.give(map[string][]any{s.ID: asAny(up)})
	for passed := time.Duration(0); passed <= span(t.cfg.Manifest, s)+pace(s); passed += pace(s) {
		t.line.pass(pace(s) - time.Second)
		if err := t.refresh(ctx, "flags"); err != nil {
			return err
		}
		if _, raised, _ := t.flagOf(f.Kind, key); !raised {
			return nil
		}
	}
	t.remark("flags", s.ID, "%s went up for %s, and nothing was found that lets it fall", f.Kind, key)
	return nil
}

// find draws rows until those of an answer have one whose mark is fit, and returns rows with that one in its place, and its key. With a key
// it draws that row alone. It returns nil if it finds none.
func (t *trial) find(
	ctx context.Context, f manifest.Flag, s *manifest.Source, rows []map[string]any, key string,
	fit func(mark source.Mark, marked bool) bool,
) ([]map[string]any, string) {
	d := newDrawer(t.rand, t.cfg.Manifest, s.ID, t.line.now().Add(-t.line.shift("")))
	for try := range searches {
		drawn := slices.Clone(rows)
		for i := range rows {
			if try > 0 && (key == "" || keyOf(rows[i]) == key) {
				drawn[i] = d.draw(s, rows, i)
			}
		}
		doc := t.decode(ctx, s.ID, drawn)
		for i, row := range drawn {
			k := keyOf(row)
			if doc == nil || key != "" && k != key || doc.Row(k) == nil {
				continue
			}
			if mark, marked := doc.Marks[f.Kind][k]; fit(mark, marked) {
				found := slices.Clone(rows)
				found[i] = drawn[i]
				return found, k
			}
		}
	}
	return nil, ""
}

// decode is what a source makes of rows, without the pipeline; nil if it refuses them.
func (t *trial) decode(ctx context.Context, id string, rows []map[string]any) *source.RowsDoc {
	given := make(map[string][]any)
	given[id] = asAny(rows)
	t.stage.give(given)
	i := slices.Index(ids(t.cfg.Manifest), id)
	out := t.harness.fetcher.Fetch(context.WithValue(ctx, asking{}, id), t.pack.Sources[i].Connector, t.harness.docs[id])
	doc, _ := out.Doc.(*source.RowsDoc)
	return doc
}

func ids(m *manifest.Manifest) (list []string) {
	for _, s := range m.Sources {
		list = append(list, s.ID)
	}
	return list
}

func keyOf(row map[string]any) string { return fmt.Sprint(row["key"]) }

// flagOf is the flag of a kind and a key in the newest state; full says that there is no place for more.
func (t *trial) flagOf(kind, key string) (f api.Flag, raised, full bool) {
	state, err := readState(t.harness.pulse.State)
	if err != nil {
		return f, false, false // told by examine
	}
	id := kind + ":" + key
	for _, f := range state.flags {
		if f.ID == id || len(id) > len(f.ID) && f.Kind == kind && strings.HasPrefix(id, f.ID[:min(len(f.ID), 64)]) {
			return f, true, false
		}
	}
	return f, false, len(state.flags) >= mostFlags
}
