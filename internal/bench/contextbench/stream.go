package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/source/replay"
)

// upstream is a source of a shipped pack as it is outside of the service.
type upstream struct {
	id    string
	asked string         // a part of its request's URL and body
	moves *regexp.Regexp // numbers of its payload that move on, as the first group; nil for none
	sway  float64        // by how much they do, as a share
	alike bool           // numbers under one name move alike
	every int            // ticks from one move to the next; 0 is 1

	read  func(text []byte) ([]fact, error) // what it says
	about string                            // a question that one of its rows answers
}

// happening is something planted.
type happening struct {
	source      string // whose payload tells it
	from, until int
	edit        func(text string) string // nil for a source that is dead
	flag        string                   // the beginning of the id of the flag that it raises
	critical    bool
	named       string // in the brief
}

func (h happening) during(tick int) bool { return h.from <= tick && tick < h.until }

// stream answers for the sources of a pack with the numbers of the first recorded tick, which wander by the seed.
type stream struct {
	*replay.Recording
	seed    uint64
	sources []upstream
	events  []happening

	mu   sync.Mutex // guards what follows
	tick int
	base map[string][]byte // by id
}

// Advance does nothing: upstream's clock stands at the recorded tick, and Shift makes its times current.
func (*stream) Advance() {}

// source is the source that is asked, nil if there is none.
func (s *stream) source(asked string) *upstream {
	i := slices.IndexFunc(s.sources, func(u upstream) bool { return strings.Contains(asked, u.asked) })
	if i < 0 {
		return nil
	}
	return &s.sources[i]
}

// RoundTrip implements http.RoundTripper.
func (s *stream) RoundTrip(req *http.Request) (*http.Response, error) {
	asked := req.URL.String()
	if req.Body != nil {
		text, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(text))
		asked += " " + string(text)
	}
	resp, err := s.Recording.RoundTrip(req)
	u := s.source(asked)
	if err != nil || u == nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dead(u.id, s.tick) {
		resp.StatusCode, resp.Status = http.StatusServiceUnavailable, "503 Service Unavailable"
		return resp, nil
	}
	if s.base[u.id] == nil {
		if s.base[u.id], err = io.ReadAll(resp.Body); err != nil {
			return nil, err
		}
	}
	text := s.payload(u, s.tick)
	resp.Header.Del("ETag")
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return resp, nil
}

func (s *stream) dead(id string, tick int) bool {
	return slices.ContainsFunc(s.events, func(h happening) bool { return h.edit == nil && h.source == id && h.during(tick) })
}

// payload is what a source says at a tick.
func (s *stream) payload(u *upstream, tick int) []byte {
	n := 0
	text := string(s.base[u.id])
	if u.moves != nil {
		text = replaceFirstGroup(u.moves, text, func(whole, number string) string {
			n++
			name := strconv.Itoa(n)
			if u.alike {
				name = strings.ReplaceAll(whole, number, "")
			}
			return scaled(number, 1+u.sway*s.wander(u.id+" "+name, tick/max(u.every, 1)))
		})
	}
	for _, h := range s.events {
		if h.edit != nil && h.source == u.id && h.during(tick) {
			text = h.edit(text)
		}
	}
	return []byte(text)
}

// wander is a smooth way between about -1 and 1 that begins at 0, another one for each name.
func (s *stream) wander(name string, tick int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // it never fails
	r := rand.New(rand.NewPCG(s.seed, h.Sum64()))
	way := 0.0
	for _, part := range []float64{0.7, 0.3} {
		phase, length := 2*math.Pi*r.Float64(), 15+60*r.Float64()*part
		way += part * (math.Sin(phase+2*math.Pi*float64(tick)/length) - math.Sin(phase))
	}
	return way
}

// replaceFirstGroup replaces the first group of every match.
func replaceFirstGroup(re *regexp.Regexp, text string, by func(whole, group string) string) string {
	var b strings.Builder
	last := 0
	for _, m := range re.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[last:m[2]])
		b.WriteString(by(text[m[0]:m[1]], text[m[2]:m[3]]))
		last = m[3]
	}
	return b.String() + text[last:]
}

// scaled multiplies a number and keeps its decimals.
func scaled(number string, by float64) string {
	x, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.ContainsAny(number, "eE") {
		return number
	}
	_, decimals, _ := strings.Cut(number, ".")
	return strconv.FormatFloat(x*by, 'f', len(decimals), 64)
}

// scale is an edit that multiplies the first group of the first match.
func scale(pattern string, by float64) func(string) string {
	re := regexp.MustCompile(pattern)
	return func(text string) string {
		n := 0
		return replaceFirstGroup(re, text, func(_, number string) string {
			if n++; n > 1 {
				return number
			}
			return scaled(number, by)
		})
	}
}

// put is an edit that puts a text in place of another.
func put(old, text string) func(string) string {
	return func(payload string) string { return strings.Replace(payload, old, text, 1) }
}

// decoded decodes a payload of JSON.
func decoded[T any](text []byte) (v T, err error) {
	err = json.Unmarshal(bytes.TrimPrefix(text, []byte("\ufeff")), &v)
	if err != nil {
		err = fmt.Errorf("decode %.40s: %w", text, err)
	}
	return v, err
}

// shifted is a time of upstream as the service has it at a tick.
func shifted(t time.Time, tick int) time.Time {
	recorded := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	return t.Add(began().Add(time.Duration(tick) * 5 * time.Minute).Sub(recorded))
}
