package command

import (
	"fmt"
	"net/http"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// service makes clients of services.
type service struct {
	io       *IO
	settings *settings
	key      func() (sdk.Key, string, error)
	payer    func() sdk.Payer // of calls, nil where the key is sent
	check    sdk.Option       // of what answers are proven by

	release   release
	transport *http.Transport
	client    *sdk.Client // of the configured service, nil until asked for
}

// newService makes the service of a run.
func newService(streams *IO, set *settings, account *Account, payments *Payments) *service {
	s := &service{io: streams, settings: set, key: account.key, payer: payments.caller}
	s.release = release{io: streams, settings: set, own: build.Read().Version}
	s.transport, _ = http.DefaultTransport.(*http.Transport)
	if s.transport == nil { // a program around this one has put another in its place
		s.transport = &http.Transport{}
	}
	s.transport = s.transport.Clone()
	s.transport.Proxy = proxies(streams.Env)
	return s
}

// configured is the client of the configured service.
func (s *service) configured() (*sdk.Client, error) {
	if s.client != nil {
		return s.client, nil
	}
	c, err := s.settings.config()
	if err != nil {
		return nil, err
	}
	var key sdk.Key
	payer := s.payer()
	if payer == nil {
		if key, _, err = s.key(); err != nil {
			return nil, err
		}
	}
	s.client, err = s.at(c, c.Get(config.BaseURL).Text, key, payer, s.check)
	return s.client, err
}

// open is a client of the configured service that sends no key, pays nothing and checks no proof.
func (s *service) open() (*sdk.Client, error) {
	c, err := s.settings.config()
	if err != nil {
		return nil, err
	}
	return s.at(c, c.Get(config.BaseURL).Text, sdk.Key{}, nil)
}

// paying is a client of the service at an address, which need not be the configured one: it sends no key, and p pays.
func (s *service) paying(address string, p sdk.Payer) (*sdk.Client, error) {
	c, err := s.settings.config()
	if err != nil {
		return nil, err
	}
	return s.at(c, address, sdk.Key{}, p)
}

// keyed is a client of the configured service with a key that is kept nowhere.
func (s *service) keyed(key sdk.Key) (*sdk.Client, error) {
	c, err := s.settings.config()
	if err != nil {
		return nil, err
	}
	return s.at(c, c.Get(config.BaseURL).Text, key, nil)
}

// at makes a client with what is configured for all of them.
func (s *service) at(c *config.Config, address string, key sdk.Key, p sdk.Payer, more ...sdk.Option) (*sdk.Client, error) {
	if !key.IsZero() {
		s.io.warnPlain("the API key", address)
	}
	opts := []sdk.Option{sdk.WithoutEnv(), sdk.WithBaseURL(address), sdk.WithAPIKey(key), sdk.WithPayer(p),
		sdk.WithTimeout(c.Timeout()), sdk.WithRetries(c.Retries()), sdk.WithUserAgent(UserAgent()),
		sdk.WithHTTPClient(&http.Client{Transport: s.http()})}
	client, err := sdk.New(append(opts, more...)...)
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return client, nil
}

// UserAgent is how ctx names itself to services.
func UserAgent() string { return "ctx/" + build.Read().Version }

// http is what requests are sent with. With --debug it tells each on stderr.
func (s *service) http() http.RoundTripper {
	s.release.base = s.transport
	if s.io.Flags.Debug {
		return tracer{s.io, &s.release}
	}
	return &s.release
}

// tracer tells every request on stderr. Secrets are in headers, which it leaves out, and in a token parameter, which it hides.
type tracer struct {
	io   *IO
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
