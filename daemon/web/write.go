package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/sdk/api"
)

// lines are headers that many answers share, made once: names in canonical form, each with its one value. Nobody changes them.
type lines []struct {
	name  string
	value []string
}

// set puts the lines into h.
func (l lines) set(h http.Header) {
	for _, line := range l {
		h[line.name] = line.value
	}
}

// liveHeaders are those of an answer that is of now.
func liveHeaders() lines {
	return lines{{"Cache-Control", []string{"private, no-cache"}}, {"Vary", []string{"Accept-Encoding"}}}
}

// immutableHeaders are those of an answer that stays the same. It depends on who asks, so caches have to look at that.
func immutableHeaders() lines {
	return lines{
		{"Cache-Control", []string{api.CacheImmutable}},
		{"Vary", []string{"Accept-Encoding, Authorization, " + api.HeaderPayment + ", " + api.HeaderPaymentAlias}},
	}
}

// headers sets those that belong to an answer.
func (s *Server) headers(w http.ResponseWriter, a reader.Answer) {
	if a.Immutable {
		s.immutable.set(w.Header())
	} else {
		s.live.set(w.Header())
	}
	if a.Warning != "" {
		w.Header().Set(api.HeaderWarning, fmt.Sprintf("199 contextd %q", a.Warning))
	}
}

// text is an answer as it reads now.
func (s *Server) text(a reader.Answer) []byte {
	if a.Body == nil {
		return a.JSON
	}
	return a.Body.Bytes(s.readAt(a))
}

// readAt is the moment at which the age in an answer is measured.
func (s *Server) readAt(a reader.Answer) time.Time {
	if a.At.IsZero() {
		return s.cfg.Now()
	}
	return a.At
}

// write sends an answer. Bodies that were compressed once are sent so where the client takes gzip.
func (s *Server) write(w http.ResponseWriter, r *http.Request, a reader.Answer) {
	s.headers(w, a)
	if a.Body != nil && acceptsGzip(r.Header["Accept-Encoding"]) {
		w.Header().Set("Content-Encoding", "gzip")
		send(w, http.StatusOK, a.Body.Gzip(s.readAt(a)))
		return
	}
	send(w, http.StatusOK, s.text(a))
}

// send writes a JSON text with its length. A client that went away is not an error of ours.
func send(w http.ResponseWriter, status int, text []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// WriteJSON answers with status and v as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	send(w, status, buf.Bytes())
	return nil
}

// Seconds is d in whole seconds, rounded up.
func Seconds(d time.Duration) string {
	return strconv.FormatInt(int64(math.Ceil(d.Seconds())), 10)
}

// acceptsGzip reports whether the Accept-Encoding values take gzip: named, or by *, and not with q=0.
func acceptsGzip(values []string) bool {
	any := false
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			coding, params, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return !refused(params)
			case "*":
				any = !refused(params)
			}
		}
	}
	return any
}

// refused reports whether the parameters of a coding say q=0.
func refused(params string) bool {
	name, value, _ := strings.Cut(params, "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return false
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && q == 0
}
