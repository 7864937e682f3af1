package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Declared says how a source is asked that no code of ours knows, as a manifest has it.
type Declared struct {
	ID         string
	Interval   time.Duration
	StaleAfter time.Duration

	Method string // "" is GET
	URL    string // may hold times, see ExpandURL
	Header map[string]string
	Body   []byte // nil for none

	KeyHeader string                 // the header that the key is sent in
	Key       func() (string, error) // reads it; nil means that there is none

	MaxBytes  int64         // of an answer; 0 is 4 MiB
	Timeout   time.Duration // of one request with its body; 0 is that of the Fetcher
	PerMinute int           // requests to its host; 0 is what the Fetcher allows
	Fallbacks []DeclaredFallback
	Fields    []string // of rows, as they are called on the wire
	Use       api.Use  // what its terms allow

	Timely bool // what is made of an answer depends on when, so that one that has not changed is read again

	// Decode makes rows of an answer. last is what it made before, nil if there is none, and is not changed.
	Decode func(ctx context.Context, answer Answer, last *RowsDoc) (doc *RowsDoc, dropped int, err error)
}

// Answer is the body of an answer and when it came.
type Answer struct {
	Body []byte
	Now  time.Time // by our clock
	At   time.Time // by that of upstream: another than Now when recorded data is replayed
}

// Connector is the connector of d.
func (d Declared) Connector() Connector {
	c := Connector{
		ID: d.ID, Interval: d.Interval, StaleAfter: d.StaleAfter, varies: true, Remembers: true, New: func() Doc { return new(RowsDoc) },
		Asks: []Ask{{URL: d.URL}}, Fields: d.Fields, Use: d.Use,
	}
	c.read = func(ctx context.Context, a *attempt, last Doc) (Doc, int, error) {
		return d.read(ctx, a, last, last != nil && !d.Timely && d.Body == nil)
	}
	for _, f := range d.Fallbacks {
		c.Fallbacks = append(c.Fallbacks, Fallback{
			Via: f.Via, Asks: []Ask{{URL: f.URL}}, Use: f.Use,
			read: func(ctx context.Context, a *attempt, last Doc) (Doc, int, error) { return f.read(ctx, a, last, false) },
		})
	}
	return c
}

// DeclaredFallback is who is asked where a declared source fails. Its Decode makes the same rows.
type DeclaredFallback struct {
	Via string // as people call it
	Declared
}

func (d Declared) read(ctx context.Context, a *attempt, last Doc, ifChanged bool) (Doc, int, error) {
	was, _ := last.(*RowsDoc)
	r := request{URL: ExpandURL(d.URL, a.At), Limit: d.MaxBytes, IfChanged: ifChanged, declared: &declaration{d}}
	var body []byte
	err := a.Get(ctx, r, func(r io.Reader) (err error) {
		body, err = io.ReadAll(r)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	doc, dropped, err := d.Decode(ctx, Answer{Body: body, Now: a.Now, At: a.At}, was)
	if err != nil {
		return nil, dropped, err
	}
	return doc, dropped, nil
}

// Unchanged is what Decode returns for an answer that says that nothing is new: what the source said before still holds.
func Unchanged() error { return errNotModified }

// declaration is how a request is made that is declared; nil is how ours are.
type declaration struct{ Declared }

func (d *declaration) request(ctx context.Context, url string) (*http.Request, error) {
	if d == nil || d.Method == "" && d.Body == nil {
		return http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	}
	return http.NewRequestWithContext(ctx, d.Method, url, bytes.NewReader(d.Body))
}

func (d *declaration) perMinute() int {
	if d == nil {
		return 0
	}
	return d.PerMinute
}

func (d *declaration) timeout(usual time.Duration) time.Duration {
	if d == nil || d.Timeout == 0 {
		return usual
	}
	return d.Timeout
}

// setHeader adds what is declared, and the key to the host that it is for.
func (d *declaration) setHeader(h http.Header, keyed bool) error {
	if d == nil {
		return nil
	}
	if d.Body != nil {
		h.Set("Content-Type", "application/json")
	}
	for name, value := range d.Header {
		h.Set(name, value)
	}
	if d.Key == nil || !keyed {
		return nil
	}
	key, err := d.Key()
	if err != nil {
		return fail(ClassAuth, "its key file cannot be read")
	}
	h.Set(d.KeyHeader, key)
	return nil
}

// client is the one that asks: what is declared reaches no private address, and its key no other host.
func (d *declaration) client(c *client) *http.Client {
	if d == nil {
		return c.http
	}
	if d.Key == nil {
		return c.safe
	}
	own := *c.safe
	own.CheckRedirect = func(req *http.Request, via []*http.Request) error {
		if req.URL.Host != via[0].URL.Host {
			return fail(ClassBadContent, "redirect to another host, which must not see the key")
		}
		return checkRedirect(req, via)
	}
	return &own
}

// moments are the times that a URL may hold.
var moments = regexp.MustCompile(`\{(date|month|year|unix|unix_ms)(?:-(\d{1,4})([mhd]))?\}`)

// ExpandURL writes times into a URL: {date}, {month} as 202611, {year}, {unix} and {unix_ms}, each less a span as in {unix_ms-24h}. They
// are cut to the minute, so that a request that is tried again is the same.
func ExpandURL(url string, at time.Time) string {
	at = at.UTC().Truncate(time.Minute)
	return moments.ReplaceAllStringFunc(url, func(text string) string {
		m := moments.FindStringSubmatch(text)
		t := at
		if m[2] != "" {
			n, _ := strconv.Atoi(m[2]) // digits
			t = t.Add(-time.Duration(n) * map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": day}[m[3]])
		}
		switch m[1] {
		case "date":
			return t.Format(time.DateOnly)
		case "month":
			return t.Format("200601")
		case "year":
			return t.Format("2006")
		case "unix":
			return fmt.Sprint(t.Unix())
		}
		return fmt.Sprint(t.UnixMilli())
	})
}

// UnknownMoment is what stands in braces in a URL and is no time that ExpandURL knows, "" for nothing.
func UnknownMoment(url string) string {
	rest := moments.ReplaceAllString(url, "")
	_, after, found := strings.Cut(rest, "{")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(after, "}")
	return "{" + name + "}"
}
