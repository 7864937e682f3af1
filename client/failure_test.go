package client_test

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// raw are words of Go and of libraries that no user is to read.
var raw = []string{"dial tcp", "strconv.", "no such file", "permission denied\n", "unknown flag", "accepts ", "invalid argument", "x509:", "EOF",
	"lookup ", "proxyconnect", "net/http"}

// TestFailures holds what is told about what goes wrong: what, why and the next step, with its exit code.
func TestFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open := filepath.Join(dir, "open.key")
	if err := os.WriteFile(open, []byte("cv_test_0\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	short := filepath.Join(dir, "pass")
	if err := os.WriteFile(short, []byte("abc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := "--base-url=http://127.0.0.1:1 --retries=0 "
	for args, test := range map[string]struct {
		env  string // NAME=VALUE, "" for none
		exit int
		says string // parts in their order, with | between
	}{
		"fresh --foo":                               {"", 3, "there is no option --foo|usage: ctx state|try: ctx state --help"},
		"fresh --timeout abc":                       {"", 3, `--timeout has "abc", which is not a time such as 30s|try: ctx state --help`},
		"fresh --timeout=-5s":                       {"", 3, `timeout: "-5s" is not a duration|from option --timeout|try: another value for --timeout`},
		"fresh a b":                                 {"", 3, `"b" is one argument too many|try: ctx state --help`},
		"cite":                                      {"", 3, "REF is missing|usage: ctx cite [PACK] REF..."},
		"witness add":                               {"", 3, "URL is missing|usage: ctx verify witness add [PACK] URL|try: ctx verify witness add --help"},
		"witness frob":                              {"", 3, `there is no command "frob" in ctx verify witness`},
		"verify --witnesses 2":                      {"", 3, "--witnesses is 2, and ctx knows the keys of 0|try: --witness KEY"},
		none + "fresh --bundle -":                   {"", 3, "--bundle takes the name of a file"},
		none + "fresh --bundle " + dir:              {"", 3, "--bundle: |is a directory|try: ctx state --help"},
		none + "fresh --bundle " + dir + "/no/x":    {"", 3, "--bundle: |no does not exist|try: check the spelling of the path"},
		none + "snapshot --at 2h --bundle -":        {"", 3, "--bundle takes the name of a file"},
		"cite abc":                                  {"", 3, `"abc" is not a citation: give a number from 1|try: ctx cite --help`},
		"search x -k -1":                            {"", 3, "-k is -1, must be 1 to 50|try: ctx ask --help"},
		"help frsh":                                 {"", 3, `there is no command or topic "frsh"|try: ctx help fresh`},
		"version --json nosuch":                     {"", 3, `no field \"nosuch\"|--json alone lists the fields`},
		"config get colour":                         {"", 3, `there is no setting "colour"; did you mean color?`},
		"fresh -p nosuch":                           {"", 3, `there is no profile "nosuch" (from option --profile)|try: ctx config profile add nosuch`},
		"fresh --config " + dir + "/none":           {"", 3, "--config: |none does not exist|try: check the spelling"},
		"fresh --api-key-file " + dir + "/none":     {"", 3, "the API key (from option --api-key-file): |none does not exist|try: check the spelling of the path"},
		"fresh --api-key-file " + open:              {"", 3, "open.key has mode 0644|others may read it|run chmod 600"},
		"fresh":                                     {"CTX_BASE_URL=127.0.0.1:8402", 3, `"127.0.0.1:8402" lacks its scheme; write http://127.0.0.1:8402|environment CTX_BASE_URL|try: another value for CTX_BASE_URL`},
		"brief":                                     {"CTX_BASE_URL=ctx.example.org", 3, "write https://ctx.example.org"},
		"brief -v":                                  {"CTX_BASE_URL=https://a:b@ctx.example.org", 3, "holds a user or a password"},
		none + "fresh":                              {"", 9, "nothing listens on 127.0.0.1:1 (connection refused)|try: ctx doctor, or contextd demo"},
		"wallet new a --password-file " + short:     {"", 3, "the passphrase has 3 characters, at least 8 are needed|try: several words"},
		"wallet new a --password-file " + dir + "/": {"", 3, "read passphrase: |is a directory|try: the name of a file"},
		"export " + os.DevNull + " --member top_movers --from 10m": {"", 3, "is not a regular file|try: leave FILE out"},
		"man " + open + "/below":                                   {"", 3, "write manual pages: |is not below a directory|try: check the path"},
		"fresh --request-id foo":                                   {"", 3, `--request-id "foo" is not a UUID|try: uuidgen`},
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("modes and devices are of Unix")
			}
			env := map[string]string{"CTX_CONFIG_DIR": t.TempDir(), "HOME": dir}
			if name, value, ok := strings.Cut(test.env, "="); ok {
				env[name] = value
			}
			code, _, out := run(t.Context(), env, strings.Fields(args)...)
			if code != test.exit {
				t.Errorf("exit %d, want %d: %s", code, test.exit, out)
			}
			rest := out
			for part := range strings.SplitSeq(test.says, "|") {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Errorf("does not say %q where it should:\n%s", part, out)
				}
				rest = after
			}
			for _, word := range raw {
				if strings.Contains(out, word) {
					t.Errorf("says %q:\n%s", word, out)
				}
			}
		})
	}
}

// TestNetworkFailures holds what ctx says of servers and proxies that do not answer as a service does.
func TestNetworkFailures(t *testing.T) {
	t.Parallel()
	proxy := func(status int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(s.Close)
		return s.URL
	}
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain, far := strings.TrimPrefix(proxy(http.StatusOK), "http://"), "ctx.example.org"
	for name, test := range map[string]struct {
		base, env string
		exit      int
		says      string // parts in their order, with | between
	}{
		"TLS asked without":       {"http://" + secure.Listener.Addr().String(), "", 3, "status 400|HTTP request to an HTTPS server|https:// in place of http://"},
		"TLS asked where none is": {"https://" + plain, "", 9, "no TLS is spoken there|try: http:// in place of https://"},
		"an unknown issuer":       {secure.URL, "", 9, "the certificate is not accepted|try: SSL_CERT_FILE=FILE"},
		"another protocol":        {"http://" + greeting(t, "SSH-2.0-x\r\n"), "", 9, "no HTTP is spoken there|try: https:// in place of http://, or another port"},
		"hangs up":                {"http://" + greeting(t, ""), "", 9, "the connection broke off|try: ctx doctor"},
		"proxy of no address":     {"https://" + far, "HTTPS_PROXY=http://ada:secret@[::1", 9, "the proxy cannot be used: HTTPS_PROXY is not the URL of a proxy|try: HTTPS_PROXY or HTTP_PROXY for another proxy, NO_PROXY for none"},
		"and without TLS":         {"http://" + far, "http_proxy=:bad:", 9, "the proxy cannot be used: HTTP_PROXY is not the URL of a proxy"},
		"which is not asked":      {"http://127.0.0.1:1", "HTTP_PROXY=:bad:", 9, "nothing listens on 127.0.0.1:1"},
		"proxy that is down":      {"https://" + far, "HTTPS_PROXY=http://127.0.0.1:1", 9, "the proxy cannot be used: nothing listens on 127.0.0.1:1|try: HTTPS_PROXY or HTTP_PROXY"},
		"proxy with a password":   {"https://" + far, "HTTPS_PROXY=" + proxy(http.StatusProxyAuthRequired), 9, "the proxy asks for a user and a password|try: HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT"},
		"proxy that refuses":      {"https://" + far, "HTTPS_PROXY=" + proxy(http.StatusNotFound), 9, "the proxy refuses the connection: Not Found|try: HTTPS_PROXY or HTTP_PROXY"},
		"proxy that answers":      {"http://" + far, "HTTP_PROXY=" + proxy(http.StatusNotFound), 7, "status 404 Not Found without the service's error envelope|check the base URL and any proxy on the way"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"CTX_CONFIG_DIR": t.TempDir(), "HOME": t.TempDir(), "CTX_BASE_URL": test.base}
			if name, value, ok := strings.Cut(test.env, "="); ok {
				env[name] = value
			}
			code, _, out := run(t.Context(), env, "fresh", "--retries=0")
			if code != test.exit || strings.Contains(out, "secret") {
				t.Errorf("exit %d, want %d: %s", code, test.exit, out)
			}
			rest := out
			for part := range strings.SplitSeq(test.says, "|") {
				_, after, found := strings.Cut(rest, part)
				if !found {
					t.Errorf("does not say %q where it should:\n%s", part, out)
				}
				rest = after
			}
		})
	}
}

// greeting listens and answers every connection with a text, at once. It returns its address.
func greeting(t *testing.T, text string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.ReadAtLeast(c, make([]byte, 512), 16) // of the request, so that the close is no reset
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}
