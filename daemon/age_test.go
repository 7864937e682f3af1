package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// walk is a daemon that is walked through outages, and the truth of its upstream: when each source last answered, and whether it answers.
type walk struct {
	*daemontest.Daemon
	t        *testing.T
	key      string
	client   *sdk.Client
	answered map[string]time.Time
	made     time.Time // when the state was made
	dead     func(source string) bool
}

// newWalk starts a daemon that refreshes every five minutes, whose first state was made of sources that all answered.
func newWalk(t *testing.T, changes ...func(*daemon.Config)) *walk {
	t.Helper()
	d := daemontest.Open(t, append(changes, func(c *daemon.Config) { c.Every = 5 * time.Minute })...)
	w := &walk{Daemon: d, t: t, answered: map[string]time.Time{}, dead: func(string) bool { return false }}
	d.Clock.Advance(time.Minute + 250*time.Millisecond) // the schedule's next refresh is minutes away
	w.refresh()
	w.key = d.Key(t, api.TierPro)
	d.Run(t)
	w.client = client(t, d, w.key)
	return w
}

// refresh refreshes and notes the truth.
func (w *walk) refresh() {
	w.t.Helper()
	err := w.Refresh(w.t.Context(), api.PackCrypto)
	all := true
	for _, id := range sources() {
		if !w.dead(id) {
			w.answered[id], all = w.Clock.Now(), false
		}
	}
	if !all {
		w.made = w.Clock.Now()
	}
	if all != (err != nil) {
		w.t.Fatalf("refresh: %v", err)
	}
}

// sources are the ids of the crypto pack, [1] first.
func sources() []string {
	return strings.Fields(`coingecko-markets coingecko-trending coingecko-global coingecko-categories defillama-protocols defillama-chains
		defillama-stablecoins defillama-hacks geckoterminal-trending alternativeme-fng news-coindesk news-cointelegraph news-decrypt
		polymarket-crypto kraken-ticker mempool-fees coinbase-exchange`)
}

// truth is the freshness that every form has to tell now. Sources whose answer is no longer shown do not count.
func (w *walk) truth() api.Freshness {
	now := w.Clock.Now()
	f := api.Freshness{GeneratedAt: w.made, AgeSeconds: int64(now.Sub(w.made) / time.Second)}
	f.DataAgeSeconds = f.AgeSeconds
	for i, id := range sources() {
		age := now.Sub(w.answered[id])
		failed := w.answered[id].Before(w.made) && w.made.Sub(w.answered[id]) <= 45*time.Minute
		if i+1 == 15 || i+1 == 2 { // Kraken is shown by no row here, nor is what was searched
			continue
		}
		if overdue := failed || age > interval(id)+time.Minute; overdue {
			f.DataAgeSeconds = max(f.DataAgeSeconds, int64(age/time.Second))
		}
	}
	return f
}

// interval is how often a source is asked.
func interval(id string) time.Duration {
	switch id {
	case "alternativeme-fng":
		return time.Hour
	case "coingecko-trending", "defillama-protocols":
		return 30 * time.Minute
	case "coingecko-global", "coingecko-categories", "defillama-hacks":
		return 15 * time.Minute
	case "defillama-stablecoins", "news-coindesk", "news-cointelegraph", "news-decrypt", "polymarket-crypto":
		return 10 * time.Minute
	}
	return 5 * time.Minute
}

// check compares what each form says with the truth.
func (w *walk) check(step string) {
	w.t.Helper()
	want := w.truth()
	same := func(form string, got api.Freshness) {
		w.t.Helper()
		if got != want {
			w.t.Errorf("%s, %s: %+v, the truth is %+v", step, form, got, want)
		}
	}
	ctx := w.t.Context()
	fresh, err := w.client.Fresh(ctx, "")
	if err != nil {
		w.t.Fatal(err)
	}
	same("fresh", fresh.Freshness)
	w.rows(step, fresh.State, fresh.Citations)
	if text, err := w.client.Brief(ctx, ""); err == nil {
		same("brief", text.Freshness)
	}
	if found, err := w.client.Search(ctx, sdk.SearchRequest{Query: "bitcoin"}); err == nil {
		same("search", found.Freshness)
	}
	if cited, err := w.client.Cite(ctx, "", 1); err == nil {
		same("cite", cited.Freshness)
		if !cited.Citation.FetchedAt.Equal(w.answered["coingecko-markets"].Truncate(time.Millisecond)) {
			w.t.Errorf("%s, cite: fetched %v", step, cited.Citation.FetchedAt)
		}
	}
	stream := w.client.Subscribe(sdk.SubscribeRequest{})
	for e, err := range stream.Events(ctx) {
		if err != nil {
			w.t.Fatal(err)
		}
		same("stream", api.AgesOf(e.State.State).Freshness(e.State.TS, w.Clock.Now()))
		break
	}
	stream.Close()
	for tool, arguments := range map[string]string{"fresh": `{}`, "brief": `{}`, "search": `{"q":"bitcoin"}`, "cite": `{"ref":1}`, "subscribe": `{"seconds":1}`} {
		text, structured := w.tool(tool, arguments)
		same("MCP "+tool, structured)
		says := fmt.Sprintf("%d s old", want.AgeSeconds)
		if want.DataAgeSeconds > want.AgeSeconds {
			says += ", data up to " + human.Age(time.Duration(want.DataAgeSeconds)*time.Second) + " old"
		}
		if !strings.Contains(text, says) || strings.Contains(text, "LAGGING") != (want.DataAgeSeconds > 300) ||
			strings.Contains(text, "overdue") != (want.DataAgeSeconds > want.AgeSeconds) {
			w.t.Errorf("%s, MCP %s does not say %q: %.200s", step, tool, says, text)
		}
	}
}

// rows compares the age of each price, as its anchor tells it, with the truth, and whether it is called stale.
func (w *walk) rows(step string, text json.RawMessage, citations []api.Citation) {
	w.t.Helper()
	var s api.CryptoState
	if err := json.Unmarshal(text, &s); err != nil {
		w.t.Fatal(err)
	}
	for _, m := range s.TopMovers {
		id := sources()[m.Ref-1]
		at := w.answered[id]
		if got := citations[m.Ref-1].FetchedAt; !got.Equal(at.Truncate(time.Millisecond)) || m.Stale != at.Before(w.made) {
			w.t.Errorf("%s, %s of %s: fetched %v, stale %v; the truth is %v of a state of %v", step, m.ID, id, got, m.Stale, at, w.made)
		}
		if m.Group == api.GroupMajor && m.ID == "bitcoin" && m.Stale {
			w.t.Errorf("%s: bitcoin is carried although an exchange answered", step)
		}
	}
}

// tool calls a tool and returns its text and its freshness.
func (w *walk) tool(name, arguments string) (string, api.Freshness) {
	w.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"context.` + name + `","arguments":` + arguments + `}}`
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.URL()+api.PathMCP, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	for line := range bytes.Lines(answer) {
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok && bytes.Contains(data, []byte(`"result"`)) {
			answer = data
		}
	}
	var r struct {
		Result struct {
			Content           []struct{ Text string }
			StructuredContent struct{ Freshness api.Freshness }
		}
	}
	if err := json.Unmarshal(answer, &r); err != nil || len(r.Result.Content) == 0 {
		w.t.Fatalf("%s: %v in %.300s", name, err, answer)
	}
	return r.Result.Content[0].Text, r.Result.StructuredContent.Freshness
}

// TestAgeIsNeverALie walks a daemon through outages. At every step each form tells the age of each price as it is.
func TestAgeIsNeverALie(t *testing.T) {
	t.Parallel()
	w := newWalk(t)
	w.check("all well")
	w.Clock.Advance(3 * time.Second)
	w.check("all well, 3 s later")
	w.dead = func(id string) bool { return strings.HasPrefix(id, "coingecko-") }
	w.Recording.Break("api.coingecko.com", nil)
	var gone time.Duration
	for _, d := range []time.Duration{time.Minute, 14 * time.Minute, 40 * time.Minute, 46 * time.Minute} {
		w.Clock.Advance(d - gone)
		gone = d
		w.refresh()
		w.Clock.Advance(2 * time.Second)
		w.check(fmt.Sprintf("CoinGecko dead for %v", d))
		w.Clock.Advance(-2 * time.Second)
	}
	w.Recording.Mend()
	w.dead = func(string) bool { return false }
	w.Clock.Advance(5 * time.Minute)
	w.refresh()
	w.check("all back")
	w.Recording.Break("", nil)
	w.dead = func(string) bool { return true }
	for range 3 {
		w.Clock.Advance(5 * time.Minute)
		w.refresh()
		w.check("all dead")
	}
}

// TestOldBriefTellsWhatCameSince: a model's brief of three hours ago says so in every form, with the flag that was raised since.
func TestOldBriefTellsWhatCameSince(t *testing.T) {
	t.Parallel()
	_, byModel := newModel(t, 0)
	w := newWalk(t, byModel)
	if err := w.Narrate(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	of := w.made
	before, err := w.client.Fresh(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(3 * time.Hour)
	w.Recording.Advance()
	w.refresh()
	fresh, err := w.client.Fresh(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	var s api.CryptoState
	if err := json.Unmarshal(fresh.State, &s); err != nil || s.Flags[0].Severity != api.SeverityCritical {
		t.Fatalf("%v; the recording has no critical flag: %+v", err, s.Flags)
	}
	if fresh.Brief != "The market moved [3]." || !fresh.BriefOf.Equal(of) || fresh.BriefAt.After(of.Add(time.Second)) || fresh.Since == nil ||
		!strings.Contains(fresh.Since.Text, s.Flags[0].Message) {
		t.Errorf("fresh: brief of %v, written %v, since %+v", fresh.BriefOf, fresh.BriefAt, fresh.Since)
	}
	if len(fresh.BriefCitations) != 18 || fresh.BriefCitations[0] != before.Citations[0] || fresh.Citations[0] == before.Citations[0] {
		t.Errorf("citations %+v and %+v", fresh.Citations[:1], fresh.BriefCitations)
	}
	text, err := w.client.Brief(t.Context(), "")
	if err != nil || !text.BriefOf.Equal(of) || text.Since == nil || text.Since.Text != fresh.Since.Text || text.Citations[0] != before.Citations[0] ||
		!text.Freshness.GeneratedAt.Equal(w.made) {
		t.Errorf("brief %+v, %v", text, err)
	}
	for tool, arguments := range map[string]string{"fresh": `{}`, "brief": `{}`, "subscribe": `{"seconds":1}`} {
		said, _ := w.tool(tool, arguments)
		if !strings.Contains(said, "Brief written "+fresh.BriefAt.UTC().Format(time.RFC3339)) || !strings.Contains(said, "Since then: "+fresh.Since.Text) {
			t.Errorf("MCP %s: %.600s", tool, said)
		}
	}
}
