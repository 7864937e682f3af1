package web

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/sdk/api"
)

// Bounds of the streams of the pages. They are beside those of subscribe.
const (
	pageStreamsPerClient = 5
	pageStreams          = 10_000
)

// pageRooms counts the streams that are open. The zero pageRooms is empty; it is safe for concurrent use.
type pageRooms struct {
	mu      sync.Mutex // guards what follows
	clients map[string]int
	all     int
}

// take takes a place for a stream of a client, as ClientsOf names it, until leave is called, or returns the *api.Error to answer with.
func (p *pageRooms) take(clients []string) (leave func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, client := range clients {
		whose, most := "address", pageStreamsPerClient
		if i > 0 {
			whose, most = "network", perSite*pageStreamsPerClient
		}
		if p.clients[client] >= most {
			return nil, api.Errorf(api.ReasonRateLimited, "%d pages are open from your %s", p.clients[client], whose).
				WithHint("close a page").WithRetryAfter(streamRetry)
		}
	}
	if p.all >= pageStreams {
		return nil, api.Errorf(api.ReasonRateLimited, "%d pages are open on this service", p.all).
			WithHint("reload the page from time to time").WithRetryAfter(streamRetry)
	}
	if p.clients == nil {
		p.clients = map[string]int{}
	}
	for _, client := range clients {
		p.clients[client]++
	}
	p.all++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, client := range clients {
			vacate(p.clients, client)
		}
		p.all--
	}), nil
}

// events streams what changes on the page of a pack.
func (p *Page) events(w http.ResponseWriter, r *http.Request) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return api.Errorf(api.ReasonCrossOrigin, "the stream is for the pages of this service")
	}
	at, known := p.placeOf(r)
	if !known {
		return api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", at.Pack)
	}
	if err := p.may(w, r, at.Pack); err != nil {
		return err
	}
	if _, err := p.set(at.Pack).ready(r.Context()); err != nil {
		return err
	}
	watch := p.cfg.Streams.Watch(at.Pack)
	if watch == nil {
		return api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", at.Pack)
	}
	defer watch.Close()
	streamHeaders().set(w.Header())
	if r.Method == http.MethodHead {
		return nil
	}
	leave, err := p.rooms.take(p.cfg.Console.cfg.TrustedProxies.ClientsOf(r))
	if err != nil {
		return err
	}
	defer leave()
	release, err := Held(r.Context())
	if err != nil {
		return err
	}
	defer release()
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // the server's bound is for calls
	s := pageStream{page: p, r: r, pack: at.Pack, watch: watch, w: NewTimedWriter(w, api.StalledReader), version: versionSeen(r)}
	if acceptsGzip(r.Header["Accept-Encoding"]) {
		w.Header().Set("Content-Encoding", "gzip")
		s.zip = new(feed.Zip)
	}
	s.run()
	return nil
}

// may returns the error for who may not see pack.
func (p *Page) may(w http.ResponseWriter, r *http.Request, pack string) error {
	v, err := p.visitor(w, r)
	if err != nil {
		return err
	}
	return v.may(pack)
}

// may returns the error for a pack that v may not see.
func (v pageVisitor) may(pack string) error {
	switch {
	case v.sees(pack):
		return nil
	case v.signedIn:
		return api.Errorf(api.ReasonPackAccessDenied, "pack %s needs credits", pack).WithHint("buy credits at /account")
	}
	return api.Errorf(api.ReasonMissingSession, "nobody is signed in").WithHint("sign in at /account")
}

// versionSeen is the version of the page that the reader has: that of the last event, or that of the page.
func versionSeen(r *http.Request) int64 {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("v")} {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	return 0
}

type pageStream struct {
	page    *Page
	r       *http.Request
	pack    string
	watch   *feed.Watcher
	w       *TimedWriter
	zip     *feed.Zip // nil where the browser takes no gzip
	version int64     // that the browser has
}

// run sends what is new until the browser leaves, may no longer see it, or the daemon stops.
func (s *pageStream) run() {
	ctx := s.r.Context()
	keepalive := time.NewTicker(api.KeepaliveInterval)
	defer keepalive.Stop()
	ok := s.write(s.head()) && s.send(feed.NewComment("")) && s.news()
	for ok {
		select {
		case <-ctx.Done():
			return
		case <-s.page.stopping:
			ok = false
		case <-s.watch.Ended():
			ok = false
		case <-keepalive.C: // by then a session may have ended
			ok = s.page.may(nil, s.r, s.pack) == nil && s.send(feed.NewComment("keepalive"))
		case <-s.watch.Wake():
			ok = s.news()
		}
	}
	if s.zip != nil {
		s.write(s.zip.Tail())
		_ = s.w.FlushError()
	}
}

// news sends what changed since the version that the browser has.
func (s *pageStream) news() bool {
	made, err := s.page.set(s.pack).newest(s.r.Context())
	if err != nil {
		return false
	}
	has := s.version
	s.version = made.version
	switch {
	case has == made.version:
		return true
	case has == made.version-1 && made.news != nil:
		return s.send(made.news)
	}
	return s.send(made.everything())
}

// head is what comes before the first frame.
func (s *pageStream) head() []byte {
	if s.zip == nil {
		return nil
	}
	return s.zip.Head()
}

// send writes one frame, which the browser gets at once.
func (s *pageStream) send(frame *feed.Frame) bool {
	text := frame.Text()
	if s.zip != nil {
		text = s.zip.Next(frame)
	}
	return s.write(text) && s.w.FlushError() == nil
}

// write writes what is sent with the next frame.
func (s *pageStream) write(text []byte) bool {
	_, err := s.w.Write(text)
	return err == nil
}
