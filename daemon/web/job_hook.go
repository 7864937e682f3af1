package web

import (
	"crypto/hmac"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

const (
	hookWindow  = 5 * time.Minute // how far the timestamp of a request may be from now
	maxHookBody = 1 << 10         // bytes; there is nothing to say
)

// MinJobsKey is the least length of a key, in bytes.
const MinJobsKey = 32

// HookConfig is what the hook needs.
type HookConfig struct {
	Key   []byte
	Start func(name string) error // starts a job, or fails with the error to answer with
	Now   func() time.Time        // nil means time.Now
}

// hook knows which requests were there already.
type hook struct {
	HookConfig
	began time.Time // what was signed before is refused: it may have been used before a restart

	mu   sync.Mutex           // guards used
	used map[string]time.Time // signatures, with the timestamp they are of
}

// HookRoutes are those of the hook.
func HookRoutes(c HookConfig) Routes {
	if c.Now == nil {
		c.Now = time.Now
	}
	h := &hook{HookConfig: c, began: c.Now().Truncate(time.Second), used: map[string]time.Time{}}
	return Routes{api.PathInternalJobs + "/{name}": {http.MethodPost: h.start}}
}

func (h *hook) start(w http.ResponseWriter, r *http.Request) error {
	body, err := ReadText(w, r, maxHookBody)
	if err != nil {
		return err
	}
	if err := h.check(r, body); err != nil {
		return err
	}
	if err := h.Start(r.PathValue("name")); err != nil {
		return err
	}
	return WriteJSON(w, http.StatusAccepted, map[string]string{"job": r.PathValue("name"), "status": "accepted"})
}

// check reports why a request is not one of who has the key.
func (h *hook) check(r *http.Request, body []byte) error {
	refused := func(why string) error {
		return api.Errorf(api.ReasonInvalidToken, "the signature of the request is not valid: %s", why).
			WithHint("send the Unix time as %s and, as %s, the hex HMAC-SHA256 of time, method and path, each with a newline, and body",
				api.HeaderJobTimestamp, api.HeaderJobSignature)
	}
	seconds, err := strconv.ParseInt(r.Header.Get(api.HeaderJobTimestamp), 10, 64)
	if err != nil {
		return refused("no time")
	}
	at, now := time.Unix(seconds, 0), h.Now()
	if at.Before(now.Add(-hookWindow)) || at.After(now.Add(hookWindow)) {
		return refused("its time is not within five minutes of now")
	}
	signature := r.Header.Get(api.HeaderJobSignature)
	if !hmac.Equal([]byte(signature), []byte(api.SignRequest(h.Key, at, r.Method, r.URL.Path, body))) {
		return refused("another signature")
	}
	if at.Before(h.began) {
		return refused("it was made before the daemon started")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for old, then := range h.used {
		if then.Before(now.Add(-hookWindow)) {
			delete(h.used, old)
		}
	}
	if _, again := h.used[signature]; again {
		return refused("it was used already")
	}
	h.used[signature] = at
	return nil
}
