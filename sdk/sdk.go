// Package sdk is the Go client of the context service: fresh state, cited briefs, search, history and citations of data packs.
//
//	c, err := sdk.New(sdk.WithAPIKey(key))
//	brief, err := c.Brief(ctx, api.PackCrypto)
//
// It owns the HTTP exchange: authentication, retries, time limits, bounds and errors. It uses the vocabulary of sdk/api and imports little
// besides it and the standard library. It never prints or logs, keeps no state between calls and never shows a key: a Key hides itself from
// format verbs, logs and encoders.
//
// A program calls a Client; the Client calls the service. Every answer other than a 2xx becomes an *api.Error, for errors.As and for
// errors.Is with the Err sentinels; a request that does not reach the service becomes a *TransportError.
package sdk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Environment variables of New, ignored with WithoutEnv.
const (
	EnvAPIKey  = "CTX_API_KEY"
	EnvBaseURL = "CTX_BASE_URL"
)

// Defaults of a Client.
const (
	DefaultTimeout = 30 * time.Second // for a whole call, retries and waits included
	DefaultRetries = 3                // attempts after the first
)

// Client calls one context service. It is safe for concurrent use and needs no closing.
type Client struct {
	base      url.URL
	key       Key
	payer     Payer                                                                       // nil if calls are not paid one by one
	check     func(ctx context.Context, pack string, p api.Proof, answer *Response) error // of proofs, nil for none
	http      http.Client
	retries   int
	timeout   time.Duration
	userAgent string
}

// Option configures a Client.
type Option func(*options) error

type options struct {
	baseURL   string
	key       Key
	payer     Payer
	check     func(ctx context.Context, pack string, p api.Proof, answer *Response) error
	http      *http.Client
	retries   int
	timeout   time.Duration
	userAgent string
	noEnv     bool
}

// WithBaseURL sets the address of the service, http or https, with an optional path before /v1. Without it, and without
// CTX_BASE_URL, it is api.DefaultBaseURL.
func WithBaseURL(address string) Option {
	return func(o *options) error { o.baseURL = address; return nil }
}

// WithAPIKey sets the key of all calls; it overrides CTX_API_KEY. Without either (the zero Key), calls carry no credentials.
func WithAPIKey(key Key) Option {
	return func(o *options) error { o.key = key; return nil }
}

// WithHTTPClient sets the client for requests: its Transport, Jar and Timeout, which also bounds payments of a request. Redirects are not
// followed unless it has a CheckRedirect, and never with a proof of payment. Nil means a client with Go's defaults.
func WithHTTPClient(c *http.Client) Option {
	return func(o *options) error { o.http = c; return nil }
}

// WithRetries sets the maximum number of retries; 0 means none.
func WithRetries(n int) Option {
	return func(o *options) error {
		if n < 0 {
			return fmt.Errorf("retries are %d, must be 0 or more", n)
		}
		o.retries = n
		return nil
	}
}

// WithTimeout bounds every call, including retries and waits; 0 means that only the context bounds it.
func WithTimeout(d time.Duration) Option {
	return func(o *options) error {
		if d < 0 {
			return fmt.Errorf("timeout is %s, must be 0 or more", d)
		}
		o.timeout = d
		return nil
	}
}

// WithUserAgent puts product, such as "mybot/1.2", before the SDK's own User-Agent.
func WithUserAgent(product string) Option {
	return func(o *options) error {
		if !printable(product) {
			return errors.New("user agent holds characters that a header cannot")
		}
		o.userAgent = product
		return nil
	}
}

// WithoutEnv makes New ignore the environment.
func WithoutEnv() Option {
	return func(o *options) error { o.noEnv = true; return nil }
}

// New makes a Client. It opens no connection. It fails if an option or an environment variable is invalid.
func New(opts ...Option) (*Client, error) {
	o := options{retries: DefaultRetries, timeout: DefaultTimeout}
	for _, opt := range opts {
		if err := opt(&o); err != nil {
			return nil, fmt.Errorf("make client: %w", err)
		}
	}
	if !o.noEnv {
		o.baseURL = firstOf(o.baseURL, os.Getenv(EnvBaseURL))
		if o.key.IsZero() {
			o.key = NewKey(os.Getenv(EnvAPIKey))
		}
	}
	base, err := api.ParseBaseURL(strings.TrimSpace(firstOf(o.baseURL, api.DefaultBaseURL)))
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	if !printable(o.key.Secret()) {
		return nil, errors.New("make client: the API key holds characters that a header cannot")
	}
	c := &Client{base: *base, key: o.key, payer: o.payer, check: o.check, retries: o.retries, timeout: o.timeout}
	c.userAgent = userAgent(o.userAgent)
	if o.http != nil {
		c.http = *o.http
	}
	if c.http.CheckRedirect == nil {
		c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return c, nil
}

// BaseURL returns the address of the service, without a slash at its end.
func (c *Client) BaseURL() string { return c.base.String() }

// Key returns the key of all calls, zero if there is none.
func (c *Client) Key() Key { return c.key }

// userAgent is the User-Agent: product, if any, then the SDK's own.
func userAgent(product string) string {
	own := fmt.Sprintf("ctx-go/%s (%s; %s)", version(), goVersion(), runtime.GOOS)
	return strings.TrimSpace(product + " " + own)
}

// version is the version of the module that this package is part of, "dev" where the build does not say.
func version() string {
	const module = "github.com/contextd/contextd"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module && m.Version != "" && m.Version != "(devel)" {
				return strings.TrimPrefix(m.Version, "v")
			}
		}
	}
	return "dev"
}

// goVersion is the Go release without its patch level, for example go1.26.
func goVersion() string {
	parts := strings.SplitN(runtime.Version(), ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// printable reports whether s can be the value of a header as it is.
func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// firstOf is the first of values that is not empty.
func firstOf[T ~string](values ...T) T {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
