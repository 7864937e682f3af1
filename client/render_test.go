package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// page is a page of 80 columns at a fixed time, and what is drawn on it.
func page() (client.Page, *bytes.Buffer) {
	var b bytes.Buffer
	return client.Page{W: &b, Width: 80, Now: time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC)}, &b
}

// drawn is the overview of a crypto state with these members.
func drawn(t *testing.T, members string) string {
	t.Helper()
	p, b := page()
	state := `{"source_status":[{"ref":1,"id":"s","status":"ok"}],` + strings.TrimPrefix(members, "{")
	err := p.State(api.PackCrypto, &api.StateResponse{State: json.RawMessage(state), Freshness: api.Freshness{GeneratedAt: p.Now}})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestUnknownIsNotZero checks that null is a dash, and that 0 is 0.
func TestUnknownIsNotZero(t *testing.T) {
	t.Parallel()
	got := drawn(t, `{"top_movers":[{"group":"major","symbol":"NUL","priceUsd":null,"volume24hUsd":null},`+
		`{"group":"major","symbol":"ZERO","priceUsd":0,"change1hPct":0,"change24hPct":0,"change7dPct":0,"volume24hUsd":0}],`+
		`"sentiment":{"fearGreed":{"value":0,"label":"Fear","previousDay":null,"weekAgo":0},"market":{"totalMarketCapUsd":null},"breadth":null}}`)
	for _, want := range []string{
		"  NUL       -      -      -      -           - [0]\n",
		"  ZERO     $0  0.00%  0.00%  0.00%          $0 [0]\n",
		"0 Fear (alternative.me), yesterday -, a week ago", "Market cap    - - in 24h, volume -", "BTC share     - [",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Breadth") || strings.Contains(got, "TVL") || strings.Contains(got, "FLAGS") || strings.Contains(got, "NARRATIVES") {
		t.Errorf("shows what there is not:\n%s", got)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for price, want := range map[string]string{
		"91442.9": "$91,442.90", "1234567.891": "$1,234,567.89", "999.999": "$1,000.00", "1": "$1.00", "0.0000745612": "$0.00007456", "0.31204": "$0.3120",
	} {
		if got := drawn(t, `{"top_movers":[{"group":"major","symbol":"X","priceUsd":`+price+`}]}`); !strings.Contains(got, " "+want+" ") {
			t.Errorf("price %s is not %s:\n%s", price, want, got)
		}
	}
	for amount, want := range map[string]string{
		"999": "$999.00", "1000": "$1,000", "31266924252": "$31.27B", "3325259814782": "$3.33T", "-1500000": "-$1.50M", "9007199254740993": "$9,007.20T",
	} {
		if got := drawn(t, `{"protocol_tvl":[{"group":"top","name":"X","tvlUsd":`+amount+`}]}`); !strings.Contains(got, " "+want+" ") {
			t.Errorf("amount %s is not %s:\n%s", amount, want, got)
		}
	}
}

// TestRowsShown checks how many rows of a kind are shown, and that the rest is told.
func TestRowsShown(t *testing.T) {
	t.Parallel()
	var flags, pools []string
	for i := range 12 {
		flags = append(flags, fmt.Sprintf(`{"severity":"notice","message":"flag %d.","ref":1}`, i))
		pools = append(pools, fmt.Sprintf(`{"pair":"pool %d."}`, i))
	}
	got := drawn(t, `{"flags":[`+strings.Join(flags, ",")+`],"trending_pools":[`+strings.Join(pools, ",")+`]}`)
	if strings.Count(got, "flag ") != 8 || strings.Count(got, "pool ") != 5 || !strings.Contains(got, "4 more") || !strings.Contains(got, "7 more") {
		t.Errorf("shows\n%s", got)
	}
}

// TestSources checks what is said of sources that are not well.
func TestSources(t *testing.T) {
	t.Parallel()
	p, b := page()
	state := `{"source_status":[{"ref":1,"id":"a","status":"ok"},{"ref":2,"id":"b","status":"stale","fetchedAt":"2026-11-20T19:00:00Z","error":"status\u001b[31m 503"},` +
		`{"ref":3,"id":"c","status":"error","fetchedAt":null,"error":null}]}`
	if err := p.State(api.PackCrypto, &api.StateResponse{State: json.RawMessage(state), Freshness: api.Freshness{GeneratedAt: p.Now.AddDate(0, 0, -1), AgeSeconds: 86400}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"! 1 of 3 ok\n", "  stale b, last answered 1h06m ago: status 503 [2]\n", "  error c, never answered [3]\n",
		"▲ STALE state age 1d, the refresh lags  2026-11-19 20:06:00 UTC\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("lacks %q:\n%s", want, b)
		}
	}
}

// TestLateRows: what is of a source that is overdue says so, by the clock of the service and, of a snapshot, as of its moment. A warning
// about a source is no data of it.
func TestLateRows(t *testing.T) {
	t.Parallel()
	const state = `{"top_movers":[{"group":"major","symbol":"BTC","name":"Bitcoin","ref":1},{"group":"major","symbol":"ETH","name":"Ether","ref":2}],` +
		`"flags":[{"kind":"source_stale","message":"late","ref":1},{"kind":"price_move","message":"fell","ref":1},{"kind":"price_move","message":"rose","ref":2}],` +
		`"source_status":[{"ref":1,"id":"a","status":"ok","fetchedAt":"2026-11-20T20:00:00Z","intervalSeconds":300},` +
		`{"ref":2,"id":"b","status":"ok","fetchedAt":"2026-11-20T20:00:00Z","intervalSeconds":900}]}`
	made := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		after time.Duration // that the clock of this machine shows
		told  int64         // ageSeconds
		past  bool
		want  string // of [1]
	}{
		"at its bound":           {6 * time.Minute, 0, false, ""},
		"beyond":                 {6*time.Minute + time.Second, 0, false, "STALE 6m"},
		"a clock that is slow":   {time.Minute, 840, false, "STALE 14m"},
		"a snapshot":             {time.Hour, 17, true, ""},
		"a snapshot of old":      {time.Hour, 840, true, "STALE 14m"},
		"a snapshot, clock slow": {0, 840, true, "STALE 14m"},
	} {
		for _, width := range []int{50, 80} {
			p, b := page()
			p.Now, p.Width = made.Add(c.after), width
			m := &api.StateResponse{State: json.RawMessage(state), Freshness: api.Freshness{GeneratedAt: made, AgeSeconds: c.told, DataAgeSeconds: c.told}}
			draw := func() error { return p.State(api.PackCrypto, m) }
			if c.past {
				draw = func() error { return p.Snapshot(api.PackCrypto, made, m) }
			}
			if err := draw(); err != nil {
				t.Fatal(err)
			}
			_, rows, _ := strings.Cut(b.String(), "\n")
			for line := range strings.Lines(rows) {
				late := c.want != "" && (strings.Contains(line, "BTC") || strings.Contains(line, "fell"))
				if strings.Contains(line, "STALE") != late || late && !strings.Contains(line, c.want) {
					t.Errorf("%s, %d columns: want %q, got %q", name, width, c.want, line)
				}
			}
		}
	}
}

// TestNeverTooWide draws hostile text in narrow terminals: no line may be wider, and nothing may panic.
func TestNeverTooWide(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("漢字 wide ", 30)
	state := fmt.Sprintf(`{"top_movers":[{"group":"major","symbol":%[1]q,"name":%[1]q}],"protocol_tvl":[{"group":"top","name":%[1]q}],"flags":[{"message":%[1]q,"severity":%[1]q}],`+
		`"trending_pools":[{"pair":%[1]q,"network":%[1]q,"risk":[%[1]q]}],"narratives":[{"name":%[1]q,"headlines":[{"title":%[1]q}]}],`+
		`"sentiment":{"fearGreed":{"label":%[1]q},"predictions":[{"question":%[1]q,"probability":1}]},"source_status":[{"id":%[1]q,"status":"error"}]}`, long)
	for width := range 121 {
		p, b := page()
		p.Width = width
		if err := p.State(api.PackCrypto, &api.StateResponse{State: json.RawMessage(state)}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if got := (cli.Style{}).Fit(strings.TrimSuffix(line, "\n"), width); len(strings.TrimSuffix(line, "\n")) > len(got) {
				t.Fatalf("at %d columns: %q", width, line)
			}
		}
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	brief := &api.BriefResponse{Brief: "# Today\n\nOne [1][2] and two [10], but [7] and [12345].\n",
		Citations: []api.Citation{{Ref: 1, SourceID: "a", URL: "https://a"}, {Ref: 2, SourceID: "bb", URL: "https://b"}, {Ref: 10, SourceID: "c", URL: "https://c"}}}
	for i := range brief.Citations {
		brief.Citations[i].FetchedAt = time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC)
	}
	const head = "crypto brief  state age 0s\n\n# Today\n\n"
	for cite, want := range map[client.CiteStyle]string{
		client.CiteNone:   head + "One and two, but and [12345].\n",
		client.CiteInline: head + "One (a)(bb) and two (c), but [7] and [12345].\n",
		client.CiteFootnotes: head + "One [1][2] and two [10], but [7] and [12345].\n\nSources\n" +
			" [1] a   https://a  fetched 1m00s ago\n [2] bb  https://b  fetched 1m00s ago\n[10] c   https://c  fetched 1m00s ago\n",
	} {
		p, b := page()
		if err := p.Brief(api.PackCrypto, brief, cite); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s, want\n%s", cite, err, b, want)
		}
	}
	p, b := page()
	p.Width, p.Style.Color = 24, true
	if err := p.Brief(api.PackCrypto, brief, client.CiteFootnotes); err != nil {
		t.Fatal(err)
	}
	if want := "One \x1b[36m[1]\x1b[0m\x1b[36m[2]\x1b[0m and two \x1b[36m[10]\x1b[0m,\nbut \x1b[36m[7]\x1b[0m and [12345].\n"; !strings.Contains(b.String(), want) {
		t.Errorf("wrapped and marked:\n%q lacks\n%q", b, want)
	}
}

// TestTablesNeverTooWide draws hostile rows of a pack that no code knows in every terminal.
func TestTablesNeverTooWide(t *testing.T) {
	t.Parallel()
	long, _ := json.Marshal(strings.Repeat("漢字 \u202e\x1b[31mwide ", 30))
	state := fmt.Sprintf(`{"a_b":[{"id":%[1]s,"name":%[1]s,"symbol":"X","fundingPct":-0.5,"%[2]s":%[1]s,"at":"2026-11-20T19:00:00Z","markUsd":1e300,"open":true,"ref":1},`+
		`{"id":"y","ref":99,"stale":true}],"none":[],"flags":[{"message":%[1]s,"severity":%[1]s}],"source_status":[{"id":%[1]s,"status":"error"}]}`, long, strings.Repeat("long", 40))
	for width := range 121 {
		p, b := page()
		p.Width = width
		if err := p.State("perps", &api.StateResponse{State: json.RawMessage(state)}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if got := (cli.Style{}).Fit(line, width); len(line) > len(got) || strings.ContainsAny(line, "\x1b\u202e") {
				t.Fatalf("at %d columns: %q", width, line)
			}
		}
		if width > 30 && (!strings.Contains(b.String(), "-0.50%") || !strings.Contains(b.String(), "STALE")) {
			t.Errorf("at %d columns:\n%s", width, b)
		}
	}
}

// TestTableRowsShown: what is asked for alone gets the room of all, and what is left out is told.
func TestTableRowsShown(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 30 {
		rows = append(rows, fmt.Sprintf(`{"id":"row%d.","scoreUsd":1,"ref":1}`, i))
	}
	list := "[" + strings.Join(rows, ",") + "]"
	for state, want := range map[string]int{`{"a":` + list + `}`: 24, `{"a":` + list + `,"b":` + list + `}`: 24, `{"a":` + list + `,"b":[],"c":[],"d":` + list + `}`: 16} {
		p, b := page()
		if err := p.State("perps", &api.StateResponse{State: json.RawMessage(state)}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(b.String(), "  row"); got != want || !strings.Contains(b.String(), "more in -o json") {
			t.Errorf("%d rows, want %d:\n%s", got, want, b)
		}
	}
}

// broken fails every write.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	p, _ := page()
	p.W = broken{}
	crypto := &api.StateResponse{State: json.RawMessage(`{"source_status":[{"ref":1}]}`)}
	for name, err := range map[string]error{
		"state": p.State(api.PackCrypto, crypto), "snapshot": p.Snapshot(api.PackCrypto, p.Now, crypto), "tree": p.Tree([]byte(`{}`)),
		"tables": p.State("perps", &api.StateResponse{State: json.RawMessage(`{"a":[]}`)}), "pack": p.Pack(&api.PackInfo{}),
		"brief": p.Brief("x", &api.BriefResponse{}, client.CiteNone),
	} {
		if !errors.Is(err, errBroken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRowsTellWhatTheyAreAbout: a figure that is older than its poll says of when it is, in tables and readings, at every width.
func TestRowsTellWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	for _, width := range []int{50, 80, 120} {
		p, b := page()
		p.Width = width
		fresh := api.Freshness{GeneratedAt: p.Now}
		for pack, text := range map[string]string{
			"markets": `{"volatility":[{"id":"VIX","name":"VIX","level":23.26,"ref":1,"of":"2026-11-19"},{"id":"VXN","name":"VXN","level":25,"ref":1}],`,
			"crypto":  `{"sentiment":{"fearGreed":{"value":24,"label":"Fear","previousDay":1,"weekAgo":1,"ref":1,"of":"2026-11-19"}},`,
		} {
			m := &api.StateResponse{State: json.RawMessage(text + `"source_status":[{"ref":1,"id":"a","status":"ok"}]}`), Freshness: fresh}
			if err := p.State(pack, m); err != nil {
				t.Fatal(err)
			}
		}
		for line := range strings.Lines(b.String()) {
			of := strings.Contains(line, "VIX") || strings.Contains(line, "Fear &")
			if strings.Contains(line, "of 2026-11-19") != of || strings.Contains(line, "VXN") && strings.Contains(line, "of ") {
				t.Errorf("%d columns: %q", width, line)
			}
		}
	}
}
