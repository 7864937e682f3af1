package command

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// release hears which release of contextd answers, and tells people of one that is newer than ctx: once a day, on a terminal. Nobody else
// is asked for it. Its funcs may be called at the same time.
type release struct {
	io       *IO
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

// says is what people are told, "" for nothing.
func (r *release) says() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newer == "" {
		return ""
	}
	return human.Line(fmt.Sprintf("this service runs %s, newer than ctx %s: update ctx to use what is new", r.newer, r.own))
}

// tell tells people at a terminal, unless that was done within a day. Where it cannot be remembered, nothing is told.
func (r *release) tell() {
	text := r.says()
	if text == "" || !r.io.ErrTTY || r.io.Flags.Quiet || r.io.Env("CI") != "" {
		return
	}
	c, err := r.settings.config()
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
