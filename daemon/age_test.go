package daemon_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// walk is a daemon that is walked through outages, and who asks it.
type walk struct {
	*daemontest.Walk
	t      *testing.T
	key    string
	client *sdk.Client
}

func newWalk(t *testing.T, changes ...func(*daemon.Config)) *walk {
	t.Helper()
	w := &walk{Walk: daemontest.NewWalk(t, changes...), t: t}
	w.key = w.Key(t, api.TierPro)
	w.client = client(t, w.Daemon, w.key)
	return w
}

// check compares what each form says with the truth.
func (w *walk) check(step string) {
	w.t.Helper()
	want := w.Truth()
	same := func(form string, got api.Freshness) {
		w.t.Helper()
		var troubled []string
		for _, s := range got.Sources {
			troubled = append(troubled, s.ID)
		}
		if failed := w.Failed(); !slices.Equal(troubled, failed) || len(got.Flags) > len(failed) {
			w.t.Errorf("%s, %s: not ok are %q, with %d flags; failed have %q", step, form, troubled, len(got.Flags), failed)
		}
		got.Sources, got.Flags, got.Provenance = nil, nil, ""
		if !reflect.DeepEqual(got, want) {
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
		if !cited.Citation.FetchedAt.Equal(w.Answered(1).Truncate(time.Millisecond)) {
			w.t.Errorf("%s, cite: fetched %v", step, cited.Citation.FetchedAt)
		}
	}
	stream := w.client.Subscribe(sdk.SubscribeRequest{})
	for e, err := range stream.Events(ctx) {
		if err != nil {
			w.t.Fatal(err)
		}
		same("stream", e.State.FreshnessAt(w.Clock.Now()))
		break
	}
	stream.Close()
	for tool, arguments := range map[string]string{"fresh": `{}`, "brief": `{}`, "search": `{"q":"bitcoin"}`, "cite": `{"ref":1}`, "subscribe": `{"seconds":1}`} {
		if tool == "subscribe" && !long.On() { // it lasts a second at each step
			continue
		}
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
		at := w.Answered(m.Ref)
		if got := citations[m.Ref-1].FetchedAt; !got.Equal(at.Truncate(time.Millisecond)) || m.Stale != at.Before(w.Made) {
			w.t.Errorf("%s, %s of %s: fetched %v, stale %v; the truth is %v of a state of %v", step, m.ID, w.Sources()[m.Ref-1], got, m.Stale, at, w.Made)
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
	w.Outages(w.check)
}

// TestOldBriefTellsWhatCameSince: a model's brief of three hours ago says so in every form, with the flag that was raised since.
func TestOldBriefTellsWhatCameSince(t *testing.T) {
	t.Parallel()
	_, byModel := newModel(t, 0)
	w := newWalk(t, byModel)
	until(t, "the scheduled brief is written", func() bool { return jobOf(t, w.Daemon, pipeline.JobBrief).Runs > 0 }) // or it is of another time
	of := w.Made
	before, err := w.client.Fresh(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(3 * time.Hour)
	w.Recording.Advance()
	w.Again()
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
		!text.Freshness.GeneratedAt.Equal(w.Made) {
		t.Errorf("brief %+v, %v", text, err)
	}
	for tool, arguments := range map[string]string{"fresh": `{}`, "brief": `{}`} {
		said, _ := w.tool(tool, arguments)
		if !strings.Contains(said, "Brief written "+fresh.BriefAt.UTC().Format(time.RFC3339)) || !strings.Contains(said, "Since then: "+fresh.Since.Text) {
			t.Errorf("MCP %s: %.600s", tool, said)
		}
	}
}
