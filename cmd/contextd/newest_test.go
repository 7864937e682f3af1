package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/doctor"
)

// configured runs contextd with args and updates.url.
func configured(t *testing.T, address string, args ...string) (code int, out, errOut string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	text := ""
	if address != "" {
		text = fmt.Sprintf("updates: {url: %q}\n", address)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	code = start(t.Context(), append(args, "--config", file, "--data-dir", t.TempDir()),
		cli.System{In: strings.NewReader(""), Out: &stdout, Err: &stderr})
	return code, stdout.String(), stderr.String()
}

// TestVersionCheck: the address in the settings, and no other, is asked for the newest release, and what it answers is a version or an error.
func TestVersionCheck(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		status     int
		body       string
		want, fail string
	}{
		"a release at GitHub":    {200, `{"url": "x", "tag_name": "v1.3.0", "assets": []}`, "v1.3.0", ""},
		"a file":                 {200, "1.3.0\n", "v1.3.0", ""},
		"the first":              {200, "v0.0.0", "v0.0.0", ""},
		"no release yet":         {404, `{"message": "Not Found"}`, "", "it answers 404"},
		"a page":                 {200, "<html>\x1b[31mv9.0.0", "", "tells no version"},
		"a release before":       {200, `{"tag_name": "v1.3.0-rc.1"}`, "", "tells no version"},
		"another document":       {200, `[]`, "", "tells no version"},
		"more than a megabyte":   {200, "v1.3.0" + strings.Repeat(" ", newestBytes), "v1.3.0", ""},
		"a document without end": {200, `{"a": "` + strings.Repeat("x", newestBytes) + `", "tag_name": "v1.3.0"}`, "", "tells no version"},
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			if r.URL.Path != "/newest" || !strings.HasPrefix(r.UserAgent(), "contextd/") {
				t.Errorf("%s: asked %s as %s", what, r.URL, r.UserAgent())
			}
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.body)
		}))
		address := server.URL + "/newest"
		code, out, errOut := configured(t, address, "version", "--check", "-o", "json")
		var told struct {
			Version, Newest string
			Newer           bool
		}
		err := json.Unmarshal([]byte(out), &told)
		if c.fail == "" && (code != 0 || err != nil || told.Newest != c.want || told.Version == "" || told.Newer) {
			t.Errorf("%s: exit %d, %s%s", what, code, out, errOut)
		}
		if c.fail != "" && (code != 1 || !strings.Contains(errOut, c.fail) || strings.Contains(errOut, "\x1b")) {
			t.Errorf("%s: exit %d, %q", what, code, errOut)
		}
		_, out, _ = configured(t, address, "version", "--check")
		if c.fail == "" && !strings.HasSuffix(out, "\nThe newest release is "+c.want+".\n") {
			t.Errorf("%s: %s", what, out)
		}
		code, out, _ = configured(t, address, "version", "-o", "json")
		if code != 0 || strings.Contains(out, "newest") || asked != 2 {
			t.Errorf("%s: without --check, exit %d, %s; asked %d times", what, code, out, asked)
		}
		server.Close()
	}
}

// TestVersionCheckIsOff: where the operator has not switched it on nobody is asked, and addresses that others could answer for are refused.
func TestVersionCheckIsOff(t *testing.T) {
	t.Parallel()
	code, out, errOut := configured(t, "", "version", "--check")
	if code != 3 || out != "" || !strings.Contains(errOut, "updates.url is not set") || !strings.Contains(errOut, "CONTEXTD_UPDATES_URL=https://") {
		t.Errorf("exit %d, %s%s", code, out, errOut)
	}
	for _, address := range []string{"http://releases.example.org/newest", "releases.example.org", "https://a:b@releases.example.org", "file:///newest"} {
		for _, command := range [][]string{{"version", "--check"}, {"check-config"}, {"doctor", "--offline"}} {
			if code, _, errOut := configured(t, address, command...); code != 3 || !strings.Contains(errOut, "updates.url is not an address") {
				t.Errorf("%v with %s: exit %d, %s", command, address, code, errOut)
			}
		}
	}
}

// TestVersionCheckLeadsElsewhere: an address is followed three times and never to plain http or from it.
func TestVersionCheckLeadsElsewhere(t *testing.T) {
	t.Parallel()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		switch {
		case r.URL.Path == "/tls":
			http.Redirect(w, r, strings.Replace(server.URL, "http:", "https:", 1), http.StatusFound)
		case n > 0:
			http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
		default:
			fmt.Fprint(w, "v1.3.0")
		}
	}))
	t.Cleanup(server.Close)
	for path, ok := range map[string]bool{"/3": true, "/4": false, "/tls": false} {
		if got, err := newest(t.Context(), server.URL+path); (err == nil) != ok || ok && got != "v1.3.0" || !ok && !strings.Contains(err.Error(), "elsewhere") {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
}

// TestDoctorTellsOfRelease: doctor has a line on a newer release where the address is set and it may ask outside.
func TestDoctorTellsOfRelease(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "v1.3.0") }))
	for own, want := range map[string]doctor.Outcome{"v1.2.9": doctor.Warning, "v1.3.0-rc.1": doctor.Warning, "v1.3.0": doctor.OK, "dev": doctor.OK} {
		f := newestFinding(t.Context(), server.URL, own)
		if f.Check != "release" || f.Outcome != want || !strings.Contains(f.Found, "v1.3.0") || !strings.Contains(f.Found, own) || (f.Fix != "") != (want == doctor.Warning) {
			t.Errorf("%s: %+v", own, f)
		}
	}
	if _, out, _ := configured(t, server.URL, "doctor", "--offline"); strings.Contains(out, "release") {
		t.Errorf("offline: %s", out)
	}
	server.Close()
	if f := newestFinding(t.Context(), server.URL, "v1.2.9"); f.Outcome != doctor.Warning || strings.Contains(f.Found, server.URL) || f.Fix == "" {
		t.Errorf("nobody answers: %+v", f)
	}
}
