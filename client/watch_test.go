package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestWatchConditions: states that come one after the other, and what is told of them. The last of each has a flag that ends it.
func TestWatchConditions(t *testing.T) {
	t.Parallel()
	coin := func(fields string) string { return `{"top_movers":[` + fields + `]}` }
	at := func(price, more string) string {
		return coin(`{"group":"major","id":"bitcoin","symbol":"BTC","name":"Bitcoin","priceUsd":` + price + more + `}`)
	}
	for name, c := range map[string]struct {
		args   []string
		states []string
		want   string // messages
		told   string
	}{
		"below":            {[]string{"--price", "btc < 90,000"}, []string{at("90000", ""), at("89999", ""), at("1", "")}, "Bitcoin is at $89,999: btc < 90000", ""},
		"at most":          {[]string{"--price", "Bitcoin<=9e0"}, nil, "", "is not like"},
		"at least, by id":  {[]string{"--price", "bitcoin >= $90_000"}, []string{at("89999.9", ""), at("90000", "")}, "Bitcoin is at $90,000: bitcoin >= 90000", ""},
		"above, by name":   {[]string{"--price", "Bitcoin > 90000"}, []string{at("90000", ""), at("90001", ""), at("1", ""), at("90002", "")}, "Bitcoin is at $90,001: Bitcoin > 90000 | Bitcoin is at $90,002: Bitcoin > 90000", ""},
		"stale":            {[]string{"--price", "BTC < 2"}, []string{at("1", `,"stale":true`)}, "", "BTC < 2: the price of Bitcoin is stale"},
		"stale between":    {[]string{"--price", "BTC < 2"}, []string{at("1", ""), at("3", `,"stale":true`), at("1", "")}, "Bitcoin is at $1.00: BTC < 2", "is stale"},
		"unknown":          {[]string{"--price", "BTC < 2"}, []string{at("null", "")}, "", "the price of Bitcoin is not known now"},
		"not there":        {[]string{"--price", "ADA < 2"}, []string{at("1", "")}, "", "ADA is not among the coins of the state now"},
		"another pack":     {[]string{"--price", "BTC < 2"}, []string{`{"spot":[{"id":"b","symbol":"BTC","name":"Bitcoin","priceUsd":1,"ref":1}]}`}, "Bitcoin is at $1.00: BTC < 2", ""},
		"no prices":        {[]string{"--price", "BTC < 2"}, []string{`{"funding":[{"id":"b","symbol":"BTC","markUsd":1}],"note":"n"}`}, "", "no row of the state has a priceUsd; --when compares any field"},
		"in two groups":    {[]string{"--price", "A < 2"}, []string{coin(`{"group":"major","id":"a","symbol":"A","name":"Aa","priceUsd":1},{"group":"gainer","id":"a","symbol":"A","name":"Aa","priceUsd":1}`)}, "Aa is at $1.00: A < 2", ""},
		"two of a symbol":  {[]string{"--price", "A < 2"}, []string{coin(`{"id":"a","symbol":"A","priceUsd":1},{"id":"b","symbol":"A","priceUsd":1}`)}, "", "A is both a and b: use the id"},
		"true and false":   {[]string{"--when", ".n > 1"}, []string{`{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":1}`, `{"n":4}`}, "true | true", ""},
		"texts":            {[]string{"--when", ".n[]"}, []string{`{"n":["a"]}`, `{"n":["a","b"]}`, `{"n":["b"]}`, `{"n":["a"]}`}, "a | b | a", ""},
		"rows":             {[]string{"--when", ".n[]"}, []string{`{"n":[{"id":"a","p":1}]}`, `{"n":[{"id":"a","p":2},{"group":"g","id":"a","p":2}]}`}, "a | a", ""},
		"numbers":          {[]string{"--when", ".n"}, []string{`{"n":1}`, `{"n":2}`, `{"n":null}`, `{"n":3}`}, "1 | 3", ""},
		"fails":            {[]string{"--when", ".n | keys"}, []string{`{"n":{"a":1}}`, `{"n":1}`, `{"n":{"a":1}}`}, `["a"]`, "jq filter: keys cannot be applied to: number"},
		"without end":      {[]string{"--when", "repeat(.)"}, []string{`{}`}, "", "the filter gives more than 1000 results"},
		"hostile":          {[]string{"--when", ".n"}, []string{`{"n":"a\u001b[31mb\n\u202ec"}`}, "ab c", ""},
		"flags":            {[]string{"--flag", "k"}, []string{`{"flags":[{"id":"1","kind":"k","message":"m"},{"id":"2","kind":"l","message":"n"}]}`}, "m", ""},
		"no flags":         {[]string{"--flag", "any"}, []string{`{}`}, "", "flag: the state has no flags"},
		"ends":             {[]string{"--when", ".n", "--ended"}, []string{`{"n":"a"}`, `{}`}, "a | a", ""},
		"all that is told": {[]string{"--when", ".n", "--cooldown", "1s"}, []string{`{"n":"a"}`, `{"n":"a"}`}, "a | a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for i, s := range append(c.states, `{"flags":[{"id":"end","kind":"end","message":"end"}]}`) {
					fmt.Fprintf(w, "event: delta\ndata: {\"pack\":\"crypto\",\"ts\":%q,\"state\":%s}\n\n", fakeNow().Add(time.Duration(i)*time.Second).Format(time.RFC3339), s)
				}
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			defer srv.Close()
			dir := t.TempDir()
			env := map[string]string{"CTX_BASE_URL": srv.URL, "CTX_API_KEY": goodKey, "CTX_CONFIG_DIR": dir}
			n := 1
			if c.want != "" {
				n += 1 + strings.Count(c.want, " | ")
			}
			args := append([]string{"watch", "--flag", "end", "--count", fmt.Sprint(n), "--jq", ".message"}, c.args...)
			if c.args[0] == "--flag" { // one rule has all kinds
				args = slices.Delete(args, 1, 3)
				args = append(args, "--flag", "end")
			}
			_, stdout, stderr := run(t.Context(), env, args...)
			got, _ := strings.CutSuffix(strings.ReplaceAll(stdout, "\n", " | "), "end | ")
			if got = strings.TrimSuffix(got, " | "); got != c.want || !strings.Contains(stderr, c.told) {
				t.Errorf("told %q, want %q\n%s", got, c.want, stderr)
			}
		})
	}
}
