package client_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// TestNotice: people at a terminal are told of a newer service, once a day, and nobody else is.
func TestNotice(t *testing.T) {
	t.Parallel()
	const want = "notice: this service runs v1.3.0, newer than ctx v1.2.0: update ctx to use what is new"
	dir, start := t.TempDir(), time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		what, own, service string
		after              time.Duration
		env, flag          string
		piped, told        bool
	}{
		{what: "the same", own: "v1.3.0", service: "v1.3.0"},
		{what: "an older one", own: "v1.3.1", service: "v1.3.0"},
		{what: "one that says nothing", own: "v1.2.0"},
		{what: "a build of one's own", own: "dev", service: "v1.3.0"},
		{what: "no terminal", own: "v1.2.0", service: "v1.3.0", piped: true},
		{what: "--quiet", own: "v1.2.0", service: "v1.3.0", flag: "--quiet"},
		{what: "CI", own: "v1.2.0", service: "v1.3.0", env: "CI"},
		{what: "a newer one", own: "v1.2.0", service: "v1.3.0", told: true},
		{what: "again, a second before a day is over", own: "v1.2.0", service: "v1.3.0", after: 24*time.Hour - time.Second},
		{what: "again, a day later", own: "v1.2.0", service: "v1.3.0", after: 24 * time.Hour, told: true},
	} {
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(api.HeaderVersion, step.service)
		}))
		var told bytes.Buffer
		f := client.New(cli.System{In: strings.NewReader(""), Out: io.Discard, Err: &told, OutTTY: true, ErrTTY: !step.piped,
			Now: func() time.Time { return start.Add(step.after) },
			LookupEnv: func(name string) (string, bool) {
				return map[string]string{"CTX_CONFIG_DIR": dir, "NO_COLOR": "1", step.env: "1"}[name], name == "CTX_CONFIG_DIR" || name == step.env
			}})
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		f.Flags.Bind(set)
		if err := set.Parse(strings.Fields(step.flag)); err != nil {
			t.Fatal(err)
		}
		f.SetVersion(step.own)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, service.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := f.HTTP().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		f.Close()
		service.Close()
		if got := strings.Contains(told.String(), want); got != step.told || !got && told.Len() > 0 {
			t.Errorf("%s: told %q", step.what, told.String())
		}
	}
}
