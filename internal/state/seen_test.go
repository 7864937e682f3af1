package state_test

import (
	"testing"
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestAs marks what the sources said that are not ok, and nothing else.
func TestAs(t *testing.T) {
	t.Parallel()
	const text = `{"a":[{"id":"x","ref":1,"parts":[{"ref":2},{"ref":1,"stale":true}]},{"id":"y","ref":2}],"flags":[],` +
		`"source_status":[{"ref":1,"id":"one","status":"ok","fetchedAt":null,"items":1,"failures":0,"intervalSeconds":60,"staleAfterSeconds":180,"error":null}]}`
	since := time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)
	f := api.Freshness{
		Sources: []api.SourceTrouble{{ID: "one", Status: api.SourceStale, Since: &since, Failures: 2}, {ID: "off",
			Status: api.SourceError}},
		Flags: []api.Flag{{ID: "source:one", Kind: api.FlagSourceStale, Subject: "Source One", Ref: 1}, {ID: "source:two",
			Kind: api.FlagSourceStale}},
	}
	d := state.Read([]byte(text))
	const flag = `"severity":"","subject":"Source One","value":0,"threshold":0,"unit":"","since":"0001-01-01T00:00:00Z","message":"","ref":1}`
	const want = `{"a":[{"id":"x","ref":1,"parts":[{"ref":2},{"ref":1,"stale":true}],"stale":true},{"id":"y","ref":2}],"flags":[{"id":"source:one","kind":"source_stale",` + flag +
		`,{"id":"source:two","kind":"source_stale","severity":"","subject":"","value":0,"threshold":0,"unit":"","since":"0001-01-01T00:00:00Z","message":"","ref":0}],` +
		`"source_status":[{"ref":1,"id":"one","status":"stale","fetchedAt":null,"items":1,"failures":2,"intervalSeconds":60,"staleAfterSeconds":180,"error":null}]}`
	got := d.As(f)
	if string(got.Text()) != want || got.Err() != nil {
		t.Errorf("%s\nnot %s", got.Text(), want)
	}
	if again := got.As(f); string(again.Text()) != want {
		t.Errorf("a second time: %s", again.Text())
	}
	if well := d.As(api.Freshness{}); well != d || string(d.Text()) != text {
		t.Errorf("all well: %s", well.Text())
	}
	const line = "Source One is stale since 20:05, 2 attempts failed"
	if got := state.Troubles(f, func(at time.Time) string { return at.Format("15:04") }); got != line {
		t.Errorf("%q, want %q", got, line)
	}
}
