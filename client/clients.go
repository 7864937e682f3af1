package client

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// service makes clients of services.
type clients struct {
	io       *streams
	settings *settings
	key      func() (sdk.Key, string, error)
	payer    func() sdk.Payer // of calls, nil where the key is sent
	check    sdk.Option       // of what answers are proven by

	release   release
	transport *http.Transport
	client    *sdk.Client // of the configured service, nil until asked for
}

// newService makes the service of a run.
func newClients(streams *streams, set *settings, account *account, payments *payments) *clients {
	s := &clients{io: streams, settings: set, key: account.key, payer: payments.caller}
	s.release = release{io: streams, settings: set, own: build.Read().Version}
	s.transport, _ = http.DefaultTransport.(*http.Transport)
	if s.transport == nil { // a program around this one has put another in its place
		s.transport = &http.Transport{}
	}
	s.transport = s.transport.Clone()
	s.transport.Proxy = proxies(streams.Env)
	return s
}

// Client is the client of the configured service.
func (s *clients) Client() (*sdk.Client, error) {
	if s.client != nil {
		return s.client, nil
	}
	c, err := s.settings.Config()
	if err != nil {
		return nil, err
	}
	var key sdk.Key
	payer := s.payer()
	if payer == nil {
		var origin string
		if key, origin, err = s.key(); err != nil {
			return nil, err
		}
		if !key.IsZero() && !key.Valid() {
			return nil, cli.Invalid("%s does not hold a key, cv_live_… or cv_test_…", origin).
				WithHint("copy it again, whole; ctx config list --show-origin shows where it is from")
		}
	}
	s.client, err = s.at(c, c.Get(config.BaseURL).Text, key, payer, s.check)
	return s.client, err
}

// open is a client of the configured service that sends no key, pays nothing and checks no proof.
func (s *clients) open() (*sdk.Client, error) {
	c, err := s.settings.Config()
	if err != nil {
		return nil, err
	}
	return s.at(c, c.Get(config.BaseURL).Text, sdk.Key{}, nil)
}

// PayingClient is a client of the service at an address, which need not be the configured one: it sends no key, and p pays.
func (s *clients) PayingClient(address string, p sdk.Payer) (*sdk.Client, error) {
	c, err := s.settings.Config()
	if err != nil {
		return nil, err
	}
	return s.at(c, address, sdk.Key{}, p)
}

// KeyedClient is a client of the configured service with a key that is kept nowhere.
func (s *clients) KeyedClient(key sdk.Key) (*sdk.Client, error) {
	c, err := s.settings.Config()
	if err != nil {
		return nil, err
	}
	return s.at(c, c.Get(config.BaseURL).Text, key, nil)
}

// at makes a client with what is configured for all of them.
func (s *clients) at(c *config.Config, address string, key sdk.Key, p sdk.Payer, more ...sdk.Option) (*sdk.Client, error) {
	if !key.IsZero() {
		s.io.warnPlain("the API key", address)
	}
	opts := []sdk.Option{sdk.WithoutEnv(), sdk.WithBaseURL(address), sdk.WithAPIKey(key), sdk.WithPayer(p),
		sdk.WithTimeout(c.Timeout()), sdk.WithRetries(c.Retries()), sdk.WithUserAgent(userAgent()),
		sdk.WithHTTPClient(&http.Client{Transport: s.HTTP()})}
	client, err := sdk.New(append(opts, more...)...)
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return client, nil
}

// userAgent is how ctx names itself to services.
func userAgent() string { return "ctx/" + build.Read().Version }

// HTTP is what requests are sent with. With --debug it tells each on stderr.
func (s *clients) HTTP() http.RoundTripper {
	s.release.base = s.transport
	if s.io.Flags.Debug {
		return tracer{s.io, &s.release}
	}
	return &s.release
}

// tracer tells every request on stderr. Secrets are in headers, which it leaves out, and in a token parameter, which it hides.
type tracer struct {
	io   *streams
	base http.RoundTripper
}

// RoundTrip sends r and tells it.
func (t tracer) RoundTrip(r *http.Request) (*http.Response, error) {
	began := t.io.Now()
	resp, err := t.base.RoundTrip(r)
	took := t.io.Now().Sub(began).Milliseconds()
	line := fmt.Sprintf("debug: %s %s (%d ms): ", r.Method, sdk.RedactURL(r.URL), took)
	if err != nil {
		line += err.Error()
	} else {
		line += resp.Status + ", request " + resp.Header.Get(api.HeaderRequestID)
	}
	fmt.Fprintln(t.io.Err, human.Line(line))
	return resp, err
}

// proxies returns the Proxy of a transport for an environment. Other than Go's, it fails for an address that cannot be read, in place of
// connecting without the proxy.
func proxies(env func(name string) string) func(*http.Request) (*url.URL, error) {
	either := func(name string) string { return cmp.Or(env(name), env(strings.ToLower(name))) }
	return func(r *http.Request) (*url.URL, error) {
		c := httpproxy.Config{HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY")}
		name := strings.ToUpper(r.URL.Scheme) + "_PROXY"
		if value := either(name); value == "" || readable(value) {
			return c.ProxyFunc()(r.URL)
		}
		const other = "http://proxy.invalid" // to learn whether r goes through a proxy
		c.HTTPProxy, c.HTTPSProxy = other, other
		if proxy, err := c.ProxyFunc()(r.URL); proxy == nil || err != nil {
			return nil, err
		}
		return nil, &net.OpError{Op: "proxyconnect", Err: errors.New(name + " is not the URL of a proxy")}
	}
}

// readable reports whether text is the address of a proxy, with a scheme or without.
func readable(text string) bool {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	return err == nil && u.Host != ""
}

// release hears which release of contextd answers, and tells people of one that is newer than ctx: once a day, on a terminal. Nobody else
// is asked for it. Its funcs may be called at the same time.
type release struct {
	io       *streams
	settings *settings
	own      string // the version of ctx
	base     http.RoundTripper

	mu    sync.Mutex // guards newer
	newer string     // the version that is newer than own, "" until one was heard
}

// noticeFile remembers by its time when people were told.
const (
	noticeFile    = "newer"
	betweenNotice = 24 * time.Hour
)

// RoundTrip sends a request and hears the version in the answer.
func (r *release) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.base.RoundTrip(req)
	if err == nil {
		if v := resp.Header.Get(api.HeaderVersion); build.Newer(v, r.own) {
			r.mu.Lock()
			r.newer = v
			r.mu.Unlock()
		}
	}
	return resp, err
}

// notice is what people are told, "" for nothing.
func (r *release) notice() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newer == "" {
		return ""
	}
	return human.Line(fmt.Sprintf("this service runs %s, newer than ctx %s: update ctx to use what is new", r.newer, r.own))
}

// show tells people at a terminal, unless that was done within a day. Where it cannot be remembered, nothing is told.
func (r *release) show() {
	text := r.notice()
	if text == "" || !r.io.ErrTTY || r.io.Flags.Quiet || r.io.Env("CI") != "" {
		return
	}
	c, err := r.settings.Config()
	if err != nil {
		return
	}
	file := filepath.Join(c.Dir, noticeFile)
	now := r.io.Now()
	if info, err := os.Stat(file); err == nil && now.Sub(info.ModTime()) < betweenNotice {
		return
	}
	if os.MkdirAll(c.Dir, 0o700) != nil || atomicfile.Write(file, nil, 0o600) != nil || os.Chtimes(file, now, now) != nil {
		return
	}
	fmt.Fprintln(r.io.Err, r.io.Style(r.io.ErrTTY).Dim("notice: "+text))
}
