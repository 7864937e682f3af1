package source

import (
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"net"
	"net/http"
	"reflect"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	maxRedirects = 5
	retryPause   = 500 * time.Millisecond
)

// Config is what a Fetcher needs. The zero value works.
type Config struct {
	Transport http.RoundTripper // nil is http.DefaultTransport
	UserAgent string            // sent with every request, with a contact URL in it; "" names the project
	Contact   string            // e-mail address for hosts that want one; "" is none, and those that refuse without are not asked
	Now       func() time.Time  // nil is time.Now
	Timeout   time.Duration     // of one request with its body; 0 is 10 s
	CoinGecko CoinGecko         // the account there

	// Answered hears of every answer, from any goroutine, and may put another body in its place; nil is nobody. Its request is that which
	// was sent, and Asker tells for which source. It is no part of Transport, for that of a declared source is one of its own.
	Answered func(*http.Response)

	// PrivateHosts are those on private addresses that declared sources may ask.
	PrivateHosts []string

	// Shift is for the replay of recorded data: what to add to the upstream times of a source. It also takes limits per host and pauses
	// away, because a recording needs no politeness. Nil is none.
	Shift func(source string) time.Duration
}

// client asks servers for documents. It is safe for concurrent use.
type client struct {
	cfg  Config
	http *http.Client
	safe *http.Client // reaches no private address that is not allowed

	mu     sync.Mutex // guards limits, their unused, held, known and moved
	limits map[string]*limit
	held   map[string]time.Time // by host, until when it asks to be left alone
	known  map[string]Version   // by URL, of documents that were accepted
	moved  map[string]time.Time // by source, when it was first heard to say what it says now

	troubles map[string]trouble // by source
}

func newClient(cfg Config) *client {
	if cfg.UserAgent == "" {
		cfg.UserAgent = "contextd (+https://github.com/contextd/contextd)"
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	return &client{
		cfg:    cfg,
		http:   &http.Client{Transport: cfg.heard(cfg.Transport), CheckRedirect: checkRedirect},
		safe:   &http.Client{Transport: cfg.heard(guard(cfg.Transport, cfg.PrivateHosts)), CheckRedirect: checkRedirect},
		limits: make(map[string]*limit),
		held:   make(map[string]time.Time),
		known:  make(map[string]Version),
		moved:  make(map[string]time.Time),

		troubles: make(map[string]trouble),
	}
}

// heard is next with Answered, nil being the usual one.
func (cfg Config) heard(next http.RoundTripper) http.RoundTripper {
	if cfg.Answered == nil {
		return next
	}
	if next == nil {
		next = http.DefaultTransport
	}
	return listener{next, cfg.Answered}
}

// asker is the key of what a request is for.
type asker struct{}

// asking is what a request is for.
type asking struct{ source, address string }

// Asker is the id of the source that a request with ctx is for, and the address that is declared for it: that at which the operator has it
// asked may have a secret in it.
func Asker(ctx context.Context) (id, address string) {
	a, _ := ctx.Value(asker{}).(asking)
	return a.source, a.address
}

// listener is a transport whose answers are heard.
type listener struct {
	next     http.RoundTripper
	answered func(*http.Response)
}

func (l listener) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(r)
	if err == nil {
		res.Request = r
		l.answered(res)
	}
	return res, err
}

// checkRedirect bounds redirects, keeps them on the web and never weakens https, and takes the key off before another host
// could see it.
func checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fail(ClassBadContent, "more than %d redirects", maxRedirects)
	case req.URL.Scheme != "https" && (req.URL.Scheme != "http" || via[0].URL.Scheme == "https"):
		return fail(ClassBadContent, "redirect to an address that is not https")
	}
	if req.URL.Host != via[0].URL.Host {
		for _, name := range keyHeaders() {
			req.Header.Del(name)
		}
	}
	return nil
}

type request struct {
	URL       string
	Limit     int64 // bound of the body in bytes, after decompression; 0 is 4 MiB
	IfChanged bool  // ask only for a version other than the one that was last accepted

	declared *declaration // nil for a connector of ours
	address  string       // as it is declared
	moved    bool         // to where the operator says
}

// attempt is one try at a source, of one or more requests. It retries once in all. It is not safe for concurrent use.
type attempt struct {
	Now time.Time // when it began
	At  time.Time // the same moment on upstream's clock: another than Now when recorded data is replayed

	c       *client
	source  string
	from    string // the address that is asked at another one,
	to      string // and that one; "" for none
	retried bool
	known   map[string]Version // by URL, of what was read
	ending  string             // what an answer said of the end of its service
	bodies  []string           // hashes of the answers that were used, in the order of the requests
}

func (c *client) Attempt(source string) *attempt {
	var shift time.Duration
	if c.cfg.Shift != nil {
		shift = c.cfg.Shift(source) // before the clock is read, or it could be more than now less the moment of the recording
	}
	now := c.cfg.Now().Truncate(time.Millisecond) // as the log tells it: who recomputes a document knows no more
	return &attempt{Now: now, At: now.Add(-shift), c: c, source: source, known: make(map[string]Version)}
}

// Latency is the time since the attempt began.
func (a *attempt) Latency() time.Duration { return a.c.cfg.Now().Sub(a.Now) }

// Accept remembers which versions were read. Only a document that was found good may be confirmed by a 304 later.
func (a *attempt) Accept() {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	maps.Copy(a.c.known, a.known)
}

// unchanged is for how long the source c has said doc, as far as was heard; last is what it said before.
func (a *attempt) unchanged(c Connector, doc, last Doc) time.Duration {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	if since, known := a.c.moved[c.ID]; known && last != nil && reflect.DeepEqual(doc, last) {
		return a.Now.Sub(since)
	}
	a.c.moved[c.ID] = a.Now
	return 0
}

// Version is how a server names a version of a document.
type Version struct {
	Tag      string `json:"tag,omitempty"`
	Modified string `json:"modified,omitempty"`
}

// version is that of url that was last accepted, zero if none is known.
func (c *client) version(url string) Version {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[url]
}

// Get asks for a document and lets use read its body; use may be called again on a retry. The error is errNotModified or a
// failure.
func (a *attempt) Get(ctx context.Context, r request, use func(body io.Reader) error) error {
	r.address = r.URL
	r.URL, r.moved = a.address(r.URL)
	for {
		err := a.once(ctx, r, use)
		if err == nil || errors.Is(err, errNotModified) {
			return err
		}
		f := asFailure(err)
		if a.retried || !a.mayRetry(ctx, f) {
			return f
		}
		a.retried = true
	}
}

// mayRetry says whether a failure is worth a second try, and pauses before it where upstream needs the time.
func (a *attempt) mayRetry(ctx context.Context, f *failure) bool {
	switch {
	case f.Slow: // it would be the same, and take as long
	case f.Class == ClassNetwork, f.Class == ClassUpstream && f.RetryAfter == 0:
		return a.c.cfg.Shift != nil || pause(ctx, retryPause)
	}
	return false
}

// pause waits for d and says whether ctx let it.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (a *attempt) once(ctx context.Context, r request, use func(io.Reader) error) error {
	req, err := r.declared.request(ctx, r.URL)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	a.c.cfg.CoinGecko.direct(req)
	if err := a.wait(ctx, req.URL.Host, r.declared.perMinute()); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.declared.timeout(a.c.cfg.Timeout))
	defer cancel()
	a.setHeader(req.Header, req.URL.Host, r)
	ctx, sent := traced(ctx)
	if err := r.declared.setHeader(req.Header, !r.moved || Ask{URL: a.from}.Host() == req.URL.Host); err != nil {
		return err
	}
	client := r.declared.client(a.c)
	if r.moved && r.declared == nil {
		client = a.c.safe
	}
	resp, err := client.Do(req.WithContext(context.WithValue(ctx, asker{}, asking{a.source, r.address})))
	if err != nil {
		if unreachable(err) {
			a.c.unsent(req.URL.Host)
		}
		f := asFailure(err)
		f.Slow = sent() && ctx.Err() != nil
		return f
	}
	defer resp.Body.Close()
	if a.ending == "" {
		a.ending = ending(resp.Header)
	}
	switch {
	case resp.StatusCode == http.StatusOK:
		if req.Method == http.MethodGet {
			a.known[r.URL] = Version{resp.Header.Get("ETag"), resp.Header.Get("Last-Modified")}
		}
		hash, err := read(resp, cmp.Or(r.Limit, 4<<20), use)
		if err == nil {
			a.bodies = append(a.bodies, hash)
		}
		if err != nil && ctx.Err() != nil {
			f := asFailure(err)
			f.Slow = true
			return f
		}
		return err
	case resp.StatusCode == http.StatusNotModified && (req.Header.Get("If-None-Match") != "" || req.Header.Get("If-Modified-Since") != ""):
		return errNotModified
	}
	f := statusFailure(resp, a.c.cfg.Now())
	a.c.hold(req.URL.Host, f)
	return f
}

// setHeader fills the header of a request. Compression is asked for by hand, so that it works over every RoundTripper.
func (a *attempt) setHeader(h http.Header, host string, r request) {
	h.Set("User-Agent", a.c.cfg.userAgent(host))
	h.Set("Accept-Encoding", "gzip")
	if v := a.c.version(r.URL); r.IfChanged {
		setHeader(h, "If-None-Match", v.Tag)
		setHeader(h, "If-Modified-Since", v.Modified)
	}
}

func setHeader(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// read lets use read the body of resp, uncompressed and bounded, and returns the SHA-256 of all of it in hexadecimal: of the bytes of the
// document, which anybody who fetches it has, however it was coded on the way.
func read(resp *http.Response, limit int64, use func(io.Reader) error) (hash string, err error) {
	b := &body{r: resp.Body, left: limit, sum: sha256.New()}
	if resp.Header.Get("Content-Encoding") == "gzip" {
		zipped, err := gzip.NewReader(resp.Body)
		if err != nil {
			return "", readFailure(err)
		}
		b.r = zipped
	}
	if err = use(b); err == nil {
		_, _ = io.Copy(io.Discard, b) // what use has left; b knows its error
	}
	if b.err != nil {
		return "", readFailure(b.err) // what use makes of a broken body is only a symptom
	}
	return hex.EncodeToString(b.sum.Sum(nil)), err
}

// body bounds a body, hashes it and remembers why reading it failed.
type body struct {
	r    io.Reader
	left int64
	sum  hash.Hash
	err  error // not io.EOF
}

var errTooLarge = errors.New("larger than allowed")

func (b *body) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		n, err = 0, errTooLarge
	}
	if err != nil && err != io.EOF {
		b.err = err
	}
	b.sum.Write(p[:n])
	return n, err
}

// wait waits until the limit of host allows a request, or fails at once if that is after the deadline of ctx.
func (a *attempt) wait(ctx context.Context, host string, perMinute int) error {
	if a.c.cfg.Shift != nil {
		return nil
	}
	if left := a.c.left(host); left > 0 {
		f := fail(ClassRateLimited, "%s asked to be left alone", host)
		f.RetryAfter = left
		return f
	}
	l := a.c.limit(host, perMinute)
	if l == nil {
		return nil
	}
	if err := l.Wait(ctx); err != nil && ctx.Err() == nil {
		return fail(ClassRateLimited, "our own limit for %s", host)
	}
	return ctx.Err()
}

type limit struct {
	*rate.Limiter
	unused int // places that were taken for requests that could not be sent
}

// limit returns the limit of host to wait for, nil if a place is left from a request that could not be sent.
func (c *client) limit(host string, atMost int) *limit {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.limits[host]
	if l == nil {
		perMinute, burst := limitOf(host)
		l = &limit{Limiter: rate.NewLimiter(rate.Every(time.Minute/time.Duration(perMinute)), burst)}
		c.limits[host] = l
	}
	if slower := rate.Every(time.Minute / time.Duration(max(atMost, 1))); atMost > 0 && slower < l.Limit() {
		l.SetLimit(slower) // a declaration may be more careful than we are, and never less
	}
	if l.unused > 0 {
		l.unused--
		return nil
	}
	return l
}

// unreachable says whether err is that no connection was made, to the host or to a proxy.
func unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

// unsent gives the place of a request back that never reached host: a network that is down must not use up the limits that
// are needed when it is back.
func (c *client) unsent(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := c.limits[host]; l != nil {
		l.unused = min(l.unused+1, l.Burst())
	}
}

// limitOf is how often a host may be asked. The burst covers what one pulse asks of it.
func limitOf(host string) (perMinute, burst int) {
	switch host {
	case coinGeckoHost:
		return 5, 5 // of about ten without a key, which all behind the same address share
	case coinGeckoProHost:
		return 60, 10
	case "api.geckoterminal.com":
		return 6, 2 // of ten
	case "api.llama.fi":
		return 60, 12 // protocols, chains, hacks and six histories
	case "api.exchange.coinbase.com":
		return 120, 6
	case "api.kraken.com":
		return 60, 2
	}
	return 30, 4
}
