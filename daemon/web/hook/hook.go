// Package hook lets a scheduler outside start the daemon's jobs: POST /api/internal/jobs/{name}, signed with a key that both have.
//
// A request is good once and for five minutes. It says nothing of how the job went; that is in the metrics and in the log.
package hook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

const (
	window  = 5 * time.Minute // how far the timestamp of a request may be from now
	maxBody = 1 << 10         // bytes; there is nothing to say
)

// MinKey is the least length of a key, in bytes.
const MinKey = 32

// Config is what the hook needs.
type Config struct {
	Key   []byte
	Start func(name string) error // starts a job, or fails with the error to answer with
	Now   func() time.Time        // nil means time.Now
}

// hook knows which requests were there already.
type hook struct {
	Config
	began time.Time // what was signed before is refused: it may have been used before a restart

	mu   sync.Mutex           // guards used
	used map[string]time.Time // signatures, with the timestamp they are of
}

// Routes are those of the hook.
func Routes(c Config) web.Routes {
	if c.Now == nil {
		c.Now = time.Now
	}
	h := &hook{Config: c, began: c.Now().Truncate(time.Second), used: map[string]time.Time{}}
	return web.Routes{api.PathInternalJobs + "/{name}": {http.MethodPost: h.start}}
}

// Sign is the signature of a request at a time, for those who make one.
func Sign(key []byte, at time.Time, method, path string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{strconv.FormatInt(at.Unix(), 10), method, path} {
		_, _ = io.WriteString(mac, part+"\n") // which never fails
	}
	_, _ = mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// start starts the job of the path.
func (h *hook) start(w http.ResponseWriter, r *http.Request) error {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if errors.As(err, new(*http.MaxBytesError)) {
		return api.Errorf(api.ReasonInvalidRequest, "the body is larger than %d bytes", maxBody).WithHint("send none")
	}
	if err != nil {
		return api.Errorf(api.ReasonInvalidRequest, "the body could not be read").WithHint("send none")
	}
	if err := h.check(r, body); err != nil {
		return err
	}
	if err := h.Start(r.PathValue("name")); err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusAccepted, map[string]string{"job": r.PathValue("name"), "status": "accepted"})
}

// check reports why a request is not one of who has the key.
func (h *hook) check(r *http.Request, body []byte) error {
	refused := func(why string) error {
		return api.Errorf(api.ReasonInvalidToken, "the request is not signed as it has to be: %s", why).
			WithHint("%s is the time in Unix seconds, %s the HMAC-SHA256 in hexadecimal of it, method, path, each with a newline, and body", api.HeaderJobTimestamp, api.HeaderJobSignature)
	}
	seconds, err := strconv.ParseInt(r.Header.Get(api.HeaderJobTimestamp), 10, 64)
	if err != nil {
		return refused("no time")
	}
	at, now := time.Unix(seconds, 0), h.Now()
	if at.Before(now.Add(-window)) || at.After(now.Add(window)) {
		return refused("its time is not within five minutes of now")
	}
	signature := r.Header.Get(api.HeaderJobSignature)
	if !hmac.Equal([]byte(signature), []byte(Sign(h.Key, at, r.Method, r.URL.Path, body))) {
		return refused("another signature")
	}
	if at.Before(h.began) {
		return refused("it was made before the daemon started")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for old, then := range h.used {
		if then.Before(now.Add(-window)) {
			delete(h.used, old)
		}
	}
	if _, again := h.used[signature]; again {
		return refused("it was used already")
	}
	h.used[signature] = at
	return nil
}
