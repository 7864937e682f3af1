package examine

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
)

// Asked is what a source said when it was asked once as the daemon asks it.
type Asked struct {
	Pack    string              `json:"pack"`
	Source  string              `json:"source"`
	Class   source.Class        `json:"class"` // as the daemon judges it; "" where it was not asked
	Error   string              `json:"error,omitempty"`
	Via     string              `json:"via,omitempty"` // who answered in its place
	Status  []int               `json:"status"`        // of the answers, in their order
	Bytes   int                 `json:"bytes"`         // of them, uncompressed
	Seconds float64             `json:"seconds"`
	Age     *int                `json:"ageSeconds,omitempty"` // of the data, where it tells its time
	Rows    int                 `json:"rows"`
	Dropped int                 `json:"dropped"` // rows that made no sense
	Shape   []source.FieldShape `json:"shape"`
	Ending  string              `json:"ending,omitempty"` // what it announces of the end of its service
	Limits  []string            `json:"limits"`           // what it said of the requests that are left
}

// Good reports whether the daemon would use what was said.
func (a Asked) Good() bool { return a.Rows > 0 }

// Missing are the fields that are known in no row.
func (a Asked) Missing() (names []string) {
	for _, f := range a.Shape {
		if f.Known == 0 && f.Rows > 0 {
			names = append(names, f.Name)
		}
	}
	return names
}

// Live asks the sources of cfg once each, of one pack if only is not "", and tells what each said in turn. Their answers are kept in the
// directory record, if it is not "".
func Live(ctx context.Context, cfg Config, only, record string, tell func(Asked)) error {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	e := examiner{Config: cfg}
	t := &tape{began: cfg.Now(), heard: map[string][]heard{}}
	fetcher := source.NewFetcher(source.Config{
		Transport: e.Transport, Answered: t.hear, Contact: e.Contact, CoinGecko: e.CoinGecko, PrivateHosts: e.PrivateHosts,
		Shift: e.Shift, Now: e.Now,
	})
	packs := e.Packs
	if len(packs) == 0 {
		packs = []*pack.Pack{pack.Crypto().Paced(e.CoinGecko)}
	}
	for _, p := range packs {
		if only != "" && p.ID != only {
			continue
		}
		for _, s := range p.Sources {
			tell(e.ask(ctx, fetcher, t, p.ID, s))
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	if record == "" {
		return nil
	}
	return t.write(record, []string{e.Contact, e.CoinGecko.Key})
}

func (e examiner) ask(ctx context.Context, fetcher *source.Fetcher, t *tape, of string, s pack.Source) Asked {
	a := Asked{Pack: of, Source: s.ID, Status: []int{}, Shape: []source.FieldShape{}, Limits: []string{}}
	if a.Error = e.unasked(s); a.Error == "" && slices.Contains(e.Disabled, s.ID) {
		a.Error = "disabled"
	}
	if a.Error != "" {
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, sourceTime)
	defer cancel()
	o := fetcher.Fetch(ctx, s.Connector, nil)
	a.Class, a.Via, a.Dropped, a.Ending = o.Class, o.Via, o.Dropped, o.Ending
	a.Seconds = human.Round(o.Latency.Seconds(), 3)
	switch {
	case o.Err != nil:
		a.Error = o.Err.Error()
	case o.Own != nil:
		a.Error = o.Own.Error()
	}
	if o.Doc != nil {
		a.Rows, a.Shape = o.Doc.Len(), s.Shape(o.Doc)
		if at, told := o.Doc.(interface{ Time() time.Time }); told && !at.Time().IsZero() {
			age := max(0, int(e.Now().Sub(at.Time()).Seconds()))
			a.Age = &age
		}
	}
	for _, h := range t.of(s.ID) {
		a.Status, a.Bytes = append(a.Status, h.status), a.Bytes+h.body.Len()
		for _, name := range slices.Sorted(maps.Keys(h.header)) {
			if lower := strings.ToLower(name); strings.Contains(lower, "ratelimit") || lower == "retry-after" {
				a.Limits = append(a.Limits, human.Label(name+": "+h.header.Get(name), 80))
			}
		}
	}
	return a
}

// keptBody is how much of one answer is kept.
const keptBody = 16 << 20

// tape keeps what was heard of answers. It is safe for concurrent use.
type tape struct {
	began time.Time
	mu    sync.Mutex // guards heard
	heard map[string][]heard
}

type heard struct {
	method, url, asked string
	status             int
	header             http.Header
	body               *bytes.Buffer // compressed as it came
}

func (t *tape) of(id string) []heard {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.heard[id]
}

// hear keeps an answer, whose body is kept as it is read.
func (t *tape) hear(resp *http.Response) {
	h := heard{
		method: resp.Request.Method, url: resp.Request.URL.String(), status: resp.StatusCode, header: resp.Header.Clone(),
		body: new(bytes.Buffer),
	}
	if resp.Request.GetBody != nil {
		if body, err := resp.Request.GetBody(); err == nil {
			text, _ := io.ReadAll(body) // it is in memory
			h.asked = string(text)
		}
	}
	text, _ := io.ReadAll(io.LimitReader(resp.Body, keptBody)) // who reads it on finds the error
	h.body.Write(text)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), resp.Body), resp.Body}
	id, _ := source.Asker(resp.Request.Context())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard[id] = append(t.heard[id], h)
}

// recordedPage is an answer as recordings of tests list it.
type recordedPage struct {
	Tick     int               `json:"tick"`
	SourceID string            `json:"sourceId"`
	Method   string            `json:"method"`
	URL      string            `json:"url"`
	Body     string            `json:"body,omitempty"`
	Status   int               `json:"status"`
	Headers  map[string]string `json:"headers"`
	File     string            `json:"file"`
}

// write keeps all answers in a directory, without the secrets and cookies, as recordings of tests are.
func (t *tape) write(dir string, secrets []string) error {
	scrub := func(text string) string {
		for _, secret := range secrets {
			if secret != "" {
				text = strings.ReplaceAll(text, secret, "SCRUBBED")
			}
		}
		return text
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make directory of recordings: %w", err)
	}
	pages := []recordedPage{}
	for _, id := range slices.Sorted(maps.Keys(t.heard)) {
		for i, h := range t.heard[id] {
			text := h.body.Bytes()
			if h.header.Get("Content-Encoding") == "gzip" {
				if zipped, err := gzip.NewReader(bytes.NewReader(text)); err == nil {
					text, _ = io.ReadAll(io.LimitReader(zipped, keptBody)) // as far as it can be read
				}
			}
			p := recordedPage{
				Tick: 1, SourceID: id, Method: h.method, URL: scrub(h.url), Body: scrub(h.asked), Status: h.status,
				Headers: map[string]string{}, File: fmt.Sprintf("%s.%d", id, i+1),
			}
			for name := range h.header {
				if name != "Set-Cookie" && name != "Content-Encoding" && name != "Content-Length" {
					p.Headers[name] = scrub(h.header.Get(name))
				}
			}
			if err := os.WriteFile(filepath.Join(dir, p.File), []byte(scrub(string(text))), 0o600); err != nil {
				return fmt.Errorf("keep an answer: %w", err)
			}
			pages = append(pages, p)
		}
	}
	text, err := json.MarshalIndent(map[string]any{"ticks": []time.Time{t.began.UTC().Truncate(time.Second)}, "entries": pages}, "", " ")
	if err != nil {
		return fmt.Errorf("encode list of answers: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("list answers: %w", err)
	}
	return nil
}
