package feed_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/state"
)

// TestPart has parts of a state, byte by byte, made once while there is room, and again for a new brief.
func TestPart(t *testing.T) {
	t.Parallel()
	f := feed.New("crypto")
	p := pulse("crypto", born())
	var text strings.Builder
	for i := range 70 {
		fmt.Fprintf(&text, `,"m%d":[%d.50]`, i, i)
	}
	p.State = []byte(`{"b":{"x":"<&>"},"a":1.50` + text.String() + `}`)
	must(t, f.Publish(p, state.Narration{}, nil))
	e := latest(t, f, "crypto")
	if names := e.Doc.Names(); len(names) != 72 || !slices.Equal(names[:3], []string{"b", "a", "m0"}) {
		t.Errorf("members %v", names)
	}
	for names, want := range map[string]string{"a": `{"a":1.50}`, "a,b": `{"b":{"x":"<&>"},"a":1.50}`, "x": `{}`, "a,x": `{"a":1.50}`} {
		part := e.Part(names)
		if string(part.State) != want || part != e.Part(names) || part.Fresh() != e.Part(names).Fresh() {
			t.Errorf("%s is %s", names, part.State)
		}
		whole := string(e.Fresh().Bytes(born()))
		if got := string(part.Fresh().Bytes(born())); got != strings.Replace(whole, string(e.State), want, 1) {
			t.Errorf("%s answers %s", names, got)
		}
		if got := string(part.DeltaFrame(feed.With{}, born()).Text()); !strings.Contains(got, `"state":`+want+`,"ts"`) {
			t.Errorf("%s streams %s", names, got)
		}
	}
	if e.Part("") != e {
		t.Error("all is not the edition itself")
	}
	for i := range 70 {
		if part := e.Part(fmt.Sprintf("m%d", i)); string(part.State) != fmt.Sprintf(`{"m%d":[%[1]d.50]}`, i) {
			t.Errorf("%d is %s", i, part.State)
		}
	}
	for name, kept := range map[string]bool{"m0": true, "m69": false} {
		if first, again := e.Part(name), e.Part(name); (first == again) != kept {
			t.Errorf("that %s is kept is %t", name, first == again)
		}
	}
	must(t, f.PublishBrief("crypto", state.Narration{Brief: state.Brief{Text: "Told [1].", At: born()}}))
	if got := string(latest(t, f, "crypto").Part("a").Fresh().Bytes(born())); !strings.Contains(got, `{"state":{"a":1.50},"brief":"Told [1]."`) {
		t.Errorf("with a brief it is %s", got)
	}
	told := latest(t, f, "crypto")
	for with, want := range map[feed.With]bool{{}: false, {Proof: true}: false, {Brief: true}: true, {Proof: true, Brief: true}: true} {
		for _, frame := range []*feed.Frame{told.PulseFrame(with, born()), told.Part("a").DeltaFrame(with, born())} {
			if got := strings.Contains(string(frame.Text()), `"brief":"Told [1].","briefAt":"`); got != want {
				t.Errorf("%+v streams %s", with, frame.Text())
			}
		}
	}
	must(t, f.PublishBrief("crypto", state.Narration{Brief: state.Brief{Text: "Told again [1].", At: born()}}))
	if got := string(latest(t, f, "crypto").PulseFrame(feed.With{Brief: true}, born()).Text()); !strings.Contains(got, "Told again") {
		t.Errorf("after a later brief it streams %s", got)
	}
	p.GeneratedAt, p.State = born().Add(1e9), []byte(`[1]`)
	must(t, f.Publish(p, state.Narration{}, nil))
	if e = latest(t, f, "crypto"); e.Doc.Names() != nil || string(e.Part("a").State) != "{}" {
		t.Errorf("of no object there is %v, %s", e.Doc.Names(), e.Part("a").State)
	}
	must(t, f.PublishHealth("crypto", state.NewTables(nil, nil), e.Ages()))
	if got := latest(t, f, "crypto").Part("a").Freshness(born().Add(3e9)); got.AgeSeconds != 2 {
		t.Errorf("freshness %+v", got)
	}
}
