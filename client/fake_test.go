package client_test

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/sdk/api"
)

// Keys of the fake service, by what it thinks of them.
const (
	goodKey    = "cv_test_ab12cd34SECRETSECRETSECRETSECRET"
	revokedKey = "cv_test_deadbeefSECRETSECRETSECRETSECRET"
	emptyKey   = "cv_test_00000000SECRETSECRETSECRETSECRET"
	spentKey   = "cv_test_99999999SECRETSECRETSECRETSECRET"

	oldKey  = "cv_test_01d01d01SECRETSECRETSECRETSECRET" // gets an old state
	wildKey = "cv_test_3v11e3v1SECRETSECRETSECRETSECRET" // gets a hostile one
)

// fakeNow is the time at which everything in these tests happens.
func fakeNow() time.Time { return time.Date(2026, 11, 20, 20, 6, 0, 0, time.UTC) }

//go:embed testdata/crypto_state.json
var cryptoState []byte

//go:embed testdata/perps_state.json
var perpsState string // of a pack that no code knows

//go:embed testdata/packs.json
var packsAnswer string

// fake is a service with the wire format of the specification and answers that never change.
type fake struct {
	*httptest.Server

	mu       sync.Mutex // guards requests
	requests []string
}

// newFake starts a fake service.
func newFake() *fake {
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	return f
}

// serve answers every request.
func (f *fake) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.requests = append(f.requests, strings.TrimSpace(r.Method+" "+r.RequestURI+" "+string(body)))
	f.mu.Unlock()
	id := r.Header.Get(api.HeaderRequestID)
	if id == "" {
		id = "6f1c0000-0000-4000-8000-000000000000"
	}
	w.Header().Set(api.HeaderRequestID, id)
	w.Header().Set("Date", fakeNow().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set(api.HeaderDataMode, api.DataModeDemo)
	if r.URL.Query().Get("pack") == "html" {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		io.WriteString(w, "<html>\x1b[31mBad Gateway</html>")
		return
	}
	answer, err := f.answer(r, body)
	if err != nil {
		err.RequestID = id
		if err.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(err.RetryAfter.Seconds())))
		}
		w.WriteHeader(err.Status)
		json.NewEncoder(w).Encode(api.ErrorBody{Error: err, Payment: err.Payment})
		return
	}
	io.WriteString(w, answer)
}

// answer makes the checks in the order of the decisions, and the answer.
func (f *fake) answer(r *http.Request, body []byte) (string, *api.Error) {
	q := r.URL.Query()
	switch {
	case r.URL.Path == api.PathReady:
		return `{"status":"ready"}`, nil
	case r.URL.Path == api.PathPacks:
		return packsAnswer, nil
	case r.URL.Path == "/echo":
		return string(body), nil
	case r.URL.Path == "/empty":
		return "", nil
	case r.URL.Path == "/hostile":
		return "{\"a\":\"x\u009b31m\\u001b[31m\u202e\"}", nil
	case !strings.HasPrefix(r.URL.Path, "/v1/"):
		return "", api.Errorf(api.ReasonNotFound, "there is nothing at %s", r.URL.Path)
	}
	if err := f.refuse(strings.TrimSuffix(q.Get("pack"), api.PackAll), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")); err != nil {
		return "", err
	}
	ref, _ := strconv.Atoi(q.Get("ref"))
	switch r.URL.Path {
	case api.PathFresh:
		return stateJSON(q.Get("pack"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "BTC fell [1].", 42), nil
	case api.PathSnapshot:
		if q.Get("at") < "2026-11-19" {
			return "", api.Errorf(api.ReasonSnapshotNotFound, "no state of %s at %s within reach of tier free", q.Get("pack"), q.Get("at"))
		}
		return stateJSON(q.Get("pack"), "", "", 17), nil
	case api.PathBrief:
		return fmt.Sprintf(`{"brief":%s,"briefAt":"2026-11-20T18:00:00.000Z","citations":%s,"freshness":%s}`, briefText(), citations(), fresh(42)), nil
	case api.PathLookup:
		if page, ok := map[string]string{"gone": "", "bad": "javascript:alert(1)", "file": "file:///etc/passwd",
			"app": "zoommtg://one.test/join", "user": "https://a:b@one.test/", "space": "https://one.test/ x"}[q.Get("q")]; ok {
			return fmt.Sprintf(`{"results":[{"q":"x","rows":[{"kind":"asset","key":"x","name":"X","fields":{},"url":%q}]}],"citations":[],"freshness":%s}`,
				page, fresh(42)), nil
		}
		if q.Get("q") == "compare" {
			return fmt.Sprintf(`{"results":[{"q":"btc","rows":[{"kind":"asset","key":"bitcoin","name":"Bitcoin","symbol":"BTC","fields":{"priceUsd":91972.3,`+
				`"change24hPct":0.62,"marketCapUsd":1840000000000,"rank":1},"asked":["change24hPct"],"ref":1,%[1]s]},{"q":"ada","rows":[{"kind":"asset",`+
				`"key":"cardano","name":"Cardano","symbol":"ADA","fields":{"priceUsd":0.4219,"change24hPct":-14.81},"asked":["change24hPct"],"ref":1,%[1]s]},`+
				`{"q":"usdt","rows":[{"kind":"stablecoin","key":"tether","name":"Tether","symbol":"USDT","fields":{"supplyUsd":190760000000,`+
				`"listedAt":"2026-11-19T12:00:00Z"},"asked":["supplyUsd"],"ref":7,%[1]s]},{"q":"qq","rows":[],"near":["QNT"]}],"citations":[],"freshness":%[2]s}`,
				`"fetchedAt":"2026-11-20T20:05:43.340Z","ageSeconds":17,"stale":false}`, fresh(42)), nil
		}
		over := ""
		if q.Get("q") == "ada since noon" {
			over = `"over":{"priceUsd":{"from":0.42,"change":-0.0018,"changePct":-0.43}},`
		}
		if q.Get("q") == "average price of weather" {
			return fmt.Sprintf(`{"results":[{"q":"average price","rows":[],"aggregates":{"avg:priceUsd":{"value":12.5,"rows":2}}},`+
				`{"q":"of weather","rows":[],"missing":[{"word":"weather","why":"unknown_word"}]}],"citations":[],"freshness":%s}`, fresh(42)), nil
		}
		return fmt.Sprintf(`{"results":[{"q":%q,"rows":[{"kind":"asset","key":"cardano","entity":"cardano","name":"Cardano","symbol":"ADA",`+
			`"fields":{"priceUsd":0.4182},"asked":["priceUsd"],`+over+`"ref":1,"url":"https://one.test/","fetchedAt":"2026-11-20T20:05:43.340Z",`+
			`"ageSeconds":17,"stale":false}]}],"citations":[],"freshness":%s}`, q.Get("q"), fresh(42)), nil
	case api.OpQuery.Path():
		return queryJSON(q), nil
	case api.PathSeries:
		return seriesOf(q.Get("path"), q.Get("field")), nil
	case api.PathSearch:
		return search(q.Get("q")), nil
	case api.PathChanges:
		return changesJSON(), nil
	case api.PathCite:
		if ref > 17 {
			return "", api.Errorf(api.ReasonCitationNotFound, "pack crypto has sources 1 to 17, not %d", ref)
		}
		return fmt.Sprintf(`{"citation":{"ref":%d,"sourceId":"source-%[1]d","url":"https://example.com/%[1]d","fetchedAt":"2026-11-20T20:05:02Z","excerpt":"BTC $91,443"},`+
			`"source":{"id":"source-%[1]d","name":"Source [%[1]d]","publicUrl":"https://example.com/%[1]d"},"freshness":%s}`, ref, fresh(42)), nil
	}
	return exampleAt(r.URL.Path)
}

// exampleAt is the first example that the description of the API has of the answer at path: what an operation answers that has no case here.
func exampleAt(path string) (string, *api.Error) {
	text, err := os.ReadFile(filepath.Join("..", "daemon", "web", "openapi.yaml"))
	var doc struct {
		Paths map[string]struct {
			Get struct {
				Responses map[string]struct {
					Content map[string]struct{ Examples yaml.Node }
				}
			}
		}
		Components struct {
			Examples map[string]struct{ Value any }
		}
	}
	if err = errors.Join(err, yaml.Unmarshal(text, &doc)); err != nil {
		return "", api.Errorf(api.ReasonInternal, "%v", err)
	}
	examples := doc.Paths[path].Get.Responses["200"].Content["application/json"].Examples
	if len(examples.Content) == 0 {
		return "", api.Errorf(api.ReasonNotFound, "there is nothing at %s", path)
	}
	var first struct {
		Ref string `yaml:"$ref"`
	}
	err = examples.Content[1].Decode(&first)
	body, failed := json.Marshal(doc.Components.Examples[strings.TrimPrefix(first.Ref, "#/components/examples/")].Value)
	if err = errors.Join(err, failed); err != nil {
		return "", api.Errorf(api.ReasonInternal, "%v", err)
	}
	return string(body), nil
}

// TestFakeAnswers: every operation with one answer is answered as it is declared, whether it has a case here or its example is taken.
func TestFakeAnswers(t *testing.T) {
	t.Parallel()
	f := newFake()
	t.Cleanup(f.Close)
	for _, op := range api.Ops() {
		o := op.Operation()
		if o.Op == api.OpSubscribe || o.Op == api.OpHistory { // streams
			continue
		}
		example, failed := exampleAt(o.Op.Path())
		if failed != nil || json.Unmarshal([]byte(example), reflect.New(o.Answer).Interface()) != nil {
			t.Errorf("the example of %s is %s, %v", o.Op, example, failed)
		}
		given := url.Values{}
		for _, p := range o.ParamsOn(api.FaceHTTP) {
			if p.Required {
				given.Set(p.Name, p.Example)
			}
		}
		r := httptest.NewRequest(http.MethodGet, o.Op.Path()+"?"+given.Encode(), nil)
		r.Header.Set("Authorization", "Bearer "+goodKey)
		if body, err := f.answer(r, nil); err != nil || json.Unmarshal([]byte(body), reflect.New(o.Answer).Interface()) != nil {
			t.Errorf("%s is answered with %s, %v", o.Op, body, err)
		}
	}
}

// queryJSON is an answer of query: the tables, nothing, rows of the past, or rows with all that there can be beside them.
func queryJSON(q url.Values) string {
	switch {
	case q.Get("describe") == "true":
		return `{"packs":[{"pack":"crypto","tables":[{"table":"asset","rows":2,"order":"-rank","fields":[` +
			`{"name":"priceUsd","type":"number","unit":"USD","past":true},{"name":"rank","type":"number","past":false}]}]}],"spans":{"least":"1h","window":"24h"}}`
	case q.Get("table") == "flags":
		return fmt.Sprintf(`{"query":{"text":"flags","pack":"crypto","table":"flags","where":[],"limit":10},"rows":[],"total":0,`+
			`"missing":[{"what":"flags","why":"nothing_found","instead":["perps"]}],"citations":[],"freshness":%s}`, fresh(42))
	}
	at := ""
	if q.Has("at") {
		at = `"at":"2026-11-20T18:00Z",`
	}
	return fmt.Sprintf(`{"query":{"text":"assets where rank < 11","pack":"crypto","table":"asset","where":[{"field":"rank","op":"<","value":"11"}],"order":"-rank",`+
		`"limit":10,%s"agg":["count","max:priceUsd","avg:note"]},"rows":[{"kind":"asset","key":"cardano","entity":"cardano","name":"Cardano","symbol":"ADA",`+
		`"fields":{"priceUsd":0.4182,"rank":10},"over":{"priceUsd":{"from":0.42,"change":-0.0018,"changePct":-0.43}},"ref":1,"url":"https://one.test/",`+
		`"fetchedAt":"2026-11-20T20:05:43.340Z","ageSeconds":17,"stale":false},{"kind":"asset","key":"x","entity":"x","name":"\u001b[31mX","fields":{},"ref":2,`+
		`"url":"https://two.test/","fetchedAt":"2026-11-20T19:05:43.340Z","ageSeconds":3617,"stale":true}],"total":7,"aggregates":{"count":{"value":7,"rows":7},`+
		`"max:priceUsd":{"value":91000.5,"rows":1,"row":"asset/bitcoin","at":"2026-11-20T09:00:02Z","states":288},"avg:note":{"value":null,"rows":0}},`+
		`"missing":[{"what":"asset/foo","why":"not_kept"},{"what":"asset","why":"not_kept"}],"citations":[],"freshness":%s}`, at, fresh(42))
}

// changesJSON is an answer of changes.
func changesJSON() string {
	return `{"since":"2026-11-20T19:45:00Z","from":"2026-11-20T19:40:43Z","to":"2026-11-20T20:05:43Z","flags":[` +
		`{"id":"x","kind":"exploit_reported","severity":"critical","was":"warning","change":"rose","message":"X: $44.5M loss\u001b[31m reported","ref":8,` +
		`"since":"2026-11-20T19:00:00Z","eventAt":"2026-11-19T00:00:00Z"}],"rows":[{"kind":"asset","key":"zcash","entity":"zcash","name":"Zcash","symbol":"ZEC",` +
		`"field":"priceUsd","from":418.6,"to":429.484,"changePct":2.6,"ref":1,"url":"https://example.com/zcash","stale":true},` +
		`{"kind":"prediction","key":"p","entity":"p","name":"Will it?","field":"probabilityPct","from":28.8,"to":31,"ref":2,"url":"","stale":false}],` +
		`"headlines":[{"key":"k","title":"News\u202e of the day","url":"https://example.com/k","ref":3,"at":"2026-11-20T19:58:00Z"}],` +
		`"sources":[{"id":"s1","ref":1,"from":"ok","to":"stale"},{"id":"s2","ref":2,"from":"failed","to":"ok"}],"clear":false,` +
		`"sourcesAnswered":16,"sourcesAsked":17,"citations":` + citations() + `,"freshness":` + fresh(42) + `}`
}

// refuse is why a call of pack with key gets no answer, nil if it gets one.
func (f *fake) refuse(pack, key string) *api.Error {
	switch pack {
	case "", "crypto", "ai", "markets", "perps":
	case "late":
		return api.Errorf(api.ReasonStateUnavailable, "no state of pack late yet").WithRetryAfter(5 * time.Second)
	case "buggy":
		return api.Errorf(api.ReasonInternal, "the server failed to answer").WithHint("tell the operator the request id")
	default:
		return api.Errorf(api.ReasonPackNotFound, "there is no pack %q", pack).WithHint("packs: crypto")
	}
	switch key {
	case goodKey, oldKey, wildKey:
	case "":
		e := api.Errorf(api.ReasonPaymentRequired, "a key or a payment is needed")
		e.Payment = &api.PaymentRequirements{Scheme: api.SchemeX402, Amount: "0.001", Asset: api.AssetUSDG}
		return e
	case revokedKey:
		return api.Errorf(api.ReasonKeyRevoked, "key cv_test_deadbeef was revoked")
	case spentKey:
		return api.Errorf(api.ReasonQuotaExhausted, "100 calls a day are used up").WithRetryAfter(3*time.Hour + 5*time.Minute)
	case emptyKey:
		return api.Errorf(api.ReasonInsufficient, "no credits left").WithHint("buy credits")
	default:
		return api.Errorf(api.ReasonInvalidToken, "the key is not known")
	}
	if pack == "ai" {
		return api.Errorf(api.ReasonPackAccessDenied, `key cv_test_ab12… has no credits, pack "ai" needs them`).WithHint("buy credits")
	}
	return nil
}

// fresh is the freshness of a state of that age.
func fresh(age int64) string {
	return fmt.Sprintf(`{"generatedAt":%q,"ageSeconds":%d}`, fakeNow().Add(-time.Duration(age)*time.Second).Format(time.RFC3339), age)
}

// stateJSON is an answer of fresh or snapshot: of crypto, or of a pack of another form.
func stateJSON(pack, key, brief string, age int64) string {
	state := string(cryptoState)
	switch {
	case pack == "markets":
		state = `{"fx":[{"pair":"EUR/USD","rate":1.0712345678901234567},{"pair":"USD/JPY","rate":null}],"note":"a: \u001b[31mb","open":true,"none":[]}`
	case pack == "perps":
		state = perpsState
	case key == wildKey:
		state = strings.ReplaceAll(state, "Bitcoin", "Bit\u202e\\u001b]0;owned\\u0007coin")
	case key == oldKey:
		age = 432
	}
	return fmt.Sprintf(`{"state":%s,"brief":%q,"citations":%s,"freshness":%s}`, state, brief, citations(), fresh(age))
}

// citations are the sources of the brief and one that it does not cite.
func citations() string {
	return `[{"ref":1,"sourceId":"coingecko-markets","url":"https://www.coingecko.com/","fetchedAt":"2026-11-20T20:05:02Z"},` +
		`{"ref":2,"sourceId":"coingecko-trending","url":"https://www.coingecko.com/en/highlights/trending-crypto","fetchedAt":"2026-11-20T19:35:02Z"},` +
		`{"ref":10,"sourceId":"alternativeme-fng","url":"https://alternative.me/crypto/fear-and-greed-index/","fetchedAt":"2026-11-19T16:06:00Z","excerpt":"24"}]`
}

// briefText is a brief with a hostile escape sequence, as JSON.
func briefText() string {
	return `"Bitcoin trades at $91,443, down 1.62% in 24 hours [1], while \u001b[31mEthereum\u001b[0m lost 2.85% [1]. ` +
		`The Fear & Greed Index stands at 24, extreme fear [10].\n\nNothing else [99] of note."`
}

// search is an answer of search with a match of each score.
func search(q string) string {
	switch q {
	case "nothing":
		return `{"matches":[],"total":0,"freshness":` + fresh(42) + `}`
	case "tab":
		return `{"matches":[{"path":"a[0].b","value":"x\ty\nz","score":1}],"total":1,"freshness":` + fresh(42) + `}`
	}
	return `{"matches":[{"path":"top_movers[0].id","value":"bitcoin","score":1},{"path":"top_movers[0].priceUsd","value":91442.90,"score":1},` +
		`{"path":"trending_pools[3].pair","value":"WBITCOIN / <USDC>","score":0.5}],"total":5,"freshness":` + fresh(42) + `}`
}

// seriesOf is a series of four values, of two rows for a member.
func seriesOf(path, field string) string {
	kind, key, single := strings.Cut(path, "/")
	if field == "" {
		field = "priceUsd"
	}
	row := func(kind, key, name, values string) string {
		return fmt.Sprintf(`{"kind":%q,"key":%q,"name":%q,"field":%q,"values":%s}`, kind, key, name, field, values)
	}
	rows := row(kind, key, "Bit\u202ecoin", "[null,90000,91000.5,92250]")
	if !single {
		rows = row("asset", "bitcoin", "Bitcoin", "[null,90000,91000.5,92250]") + "," + row("asset", "gone", "gone", "[null,null,null,null]")
	}
	return fmt.Sprintf(`{"path":%q,"span":"24h","times":["2026-11-19T20:06:00Z","2026-11-20T04:06:00Z","2026-11-20T12:06:00Z","2026-11-20T20:06:00Z"],"rows":[%s],"freshness":%s}`,
		path, rows, fresh(42))
}
