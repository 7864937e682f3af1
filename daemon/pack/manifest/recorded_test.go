package manifest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// moment is what a pack knows at a recorded tick.
type moment struct {
	pack   *pack.Pack
	writer brief.Writer
	in     pack.Input
}

// moments are those of each pack that is part of the program, made once: evaluating filters costs processor time.
var moments = func() map[string]func() ([]moment, error) {
	all := make(map[string]func() ([]moment, error))
	for _, id := range manifest.Shipped() {
		all[id] = sync.OnceValues(func() ([]moment, error) { return momentsOf(id) })
	}
	return all
}()

// momentsOf refreshes a pack that is part of the program at each recorded tick.
func momentsOf(id string) (list []moment, err error) {
	p, w, err := made(id)
	if err != nil {
		return nil, err
	}
	in := pack.Input{Now: firstTick, Readings: map[string]pack.Reading{}}
	recording := replay.New(func() time.Time { return in.Now })
	f := source.NewFetcher(source.Config{Now: func() time.Time { return in.Now }, Transport: recording, Shift: recording.Shift})
	for tick := 1; tick <= 3; tick++ {
		for _, s := range p.Sources {
			out := f.Fetch(context.Background(), s.Connector, in.Readings[s.ID].Doc)
			if out.Err != nil || out.Dropped > 0 {
				return nil, fmt.Errorf("tick %d: %s: %w, dropped %d", tick, s.ID, out.Err, out.Dropped)
			}
			in.Readings[s.ID] = pack.Reading{Doc: out.Doc, FetchedAt: in.Now}
		}
		now := in
		now.Readings = maps.Clone(in.Readings)
		list = append(list, moment{p, w, now})
		text, err := p.Compact(in)
		if err != nil {
			return nil, err
		}
		in.Prev = read(text)
		in.Now = in.Now.Add(5 * time.Minute)
		recording.Advance()
	}
	return list, nil
}

// firstTick is when the first tick was recorded.
var firstTick = time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)

// made is a pack that is part of the program.
func made(id string) (*pack.Pack, brief.Writer, error) {
	text, _ := manifest.ShippedText(id)
	m, err := manifest.Read(text, true)
	if err != nil {
		return nil, nil, err
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		return nil, nil, err
	}
	return m.Make(e)
}

// recorded shows a pack that is part of the program at each recorded tick.
func recorded(t *testing.T, id string, each func(tick int, p *pack.Pack, w brief.Writer, in pack.Input)) {
	t.Helper()
	list, err := moments[id]()
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range list {
		each(i+1, m.pack, m.writer, m.in)
	}
}

// TestRecordingOnAClockThatGoes asks the sources for the moment of the recording while time goes by, and while it is moved on.
func TestRecordingOnAClockThatGoes(t *testing.T) {
	t.Parallel()
	p, _, err := made("perps")
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	clock := func() time.Time { // its seconds begin between two questions
		reads++
		return firstTick.Add(time.Duration(reads) * 600 * time.Millisecond)
	}
	recording := replay.New(clock)
	shift := func(source string) time.Duration {
		by := recording.Shift(source)
		if reads%5 == 0 {
			recording.Advance()
		}
		return by
	}
	f := source.NewFetcher(source.Config{Now: clock, Transport: recording, Shift: shift})
	for range 3 {
		for _, s := range p.Sources {
			if out := f.Fetch(t.Context(), s.Connector, nil); out.Err != nil {
				t.Errorf("%s: %v", s.ID, out.Err)
			}
		}
	}
}

// tablesAt are the tables of a pack at a recorded tick.
func tablesAt(t *testing.T, id string, at int) (tables *state.Tables) {
	t.Helper()
	recorded(t, id, func(tick int, p *pack.Pack, _ brief.Writer, in pack.Input) {
		if tick == at {
			tables = p.Tables(in)
		}
	})
	return tables
}

// ask asks the first tick of a pack questions: kind/key of each row, and the fields that are asked.
func ask(t *testing.T, id string, questions map[string]string) {
	t.Helper()
	tables := tablesAt(t, id, 1)
	for q, want := range questions {
		found := tables.Lookup(q, "", 3)
		var got []string
		for _, r := range found.Rows {
			text := strings.TrimSpace(r.Kind + "/" + r.Key + " " + strings.Join(r.Asked, " "))
			if !r.Match.Sure() {
				text = string(r.Match) + ": " + text
			}
			got = append(got, text)
		}
		for _, name := range slices.Sorted(maps.Keys(found.Aggregates)) {
			if sum := found.Aggregates[name]; sum.Of > 0 {
				got = append(got, fmt.Sprintf("%s of %g: %.6g", name, sum.Of, *sum.Value))
			}
		}
		if len(got) == 0 {
			for _, m := range found.Missing {
				got = append(got, m.Word+" "+string(m.Why))
			}
			got = []string{"missing " + strings.Join(got, ", ")}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%q finds %s, want %s", q, strings.Join(got, "; "), want)
		}
	}
}

// values checks fields of rows at a recorded tick, by "kind/key field".
func values(t *testing.T, id string, tick int, want map[string]string) {
	t.Helper()
	tables := tablesAt(t, id, tick)
	for at, want := range want {
		if got := told(tables, at); got != want {
			t.Errorf("%s is %s, want %s", at, got, want)
		}
	}
}

// told is the field of a row, "kind/key field".
func told(tables *state.Tables, at string) string {
	row, field, _ := strings.Cut(at, " ")
	kind, key, _ := strings.Cut(row, "/")
	r := tables.Row(kind, key)
	if r == nil {
		return "no row"
	}
	return fmt.Sprint(r.Fields.Get(field))
}

// raises checks the flags of each tick, that the state stays within its bound, and that the brief tells nothing that is not in it.
func raises(t *testing.T, id string, want [][]string) {
	t.Helper()
	recorded(t, id, func(tick int, p *pack.Pack, w brief.Writer, in pack.Input) {
		text, err := p.Compact(in)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct{ Flags []api.Flag }
		if err := json.Unmarshal(text, &doc); err != nil || len(text) > 16<<10 {
			t.Errorf("tick %d: a state of %d bytes, %v", tick, len(text), err)
		}
		var ids []string
		for _, f := range doc.Flags {
			ids = append(ids, f.ID)
			if !slices.Contains(p.FlagKinds, f.Kind) {
				t.Errorf("tick %d raises %s, of which nobody can be told", tick, f.Kind)
			}
		}
		if !slices.Equal(ids, want[tick-1]) {
			t.Errorf("tick %d raises %q, want %q", tick, ids, want[tick-1])
		}
		citations := p.Citations(read(text), p.Status(in), in.Now)
		draft, err := w.Write(t.Context(), brief.Input{Pack: p.ID, State: read(text), Citations: citations})
		if err != nil || strings.Count(draft.Text, ".") < 15 {
			t.Errorf("tick %d: the brief is %q, %v", tick, draft.Text, err)
		}
		if wrong := ground.Check(draft.Text, read(text), citations); len(wrong) > 0 {
			t.Errorf("tick %d: %v", tick, wrong)
		}
		claims, err := ground.Claims(draft.Text, read(text), citations, draft.Origins...)
		if err != nil || len(claims) == 0 {
			t.Errorf("tick %d: %d claims, %v", tick, len(claims), err)
		}
		for _, c := range claims {
			written := func(o ground.Origin) bool { return o.Start <= c.Start && c.End <= o.End && o.Path == c.Path }
			if !slices.ContainsFunc(draft.Origins, written) {
				t.Errorf("tick %d: %q is claimed of %s, which is not where the writer has it from", tick, c.Text, c.Path)
			}
		}
	})
}
