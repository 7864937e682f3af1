// Package replay answers the connectors of daemon/source from recorded payloads instead of the network, for the demo and for
// tests.
//
// Every value in it is invented: the payloads have the shapes of the real interfaces and bear the names of real coins,
// protocols and publishers as labels, but prices, amounts and headlines are not real, and programs that show them must say so.
//
// A Recording plays three ticks, five minutes apart, for tests that need exact data. A Market moves the values of the first one on from
// tick to tick by a seed, with events that are planted in it, and can tell what every payload said: what answers are measured against.
// A Living, which the demo plays, is a Market on the clock of the wall, beside which the sources of the other packs move too. Each is an
// http.RoundTripper, so the connectors run unchanged; they decide nothing about when to move on.
package replay

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"sync"
	"syscall"
	"time"
)

//go:embed recorded
var recorded embed.FS

// Recording answers requests as upstream would have at the current tick. It is safe for concurrent use.
type Recording struct {
	now   func() time.Time
	ticks []time.Time
	pages []map[string]page // by tick, then by key

	mu     sync.Mutex // guards tick and broken
	tick   int        // index into ticks
	broken map[string]Answer
}

var _ http.RoundTripper = (*Recording)(nil)

// Answer stands in for a host, to see how the rest gets on with it.
type Answer func(*http.Request) (*http.Response, error)

// page is one recorded answer, as the manifest lists it.
type page struct {
	Tick        int
	SourceID    string
	Method, URL string
	Body        string // of a POST; "" for none
	Status      int
	Headers     map[string]string
	File        string
}

// New returns a Recording at its first tick. now is the clock that Shift works against; nil is time.Now.
func New(now func() time.Time) *Recording {
	if now == nil {
		now = time.Now
	}
	manifest, err := readManifests()
	if err != nil {
		panic(fmt.Sprintf("replay: %v", err)) // it is part of the program
	}
	r := &Recording{now: now, ticks: manifest.Ticks, broken: make(map[string]Answer)}
	for range r.ticks {
		r.pages = append(r.pages, make(map[string]page))
	}
	for _, p := range manifest.Entries {
		u, err := url.Parse(p.URL)
		if err != nil {
			panic(fmt.Sprintf("replay: %v", err))
		}
		r.pages[p.Tick-1][key(p.Method, u, p.Body)] = p
	}
	return r
}

// crypto is the file that lists what was recorded of the crypto pack, and when. Those of other packs lie beside it.
const crypto = "manifest.json"

type manifest struct {
	Ticks   []time.Time
	Entries []page
}

func readManifest(name string) (m manifest, err error) {
	data, err := recorded.ReadFile(path.Join("recorded", name))
	if err != nil {
		return m, fmt.Errorf("read manifest: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("decode %s: %w", name, err)
	}
	return m, nil
}

func readManifests() (all manifest, err error) {
	files, err := recorded.ReadDir("recorded")
	if err != nil {
		return all, fmt.Errorf("list manifests: %w", err)
	}
	for _, f := range files {
		if f.IsDir() {
			continue
		}
		m, err := readManifest(f.Name())
		if err != nil {
			return all, err
		}
		all.Ticks, all.Entries = append(all.Ticks, m.Ticks...), append(all.Entries, m.Entries...)
	}
	return all, nil
}

// key is the same for URLs that differ in the order of their query and in what they percent-encode.
func key(method string, u *url.URL, body string) string {
	return method + " " + u.Host + u.Path + "?" + u.Query().Encode() + " " + body
}

// bodyOf is the body of a request, which stays readable.
func bodyOf(req *http.Request) (string, error) {
	if req.Body == nil {
		return "", nil
	}
	text, err := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil {
		return "", fmt.Errorf("read request: %w", err)
	}
	return string(text), nil
}

// Tick is the current tick: 1, 2 or 3.
func (r *Recording) Tick() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tick + 1
}

// Advance moves to the next tick, and from the last to the first.
func (r *Recording) Advance() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick = (r.tick + 1) % len(r.ticks)
}

// Shift is the time since the current tick was recorded, in whole seconds as upstream times are: what source.Config.Shift needs
// to make the recording look current.
func (r *Recording) Shift(string) time.Duration {
	return r.now().Sub(r.ticks[r.Tick()-1]).Truncate(time.Second)
}

// Break lets answer stand in for host, or for every host without one of its own if host is "". A nil answer refuses the
// connection.
func (r *Recording) Break(host string, answer Answer) {
	if answer == nil {
		answer = refuse
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken[host] = answer
}

// Mend takes all that Break did back.
func (r *Recording) Mend() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.broken)
}

// refuse is what a network that is down does.
func refuse(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
}

// RoundTrip answers req with the recorded payload of the current tick, or else of any; 404 if there is none.
func (r *Recording) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	body, err := bodyOf(req)
	if err != nil {
		return nil, err
	}
	p, answer := r.find(req, body)
	if answer != nil {
		return answer(req)
	}
	if toNode(req) {
		return askNode(req, r.RoundTrip)
	}
	if p.File == "" {
		return response(req, http.StatusNotFound, nil), nil
	}
	data, err := recorded.ReadFile(path.Join("recorded", p.File))
	if err != nil {
		return nil, fmt.Errorf("read recorded payload: %w", err)
	}
	resp := response(req, p.Status, data)
	for name, value := range p.Headers {
		resp.Header.Set(name, value)
	}
	return resp, nil
}

// find returns what answers req: a page, the zero page if there is none, or an Answer.
func (r *Recording) find(req *http.Request, body string) (page, Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	answer := r.broken[req.URL.Host]
	if answer == nil {
		answer = r.broken[""]
	}
	asked := key(req.Method, req.URL, body)
	found, ok := r.pages[r.tick][asked]
	for i := 0; !ok && i < len(r.pages); i++ { // the URL may hold the time of the tick that was when its source was turned to
		found, ok = r.pages[i][asked]
	}
	return found, answer
}

func response(req *http.Request, status int, body []byte) *http.Response {
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", status, http.StatusText(status)),
		StatusCode:    status,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        make(http.Header),
		Body:          io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
		Request:       req,
	}
}
