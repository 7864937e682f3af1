package daemon_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/sdk/api"
)

// rpc calls a method of MCP with a key, and returns result and error.
func rpc(t *testing.T, d *daemontest.Daemon, key, method, params string) (result map[string]any, code int) {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	r, err := http.NewRequest(http.MethodPost, d.URL()+api.PathMCP, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/json")
	if method == "server/discover" {
		r.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", method)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	var answer struct {
		Result map[string]any
		Error  struct{ Code int }
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%s: %v in %s", method, err, text)
	}
	return answer.Result, answer.Error.Code
}

// TestEventsAdvertised: both handshakes tell of MCP Events, among the extensions and among the capabilities.
func TestEventsAdvertised(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := d.Key(t, api.TierFree)
	meta := `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
		"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},
		"io.modelcontextprotocol/clientCapabilities":{}}}`
	for method, params := range map[string]string{
		"initialize":      `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}`,
		"server/discover": meta,
	} {
		result, code := rpc(t, d, key, method, params)
		told, _ := result["capabilities"].(map[string]any)
		extensions, _ := told["extensions"].(map[string]any)
		if told["events"] == nil || extensions["io.modelcontextprotocol/events"] == nil || told["tools"] == nil {
			t.Errorf("%s: %v, %d", method, result, code)
		}
	}
}

// TestMCPEvents follows MCP Events: the types, polling, and a subscription that is challenged, told, refreshed, woken from its cursor and
// ended.
func TestMCPEvents(t *testing.T) {
	t.Parallel()
	r, d := newReceiver(t), daemontest.Start(t, onLoopback)
	key := d.Key(t, api.TierFree)
	list, _ := rpc(t, d, key, "events/list", `{}`)
	var names []string
	for _, one := range list["events"].([]any) {
		e := one.(map[string]any)
		names = append(names, e["name"].(string))
		if len(e["delivery"].([]any)) == 0 || e["inputSchema"] == nil || e["payloadSchema"] == nil || e["description"] == "" {
			t.Errorf("%v", e)
		}
	}
	if len(names) != 6 || !slices.IsSorted(names) {
		t.Errorf("%q", names)
	}
	fresh, _ := rpc(t, d, key, "events/poll", `{"name":"state.published","arguments":{},"cursor":null}`)
	if events, ok := fresh["events"].([]any); !ok || len(events) != 0 || fresh["truncated"] != false || fresh["resultType"] != "complete" {
		t.Errorf("%v", fresh)
	}
	refresh(t, d, 3)
	cursor := fmt.Sprint(fresh["cursor"])
	var polled []string
	for more := true; more; {
		page, code := rpc(t, d, key, "events/poll",
			`{"name":"state.published","arguments":{"pack":"crypto"},"cursor":"`+cursor+`","maxEvents":2}`)
		if code != 0 {
			t.Fatal(code)
		}
		for _, e := range page["events"].([]any) {
			polled = append(polled, e.(map[string]any)["eventId"].(string))
		}
		cursor, more = page["cursor"].(string), page["hasMore"].(bool)
	}
	if len(polled) != 3 {
		t.Errorf("polled %q", polled)
	}
	flags := map[string]int{}
	for more, cursor := true, fmt.Sprint(fresh["cursor"]); more; {
		page, code := rpc(t, d, key, "events/poll",
			`{"name":"flag.changed","arguments":{"severity":"notice"},"cursor":"`+cursor+`","maxEvents":1}`)
		if code != 0 {
			t.Fatal(code)
		}
		for _, e := range page["events"].([]any) {
			flags[e.(map[string]any)["eventId"].(string)]++
		}
		cursor, more = page["cursor"].(string), page["hasMore"].(bool)
	}
	whole, _ := rpc(t, d, key, "events/poll",
		`{"name":"flag.changed","arguments":{"severity":"notice"},"cursor":"`+fmt.Sprint(fresh["cursor"])+`"}`)
	if n := len(whole["events"].([]any)); n < 2 || len(flags) != n || slices.Max(slices.Collect(maps.Values(flags))) != 1 {
		t.Errorf("one by one %v, together %d", flags, n)
	}
	const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	r.set(secret, 0)
	subscribe := func(more string) (map[string]any, int) {
		return rpc(t, d, key, "events/subscribe", `{"name":"state.published","arguments":{},"delivery":{"mode":"webhook","url":"`+r.URL+
			`/a","secret":"`+secret+`"}`+more+`}`)
	}
	first, code := subscribe(`,"cursor":"` + fmt.Sprint(fresh["cursor"]) + `","ttlMs":1`)
	ends, err := time.Parse(time.RFC3339, fmt.Sprint(first["refreshBefore"]))
	if code != 0 || err != nil || ends.Sub(d.Clock.Now()) != 5*time.Minute || first["truncated"] != false || first["id"] == "" {
		t.Fatalf("%v, %d, %v", first, code, err)
	}
	later(t, d, time.Second, "what was before", func() bool { return len(r.got()) == 3 })
	var told []string
	for _, p := range r.got() {
		told = append(told, p.id)
	}
	if slices.Sort(told); !slices.Equal(told, slices.Sorted(slices.Values(polled))) {
		t.Errorf("told %q, polled %q", told, polled)
	}
	for more, want := range map[string]time.Duration{
		"": time.Hour, `,"ttlMs":null`: 24 * time.Hour, `,"ttlMs":99999999999`: 24 * time.Hour,
	} {
		again, _ := subscribe(more)
		ends, _ := time.Parse(time.RFC3339, fmt.Sprint(again["refreshBefore"]))
		if again["id"] != first["id"] || ends.Sub(d.Clock.Now()) != want {
			t.Errorf("refreshed with %q: %v", more, again)
		}
	}
	for method, params := range map[string]string{
		"-32011 events/poll":      `{"name":"price","arguments":{}}`,
		"-32602 events/poll":      `{"name":"flag.changed","arguments":{"x":1}}`,
		"-32014 events/subscribe": `{"name":"flag.changed","delivery":{"mode":"push","url":"https://example.org"}}`,
		"-32015 events/subscribe": `{"name":"flag.changed","delivery":{"mode":"webhook","url":"https://10.0.0.1"}}`,
		"-32601 events/none":      `{}`,
	} {
		want, method, _ := strings.Cut(method, " ")
		if _, code := rpc(t, d, key, method, params); fmt.Sprint(code) != want {
			t.Errorf("%s %s: %d, want %s", method, params, code, want)
		}
	}
	for range 2 {
		done, code := rpc(t, d, key, "events/unsubscribe",
			`{"name":"state.published","arguments":{"pack":"crypto"},"delivery":{"mode":"webhook","url":"`+r.URL+`/a"}}`)
		if code != 0 || done == nil {
			t.Errorf("unsubscribe: %v, %d", done, code)
		}
	}
	if list, err := clientOf(t, d, key).Watches(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}

// pollParams and pollResult are what the Go SDK sends and reads for events/poll, which it does not know.
type pollParams struct {
	sdk.ParamsBase
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments"`
	Cursor    *string        `json:"cursor"`
	MaxEvents int            `json:"maxEvents,omitempty"`
}

type pollResult struct {
	sdk.ResultBase
	Events     []api.Event `json:"events"`
	Cursor     string      `json:"cursor"`
	Truncated  bool        `json:"truncated"`
	HasMore    bool        `json:"hasMore"`
	NextPollMs int64       `json:"nextPollMs"`
}

// authorized sends a key with each request.
type authorized struct{ key string }

// RoundTrip sends r with the key.
func (a authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+a.key)
	return http.DefaultTransport.RoundTrip(r)
}

// TestSDKPolls has the client of the Go SDK poll events, page by page, and understand why it may not.
func TestSDKPolls(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	const method = "events/poll"
	if err := sdk.AddSendingCustomMethod[*pollParams, *pollResult](client, method); err != nil {
		t.Fatal(err)
	}
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: d.URL() + api.PathMCP,
		HTTPClient: &http.Client{Transport: authorized{d.Key(t, api.TierPro)}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	poll := func(p pollParams) (*pollResult, error) {
		return sdk.CallCustomMethod[*pollParams, *pollResult](t.Context(), session, method, &p)
	}
	page, err := poll(pollParams{Name: "state.published", Arguments: map[string]any{}})
	if err != nil || page.Events == nil || len(page.Events) != 0 || page.Cursor == "" || page.NextPollMs < 1000 {
		t.Fatalf("from now on: %+v, %v", page, err)
	}
	refresh(t, d, 3)
	var ids []string
	for more := true; more; more = page.HasMore {
		page, err = poll(pollParams{Name: "state.published", Arguments: map[string]any{"pack": "crypto"}, Cursor: &page.Cursor, MaxEvents: 2})
		if err != nil || page.Truncated || len(page.Events) > 2 {
			t.Fatalf("%+v, %v", page, err)
		}
		for _, e := range page.Events {
			var data api.EventData
			if err := json.Unmarshal(e.Data, &data); err != nil || data.Message == "" || e.Timestamp.IsZero() || e.Name != "state.published" ||
				e.Cursor == nil {
				t.Errorf("%+v, %v", e, err)
			}
			ids = append(ids, e.ID)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(ids)))) != 3 || len(ids) != 3 {
		t.Errorf("polled %q", ids)
	}
	_, err = poll(pollParams{Name: "price", Arguments: map[string]any{}})
	if wire := new(jsonrpc.Error); !errors.As(err, &wire) || wire.Code != -32011 {
		t.Errorf("a type that there is not: %v", err)
	}
}

// TestWatchTool keeps a watch by the tool, for clients without MCP Events.
func TestWatchTool(t *testing.T) {
	t.Parallel()
	d := daemontest.Start(t)
	key := d.Key(t, api.TierFree)
	call := func(arguments string) map[string]any {
		t.Helper()
		result, _ := rpc(t, d, key, "tools/call", `{"name":"context_watch","arguments":`+arguments+`}`)
		answer, _ := result["structuredContent"].(map[string]any)
		return answer
	}
	made := call(`{"action":"create","type":"state.published"}`)
	refresh(t, d, 2)
	id := fmt.Sprint(made["watchId"])
	page := call(`{"action":"read","watchId":"` + id + `","cursor":"` + fmt.Sprint(made["cursor"]) + `"}`)
	if events, _ := page["events"].([]any); len(events) != 2 {
		t.Errorf("%v", page)
	}
	if list := call(`{"action":"list"}`); len(list["watches"].([]any)) != 1 {
		t.Errorf("%v", list)
	}
	if gone := call(`{"action":"remove","watchId":"` + id + `"}`); gone["removed"] != id {
		t.Errorf("%v", gone)
	}
	if wrong := call(`{"action":"dance"}`); wrong != nil {
		t.Errorf("%v", wrong)
	}
}
