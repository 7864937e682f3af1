package pack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/sdk/api"
)

// TestSourcesKeepTheirOrder fails when a source of a published version moves: a citation [N] that somebody kept must name the
// same source for ever. A new order is a new version, and a new line here.
func TestSourcesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	p := pack.Crypto()
	var b strings.Builder
	for i, s := range p.Sources {
		fmt.Fprintf(&b, "%s v%d [%d] %s | %s | %s\n", p.ID, p.Version, i+1, s.ID, s.Name, s.PublicURL)
	}
	golden(t, "sources.golden", []byte(b.String()))
}

// recordedStates compacts the recorded ticks one after another, and then one where sources fail.
func recordedStates(t *testing.T) map[string]pack.Input {
	t.Helper()
	inputs := make(map[string]pack.Input)
	var prev []byte
	for n := 1; n <= 3; n++ {
		in := tick(t, n)
		in.Prev = read(prev)
		inputs[fmt.Sprintf("tick%d", n)] = in
		prev, _ = compact(t, in)
	}
	in := inputs["tick3"]
	in.Prev = read(prev)
	in.Now = in.Now.Add(20 * time.Minute)
	for _, s := range pack.Crypto().Sources {
		if s.ID != "coingecko-markets" && s.ID != "geckoterminal-trending" {
			in = aged(in, s.ID, time.Second)
		}
	}
	in = with(in, "coingecko-markets", func(r *pack.Reading) { r.Failures, r.Err = 4, "rate_limited: HTTP 429" })
	in = with(in, "alternativeme-fng", func(r *pack.Reading) { *r = pack.Reading{Failures: 3, Err: "upstream_5xx: HTTP 503"} })
	in = with(in, "polymarket-crypto", func(r *pack.Reading) { *r = pack.Reading{Err: "disabled"} })
	in = with(in, "defillama-protocols", func(r *pack.Reading) { r.Failures, r.Err = 1, "bad_content: HTML where JSON was expected" })
	inputs["degraded"] = in
	return inputs
}

func TestRecordedStates(t *testing.T) {
	t.Parallel()
	for name, in := range recordedStates(t) {
		data, s := compact(t, in)
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, data, "", "\t"); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".golden.json", append(pretty.Bytes(), '\n'))
		if len(data) > pack.MaxState*3/4 {
			t.Errorf("%s has %d bytes: little room is left", name, len(data))
		}
		if again, _ := compact(t, in); !bytes.Equal(again, data) {
			t.Errorf("%s: the same input gives another state", name)
		}
		checkState(t, data, s)
	}
}

func TestBuiltInBriefIsGroundedInRecordedStates(t *testing.T) {
	t.Parallel()
	p := pack.Crypto()
	for name, in := range recordedStates(t) {
		data, s := compact(t, in)
		input := brief.Input{Pack: p.ID, State: read(data), Citations: p.Citations(read(data), s.SourceStatus, now)}
		draft, err := brief.BuiltIn().Write(t.Context(), input)
		text := draft.Text
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, f := range brief.Check(text, input) {
			t.Errorf("%s: %v", name, f)
		}
		if words := len(strings.Fields(text)); words < 150 {
			t.Errorf("%s: only %d words:\n%s", name, words, text)
		}
		t.Logf("%s:\n%s", name, text)
	}
}

func TestStateWithoutAnySource(t *testing.T) {
	t.Parallel()
	data, s := compact(t, pack.Input{Now: now})
	const want = `{"top_movers":[],"protocol_tvl":[],"trending_pools":[],"sentiment":{"fearGreed":null,"market":null,"breadth":null,` +
		`"stablecoins":null,"fees":null,"gas":null,"predictions":[]},"narratives":[],"flags":[],"source_status":[{"ref":1,`
	if !bytes.HasPrefix(data, []byte(want)) {
		t.Errorf("%s\nwant\n%s", data, want)
	}
	checkState(t, data, s)
	for _, row := range s.SourceStatus {
		if row.Status != api.SourceError || deref(row.Error) != "no answer yet" {
			t.Errorf("%s: %s, %q", row.ID, row.Status, deref(row.Error))
		}
	}
}
