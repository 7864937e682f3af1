package examine_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/contextd/contextd/cmd/contextd/examine"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/doctor"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// loads is a source whose answer is a list of rows with a key and a load.
func loads(id string) pack.Source {
	d := source.Declared{
		ID: id, URL: "https://" + id + ".example/v1", Fields: []string{"load", "label"}, Timeout: 20 * time.Second,
		Decode: func(_ context.Context, a source.Answer, _ *source.RowsDoc) (*source.RowsDoc, int, error) {
			v, err := source.Decode(source.FormatJSON, source.CSV{}, a.Body)
			if err != nil {
				return nil, 0, err
			}
			doc := new(source.RowsDoc)
			list, _ := v.([]any)
			if list == nil {
				return nil, 0, source.Refuse(source.ClassBadContent, "the answer is not as expected")
			}
			for _, one := range list {
				row, _ := one.(map[string]any)
				key, _ := row["key"].(string)
				made := source.DeclaredRow{Key: key}
				if load := source.ParseNumber(row["load"]); load != nil {
					made.Values = append(made.Values, source.Value{Name: "load", Number: load})
				}
				doc.Rows = append(doc.Rows, made)
			}
			return doc, 0, nil
		},
	}
	return pack.Source{Connector: d.Connector(), Name: id, PublicURL: "https://" + id + ".example/"}
}

// TestLive: each class of trouble is told as what it is, and what is kept holds no secret.
func TestLive(t *testing.T) {
	t.Parallel()
	const rows = `[{"key":"a","load":1},{"key":"b","load":"2"}]`
	trouble := map[string]struct {
		status int
		header map[string]string
		body   string
		took   time.Duration
		class  source.Class
		rows   int
		said   string // somewhere in what is told
	}{
		"good":    {200, map[string]string{"X-RateLimit-Remaining": "17"}, rows, 0, source.ClassOK, 2, "X-Ratelimit-Remaining: 17"},
		"bom":     {200, nil, "\uFEFF" + rows, 0, source.ClassOK, 2, `"known":2`},
		"page":    {403, nil, "<html>Undeclared Automated Tool</html>", 0, source.ClassForbidden, 0, "HTTP 403"},
		"limited": {429, map[string]string{"Retry-After": "90"}, "Throttled", 0, source.ClassRateLimited, 0, "retry after 90s"},
		"late":    {200, nil, rows, 19 * time.Second, source.ClassOK, 2, `"seconds":19`},
		"later":   {200, nil, rows, 21 * time.Second, source.ClassNetwork, 0, "no answer in time"},
		"sunset": {200, map[string]string{"Deprecation": "true", "Sunset": "Fri, 01 May 2026 00:00:00 GMT"}, rows, 0, source.ClassOK, 2,
			"deprecated; ends on 2026-05-01"},
		"moved": {301, map[string]string{"Location": "https://elsewhere.example/v2"}, "", 0, source.ClassOK, 2, `"status":[301,200]`},
		"shape": {200, nil, `[{"key":"a","load":{"now":1}}]`, 0, source.ClassOK, 1, `{"field":"load","known":0,"rows":1}`},
		"other": {200, nil, `{"items":[]}`, 0, source.ClassBadContent, 0, "not as expected"},
		"html":  {200, nil, "<!doctype html><title>Checking your browser", 0, source.ClassBadContent, 0, "HTML where JSON was expected"},
		"empty": {200, nil, "[]", 0, source.ClassEmpty, 0, "no rows"},
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		answer := func(r *http.Request, status int, header map[string]string, body string) *http.Response {
			resp := &http.Response{StatusCode: status, Header: http.Header{"Set-Cookie": {"session=secret"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}
			for name, value := range header {
				resp.Header.Set(name, value)
			}
			return resp
		}
		cfg := examine.Config{Contact: "ops@example.org", Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			name, _, _ := strings.Cut(r.URL.Host, ".")
			said, known := trouble[name]
			if !known {
				return answer(r, 200, map[string]string{"X-Asked-By": "ops@example.org"}, rows), nil
			}
			select {
			case <-time.After(said.took):
				return answer(r, said.status, said.header, said.body), nil
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		})}
		p := &pack.Pack{ID: "test"}
		for name := range trouble {
			p.Sources = append(p.Sources, loads(name))
		}
		other := &pack.Pack{ID: "other", Sources: []pack.Source{loads("never")}}
		cfg.Packs = []*pack.Pack{p, other}
		told := map[string]examine.Asked{}
		if err := examine.Live(t.Context(), cfg, "test", dir, func(a examine.Asked) { told[a.Source] = a }); err != nil {
			t.Fatal(err)
		}
		for name, want := range trouble {
			got := told[name]
			text, _ := json.Marshal(got)
			if got.Class != want.class || got.Rows != want.rows || !strings.Contains(string(text), want.said) {
				t.Errorf("%s: %s, want %s with %d rows and %q", name, text, want.class, want.rows, want.said)
			}
		}
		if len(told) != len(trouble) {
			t.Errorf("%d sources were asked, of another pack too", len(told))
		}
		if missing := told["shape"].Missing(); strings.Join(missing, " ") != "load label" {
			t.Errorf("missing %v", missing)
		}
	})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < len(trouble) {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || strings.Contains(string(text), "ops@example.org") || strings.Contains(string(text), "session=") {
			t.Errorf("%s: %v, %s", f.Name(), err, text)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "page.1")); err != nil || !strings.Contains(string(text), "Undeclared") {
		t.Errorf("the page of the refusal: %s, %v", text, err)
	}
}

// TestLiveSaysWhyNot: what is not asked is told with its reason.
func TestLiveSaysWhyNot(t *testing.T) {
	t.Parallel()
	asked := 0
	cfg := examine.Config{
		Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			return nil, context.Canceled
		}),
		Disabled: []string{"off"},
	}
	sec := pack.Source{Connector: source.Declared{ID: "sec", URL: "https://www.sec.gov/x"}.Connector()}
	cfg.Packs = []*pack.Pack{{ID: "test", Sources: []pack.Source{sec, loads("off")}}}
	var said []string
	if err := examine.Live(t.Context(), cfg, "", "", func(a examine.Asked) { said = append(said, a.Source+": "+a.Error) }); err != nil {
		t.Fatal(err)
	}
	want := "sec: not asked: www.sec.gov wants an e-mail address, see sources.contact|off: disabled"
	if got := strings.Join(said, "|"); got != want || asked != 0 {
		t.Errorf("%q, asked %d times; want %q", got, asked, want)
	}
}

// TestDoctorTellsTheEnd: what a source announces of its end is a finding.
func TestDoctorTellsTheEnd(t *testing.T) {
	t.Parallel()
	cfg := examine.Config{DataDir: t.TempDir(), Packs: []*pack.Pack{{ID: "test", Sources: []pack.Source{loads("sunset")}}}}
	cfg.Transport = roundTrip(func(r *http.Request) (*http.Response, error) {
		resp := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`[{"key":"a","load":1}]`)), Request: r}
		resp.Header.Set("Sunset", "Fri, 01 May 2026 00:00:00 GMT")
		return resp, nil
	})
	found := map[string]doctor.Finding{}
	examine.All(t.Context(), cfg, func(f doctor.Finding) { found[f.Check] = f })
	if f := found["source sunset"]; f.Outcome != doctor.Warning || f.Found != "announces an end: ends on 2026-05-01" {
		t.Errorf("%+v", f)
	}
}
