package operate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/operate"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestAlertsAreChecked: words say which alert is wrong and why, and none of its secrets.
func TestAlertsAreChecked(t *testing.T) {
	t.Parallel()
	crypto := []*pack.Pack{pack.Crypto()}
	two := []*pack.Pack{{ID: "other", FlagKinds: []string{"funding_extreme"}}, {ID: "open"}}
	for name, c := range map[string]struct {
		packs  []*pack.Pack
		change func(a *operate.Alert)
		want   string // "" where nothing is wrong
	}{
		"good":            {crypto, func(*operate.Alert) {}, ""},
		"no name":         {crypto, func(a *operate.Alert) { a.Name = "" }, `alerts[0]: name "" is not 1 to 32`},
		"bad name":        {crypto, func(a *operate.Alert) { a.Name = "a/b" }, `alerts[0]: name "a/b" is not 1 to 32`},
		"unknown pack":    {crypto, func(a *operate.Alert) { a.Pack = "ai" }, `alert a: pack "ai" is not served`},
		"bad severity":    {crypto, func(a *operate.Alert) { a.Severity = "bad" }, `alert a: severity "bad" is none of`},
		"unknown kind":    {crypto, func(a *operate.Alert) { a.Kinds = []string{"depeg"} }, `alert a: no flag is of kind "depeg"`},
		"no address":      {crypto, func(a *operate.Alert) { a.Mail = []string{"x"} }, `alert a: "x" is not an address of mail`},
		"address of more": {crypto, func(a *operate.Alert) { a.Mail = []string{"A <a@b.c>"} }, `alert a: "A <a@b.c>" is not an address`},
		"nobody":          {crypto, func(a *operate.Alert) { a.Hook.URL = "" }, `alert a: nobody is told`},
		"nothing to sign": {crypto, func(a *operate.Alert) {
			a.Hook.URL, a.Hook.Secret, a.Mail = "", []byte("x"), []string{"a@b.c"}
		}, `alert a: there is a secret to sign with`},
		"short secret": {crypto, func(a *operate.Alert) {
			a.Hook.Secret = []byte(strings.Repeat("x", 15))
		}, `alert a: the secret has 15 bytes`},
		"secret":            {crypto, func(a *operate.Alert) { a.Hook.Secret = []byte(strings.Repeat("x", 16)) }, ""},
		"long secret":       {crypto, func(a *operate.Alert) { a.Hook.Secret = []byte(strings.Repeat("x", 64)) }, ""},
		"negative cooldown": {crypto, func(a *operate.Alert) { a.Cooldown = -1 }, `alert a: the cool-down is negative`},
		"bad webhook":       {crypto, func(a *operate.Alert) { a.Hook.URL = "ftp://SECRET" }, `alert a: the address of the webhook is no`},
		"kind of a pack":    {two, func(a *operate.Alert) { a.Pack, a.Kinds = "other", []string{"funding_extreme"} }, ""},
		"kind of another": {two, func(a *operate.Alert) {
			a.Pack, a.Kinds = "other", []string{"stablecoin_depeg"}
		}, `alert a: no flag is of kind "stablecoin_depeg"; there are funding_extreme`},
		"condition":            {crypto, condition(api.WatchConditionMet, `{"member":"asset","key":"BTC","field":"priceUsd","op":"<","value":90000}`), ""},
		"move":                 {crypto, condition(api.WatchChangeMoved, `{"member":"asset","key":"BTC","field":"priceUsd","percent":5,"windowMinutes":60}`), ""},
		"flags by type":        {crypto, condition(api.WatchFlagChanged, ``), ""},
		"flags with arguments": {crypto, condition(api.WatchFlagChanged, `{}`), `alert a: arguments are for other types`},
		"type of owners":       {crypto, condition(api.WatchCreditsLow, `{"below":1}`), `alert a: type "credits.low" is none of flag.changed,`},
		"severity of a number": {crypto, func(a *operate.Alert) {
			condition(api.WatchConditionMet, `{"member":"asset","key":"BTC","field":"priceUsd","op":"<","value":90000}`)(a)
			a.Severity = api.SeverityNotice
		}, `alert a: severity and kinds are of flags`},
		"no arguments": {crypto, condition(api.WatchConditionMet, ``), `alert a: argument field is missing; condition.met takes: field`},
		"another field": {crypto, condition(api.WatchConditionMet, `{"member":"asset","key":"BTC","field":"price","op":"<","value":90000}`),
			`alert a: asset has no number "price"; there are `},
		"another pack": {crypto, condition(api.WatchConditionMet,
			`{"pack":"ai","member":"asset","key":"BTC","field":"priceUsd","op":"<","value":90000}`), `alert a: arguments name a pack`},
		"chat":         {crypto, func(a *operate.Alert) { a.Hook.Format, a.Hook.Text = alert.FormatSlack, "{{.Message}}" }, ""},
		"no such chat": {crypto, func(a *operate.Alert) { a.Hook.Format = "irc" }, `alert a: the format "irc" is none of`},
		"chat, no url": {crypto, func(a *operate.Alert) { a.Hook, a.Mail = alert.Hook{Format: alert.FormatSlack}, []string{"a@b.c"} }, `alert a: format and text`},
		"short token":  {crypto, func(a *operate.Alert) { a.Hook.Format, a.Hook.Secret = alert.FormatNtfy, []byte("tk") }, ""},
		"any kind":     {two, func(a *operate.Alert) { a.Pack, a.Kinds = "open", []string{"anything"} }, ""},
		"no crypto": {two, func(a *operate.Alert) {
			a.Kinds = []string{"funding_extreme"}
		}, `alert a: pack "crypto" is not served; there are other, open`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := operate.Alert{Name: "a", Hook: alert.Hook{URL: "http://127.0.0.1:1/SECRET"}}
			c.change(&a)
			err := operate.CheckAlerts(c.packs, []operate.Alert{a})
			if (err == nil) != (c.want == "") || err != nil && (!strings.HasPrefix(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET")) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	good := operate.Alert{Name: "a", Hook: alert.Hook{URL: "http://127.0.0.1:1/SECRET"}}
	if err := operate.CheckAlerts(crypto, []operate.Alert{good, good}); err == nil || err.Error() != "two alerts have the name a" {
		t.Errorf("twice: %v", err)
	}
}

// condition makes an alert one of a type with arguments.
func condition(of api.WatchType, arguments string) func(*operate.Alert) {
	return func(a *operate.Alert) {
		if a.Type = of; arguments != "" {
			a.Arguments = []byte(arguments)
		}
	}
}

// TestConditions: numbers are told by the states that have them and those before, in the words of a chat, each edge once.
func TestConditions(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	chat := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var post struct{ Text string }
		_ = json.NewDecoder(r.Body).Decode(&post)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, post.Text)
	}))
	defer chat.Close()
	begin := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	var kept []state.Pulse
	hook := alert.Hook{URL: chat.URL, Format: alert.FormatSlack, Text: "{{.Alert}} {{.Change}} {{.Subject}}"}
	const row = `"member":"asset","key":"btc","field":"priceUsd"`
	f := feed.New(api.PackCrypto)
	var log testbed.Log
	a, err := operate.OpenAlerts(operate.AlertsConfig{
		Journal: filepath.Join(t.TempDir(), "journal"), Feed: f, Delivered: func(string, string, error) {}, Logger: log.Logger(),
		Now: func() time.Time { return begin },
		Past: func(_ context.Context, _ string, t time.Time) (state.Pulse, error) {
			for _, p := range slices.Backward(kept) {
				if p.GeneratedAt.Before(t) {
					return p, nil
				}
			}
			return state.Pulse{}, state.ErrNoPulse
		},
	}, []*pack.Pack{pack.Crypto()}, []operate.Alert{
		{Name: "low", Type: api.WatchConditionMet, Arguments: []byte(`{` + row + `,"op":"<","value":90}`), Hook: hook, Ended: true},
		{Name: "fast", Type: api.WatchChangeMoved, Arguments: []byte(`{` + row + `,"percent":10,"windowMinutes":5}`), Hook: hook},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { a.Run(ctx) })
	for i, price := range []int{100, 91, 89, 89, 100} {
		p := state.Pulse{Pack: api.PackCrypto, GeneratedAt: begin.Add(time.Duration(i) * 5 * time.Minute), State: fmt.Appendf(nil,
			`{"top_movers":[{"id":"bitcoin","symbol":"BTC","name":"Bitcoin","priceUsd":%d,"ref":1}],"flags":[],"source_status":[]}`, price)}
		p.Doc = p.Read()
		if err := f.Publish(p, state.Narration{}, nil); err != nil {
			t.Fatal(err)
		}
		kept = append(kept, p)
		a.Observe(t.Context(), api.PackCrypto)
	}
	want := []string{"fast appeared BTC", "low appeared BTC", "low ended BTC"}
	for deadline := time.Now().Add(20 * time.Second); a.Waiting() > 0 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	stop()
	all.Wait()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if slices.Sort(got); !slices.Equal(got, want) || strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("told %q, want %q; log: %s", got, want, log.String())
	}
}
