package api_test

import (
	"flag"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// update rewrites the golden file: go test ./sdk/api -update.
var update = flag.Bool("update", false, "rewrite the golden file")

// TestOperations: operations.golden has what callers and payments rely on: the paths, prices and parameters. A line in it changes with a
// release that says so.
func TestOperations(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, op := range api.Ops() {
		fmt.Fprintf(&b, "%s %s, %d micro-USDG\n", op, op.Path(), op.PriceMicros())
		for _, face := range []api.Face{api.FaceHTTP, api.FaceTool} {
			if face == api.FaceTool && !slices.Contains(api.Tools(), op) {
				continue
			}
			fmt.Fprintf(&b, "\t%s\n", map[api.Face]string{api.FaceHTTP: "HTTP", api.FaceTool: "MCP"}[face])
			for _, p := range op.Operation().ParamsOn(face) {
				fmt.Fprintf(&b, "\t\t%s %s, required %t, default %q, %d to %d, at least %v, as spelled %t\n",
					p.Name, p.Type(), p.Required, p.Default, p.Min, p.Max, p.Least, p.Verbatim)
			}
		}
		if found, ok := api.OpAt(op.Path()); found != op || !ok {
			t.Errorf("%s is at %s, where %s is", op, op.Path(), found)
		}
	}
	const golden = "testdata/operations.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || string(want) != b.String() {
		t.Errorf("%v; the operations are now\n%s", err, b.String())
	}
	if len(api.Op("delete").Operation().Params()) > 0 || api.Op("delete").PriceMicros() != 0 {
		t.Error("an unknown operation is declared")
	}
	for _, path := range []string{"", "/v1/", "/v1/delete", "/v1/fresh/", "v1/fresh", "fresh"} {
		if op, ok := api.OpAt(path); ok {
			t.Errorf("%s is at %q", op, path)
		}
	}
}

// examples are the values that the declaration of o gives as examples on face.
func examples(o api.Operation, face api.Face) url.Values {
	values := url.Values{}
	for _, p := range o.ParamsOn(face) {
		if p.Example != "" {
			values.Set(p.Name, p.Example)
		}
	}
	return values
}

// TestDeclarations: every declaration is whole, its examples can be read, and what they come down to is read as the same.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	shared := map[string]string{}
	for _, op := range api.Ops() {
		o := op.Operation()
		if o.Op != op || o.Answer == nil || (o.Tool.Title == "") != (o.Tool.Description == "") {
			t.Errorf("%s is declared as %+v", op, o)
		}
		for _, p := range o.ParamsOn(api.FaceHTTP) {
			if p.Doc == "" || p.Example == "" {
				t.Errorf("%s does not say what %s is", op, p.Name)
			}
			if was, known := shared[p.Component]; known && was != p.Doc && p.Component != "" {
				t.Errorf("%s of %s is another parameter than the one it shares", p.Name, op)
			}
			shared[p.Component] = p.Doc
		}
		for _, face := range []api.Face{api.FaceHTTP, api.FaceTool} {
			names := api.Names(o.ParamsOn(face))
			if slices.Sort(names); len(slices.Compact(names)) != len(o.ParamsOn(face)) || !slices.Contains(names, "pack") {
				t.Errorf("%s takes %q", op, names)
			}
			q, err := api.Parse(op, face, examples(o, face))
			if err != nil {
				t.Fatalf("%s: %v", op, err)
			}
			values, _ := url.ParseQuery(q.Canonical())
			values.Set("token", "cv_test")
			again, err := api.Parse(op, face, values)
			if err != nil || again != q || again.Canonical() != q.Canonical() {
				t.Errorf("%s: %q is read as %+v, %v; want %+v", op, q.Canonical(), again, err, q)
			}
		}
	}
	for _, op := range []api.Op{"", "delete", "Fresh"} {
		if o := op.Operation(); len(o.ParamsOn(api.FaceHTTP)) > 0 || o.PriceMicros != 0 || slices.Contains(api.Tools(), op) {
			t.Errorf("%q is declared", op)
		}
	}
}

// TestDefaults: what is left out counts as declared, adds nothing to the canonical form, and is what the hint says.
func TestDefaults(t *testing.T) {
	t.Parallel()
	for op, want := range map[api.Op]api.Query{
		api.OpFresh:     {},
		api.OpBrief:     {},
		api.OpSearch:    {Text: "bitcoin", Limit: api.SearchKDefault},
		api.OpLookup:    {Text: "ADA price,tether supply", Limit: api.DefaultLookupLimit},
		api.OpSeries:    {Path: "asset/bitcoin", Points: api.SeriesPointsDefault, Span: api.SeriesSpanDefault},
		api.OpHistory:   {Path: "top_movers", From: time.Date(2026, 11, 20, 19, 5, 0, 0, time.UTC), Every: api.HistoryEveryMin},
		api.OpSubscribe: {},
	} {
		o := op.Operation()
		required, all := url.Values{}, url.Values{}
		for _, p := range o.ParamsOn(api.FaceHTTP) {
			switch {
			case p.Required:
				required.Set(p.Name, p.Example)
				all.Set(p.Name, p.Example)
			case p.Default != "":
				all.Set(p.Name, p.Default)
				if p.Name != "pack" && !strings.Contains(p.Hint, p.Default) {
					t.Errorf("%s: the hint of %s, %q, does not name %s", op, p.Name, p.Hint, p.Default)
				}
			}
		}
		want.Op, want.Pack = op, api.DefaultPack
		required.Del("token")
		canonical := required.Encode()
		for _, values := range []url.Values{required, all} {
			values.Set("token", "cv_test")
			q, err := api.Parse(op, api.FaceHTTP, values)
			if err != nil || q != want || q.Canonical() != canonical && op != api.OpHistory { // whose from is spelled out
				t.Errorf("%s?%s is %+v, %q, %v", op, values.Encode(), q, q.Canonical(), err)
			}
		}
	}
	if q, err := api.Parse(api.OpSubscribe, api.FaceTool, nil); err != nil || q.Seconds != 55 || q.At != (api.Moment{}) {
		t.Errorf("subscribe waits %d s, %v", q.Seconds, err)
	}
}

// TestFaces: each face takes its own parameters, and no others.
func TestFaces(t *testing.T) {
	t.Parallel()
	values := url.Values{
		"at": {"2026-11-20T20:05"}, "members": {"b,a"}, "token": {"cv_test"}, "proof": {"1"}, "since": {"-20m"}, "severity": {"warning"},
		"full": {"true"}, "seconds": {"5"}, "min": {"2"},
	}
	at := api.Minute(time.Date(2026, 11, 20, 20, 5, 0, 0, time.UTC))
	for _, c := range []struct {
		op        api.Op
		face      api.Face
		want      api.Query
		canonical string
	}{
		{api.OpSnapshot, api.FaceHTTP, api.Query{At: at}, "at=2026-11-20T20%3A05"},
		{api.OpSnapshot, api.FaceTool, api.Query{At: at, Members: "a,b"}, "at=2026-11-20T20%3A05&members=a%2Cb"},
		{api.OpSubscribe, api.FaceHTTP, api.Query{Members: "a,b", Proof: true}, "members=a%2Cb&proof=true"},
		{api.OpSubscribe, api.FaceTool, api.Query{At: api.Moment{Ago: 20 * time.Minute}, Severity: api.SeverityWarning, Full: true, Seconds: 5, Min: 2},
			"full=true&min=2&seconds=5&severity=warning&since=-20m0s"},
	} {
		c.want.Op, c.want.Pack = c.op, api.DefaultPack
		if q, err := api.Parse(c.op, c.face, values); err != nil || q != c.want || q.Canonical() != c.canonical {
			t.Errorf("%s on face %d is %+v, %q, %v", c.op, c.face, q, q.Canonical(), err)
		}
	}
	if _, err := api.Parse(api.OpSubscribe, api.FaceHTTP, nil); api.AsError(err).Reason != api.ReasonMissingToken {
		t.Errorf("subscribe without a token: %v", err)
	}
}

// TestCanonicalByClock: a moment that goes by the clock is in the canonical form as it was asked for, so that a payment made a while later
// is still for the same.
func TestCanonicalByClock(t *testing.T) {
	t.Parallel()
	then := api.Query{Op: api.OpCite, Pack: "ai", Ref: 3, At: api.Minute(time.Unix(1e9, 0))}
	then.At.Asked = "14:05"
	now := then
	now.At = api.Minute(time.Unix(2e9, 0))
	now.At.Asked = "14:05"
	if then.Canonical() != "at=14%3A05&pack=ai&ref=3" || now.Canonical() != then.Canonical() {
		t.Errorf("%q, later %q", then.Canonical(), now.Canonical())
	}
	if now.At.Asked = ""; now.Canonical() == then.Canonical() {
		t.Error("a payment for 14:05 buys a minute")
	}
}

// TestQueryFields: every field of a Query is filled by a parameter, so that it is in the canonical form.
func TestQueryFields(t *testing.T) {
	t.Parallel()
	filled := map[string]bool{"Op": true}
	for _, op := range api.Ops() {
		for _, face := range []api.Face{api.FaceHTTP, api.FaceTool} {
			values := examples(op.Operation(), face)
			values.Set("severity", "warning")
			values.Set("full", "true")
			q, err := api.Parse(op, face, values)
			if err != nil {
				t.Fatalf("%s: %v", op, err)
			}
			for i, v := 0, reflect.ValueOf(q); i < v.NumField(); i++ {
				if !v.Field(i).IsZero() {
					filled[v.Type().Field(i).Name] = true
				}
			}
		}
	}
	for i, of := 0, reflect.TypeFor[api.Query](); i < of.NumField(); i++ {
		if name := of.Field(i).Name; of.Field(i).IsExported() && !filled[name] {
			t.Errorf("no parameter fills %s", name)
		}
	}
}

// TestParseAgo reads spans before now, and nothing else.
func TestParseAgo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"20m": 20 * time.Minute, "-20m": 20 * time.Minute, "1d 6h ago": 30 * time.Hour, "now-2w": 14 * 24 * time.Hour, " 5S AGO ": 5 * time.Second,
		"0m": 0, "-20m0s": 20 * time.Minute, "now5m": 5 * time.Minute,
	} {
		if got, ok := api.ParseAgo(text); !ok || got != want {
			t.Errorf("%q is %v, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "ago", "now", "-", "14:05", "5", "m5", "1.5h", "-5m later", "1 d", "200y", "999999w", "99999999999999999999s"} {
		if got, ok := api.ParseAgo(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
