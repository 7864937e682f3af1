package alert_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk/api"
)

// posted is what a hook posts of an event: its address and its body, "" where nothing is posted.
func posted(t *testing.T, h alert.Hook, path string, e alert.Event) (at, body, authorization string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		at, body, authorization = r.URL.RequestURI(), string(text), r.Header.Get("Authorization")
	}))
	defer srv.Close()
	h.URL = srv.URL + path
	hook, err := alert.NewWebhook(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := hook.Deliver(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return at, body, authorization
}

// TestFormats: each chat is posted to as it wants it, in its own words or those of a template.
func TestFormats(t *testing.T) {
	t.Parallel()
	ended := event()
	ended.Change, ended.Value, ended.Demo, ended.Severity = alert.Ended, nil, true, ""
	marked := event()
	marked.Message = "<!channel> a & b @everyone"
	const told = `[critical] USDX trades below its peg\ncrypto, state of 2026-11-20T20:00:00Z`
	for name, c := range map[string]struct {
		hook  alert.Hook
		event alert.Event
		path  string
		at    string
		body  string
	}{
		"slack": {alert.Hook{Format: alert.FormatSlack}, event(), "/services/T", "/services/T", `{"text":"` + told + `"}`},
		"slack, marked": {alert.Hook{Format: alert.FormatSlack, Text: "{{.Message}}"}, marked, "/x", "/x",
			`{"text":"&lt;!channel&gt; a &amp; b @everyone"}`},
		"discord": {alert.Hook{Format: alert.FormatDiscord}, event(), "/api/webhooks/1/T", "/api/webhooks/1/T",
			`{"allowed_mentions":{"parse":[]},"content":"` + told + `"}`},
		"telegram": {alert.Hook{Format: alert.FormatTelegram}, event(), "/botT/sendMessage?chat_id=-12", "/botT/sendMessage?chat_id=-12",
			`{"chat_id":"-12","text":"` + told + `"}`},
		"ntfy": {alert.Hook{Format: alert.FormatNtfy}, event(), "/flags", "/",
			`{"message":"crypto, state of 2026-11-20T20:00:00Z","priority":5,"title":"[critical] USDX trades below its peg","topic":"flags"}`},
		"ntfy, an end": {alert.Hook{Format: alert.FormatNtfy}, ended, "/below/flags", "/below",
			`{"message":"crypto, state of 2026-11-20T20:00:00Z\nThis is synthetic data.","title":"[peg, ended] USDX trades below its peg","topic":"flags"}`},
		"ntfy, a text": {alert.Hook{Format: alert.FormatNtfy, Text: "{{.Subject}}: {{.Change}} {{.Value.id}}"}, event(), "/flags", "/",
			`{"message":"USDX: appeared depeg:usdx","priority":5,"topic":"flags"}`},
		"nothing to say": {alert.Hook{Format: alert.FormatSlack, Text: `{{if eq .Change "ended"}}over{{end}}`}, event(), "/x", "", ""},
		"something":      {alert.Hook{Format: alert.FormatSlack, Text: `{{if eq .Change "ended"}}over{{end}}`}, ended, "/x", "/x", `{"text":"over"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, body, _ := posted(t, c.hook, c.path, c.event)
			if want := strings.NewReplacer("&lt;", `\u0026lt;`, "&gt;", `\u0026gt;`, "&amp;", `\u0026amp;`).Replace(c.body); at != c.at || body != want {
				t.Errorf("%s %s\nwant %s %s", at, body, c.at, want)
			}
		})
	}
	if _, _, token := posted(t, alert.Hook{Format: alert.FormatNtfy, Secret: []byte("tk_1")}, "/flags", event()); token != "Bearer tk_1" {
		t.Errorf("the token of ntfy is %q", token)
	}
	long := event()
	long.Message = strings.Repeat("ä", 3000)
	var slack map[string]string
	if _, body, _ := posted(t, alert.Hook{Format: alert.FormatSlack}, "/x", long); json.Unmarshal([]byte(body), &slack) != nil ||
		len([]rune(slack["text"])) != 1900 {
		t.Errorf("a text has %d characters", len([]rune(slack["text"])))
	}
}

// TestFormatRefusals: what cannot work is refused before it is needed, and no address is shown.
func TestFormatRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hook alert.Hook
		want string // "" where nothing is wrong
	}{
		"json":                 {alert.Hook{URL: "https://SECRET/x", Format: alert.FormatJSON}, ""},
		"unknown":              {alert.Hook{URL: "https://SECRET/x", Format: "teams"}, `the format "teams" is none of json, slack`},
		"json with a text":     {alert.Hook{URL: "https://SECRET/x", Text: "x"}, "json takes no text"},
		"slack signed":         {alert.Hook{URL: "https://SECRET/x", Format: alert.FormatSlack, Secret: []byte("x")}, "slack checks no signature"},
		"telegram":             {alert.Hook{URL: "https://SECRET/botT/sendMessage?chat_id=1", Format: alert.FormatTelegram}, ""},
		"telegram, no chat":    {alert.Hook{URL: "https://SECRET/botT/sendMessage", Format: alert.FormatTelegram}, "the address is not like https://api.telegram.org"},
		"telegram, no method":  {alert.Hook{URL: "https://SECRET/botT?chat_id=1", Format: alert.FormatTelegram}, "the address is not like"},
		"ntfy":                 {alert.Hook{URL: "https://SECRET/topic", Format: alert.FormatNtfy}, ""},
		"ntfy, no topic":       {alert.Hook{URL: "https://SECRET", Format: alert.FormatNtfy}, "the address names no topic"},
		"ntfy, a slash":        {alert.Hook{URL: "https://SECRET/topic/", Format: alert.FormatNtfy}, "the address names no topic"},
		"text":                 {alert.Hook{URL: "https://SECRET/x", Format: alert.FormatSlack, Text: "{{.Subject}} {{.Value.anything}}"}, ""},
		"text that is none":    {alert.Hook{URL: "https://SECRET/x", Format: alert.FormatSlack, Text: "{{.Subject"}, "the text: "},
		"text of another name": {alert.Hook{URL: "https://SECRET/x", Format: alert.FormatSlack, Text: "{{.Mesage}}"}, "the text: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := alert.NewWebhook(c.hook)
			if (err == nil) != (c.want == "") || err != nil && (!strings.HasPrefix(err.Error(), c.want) && !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), "SECRET")) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
	if got := api.List(alert.Formats()); got != "json, slack, discord, telegram, ntfy" {
		t.Errorf("formats are %s", got)
	}
}
