package metrics

import (
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// statusLeft is counted where a client left before there was an answer.
const statusLeft = 499

// Calls counts the calls that next answers and, with access, writes a line of the log for each. The line has neither the parameters of a
// call, among which the key of a stream is, nor any header but the public part of the key.
//
// client says who called; nil means who connected. untraced says of which keys, by their ids, no line may be written; nil means of none.
func (m *Metrics) Calls(
	next http.Handler, access *slog.Logger, client func(*http.Request) netip.Addr, untraced func(keyID string) bool,
) http.Handler {
	if client == nil {
		client = func(r *http.Request) netip.Addr {
			connected, _ := netip.ParseAddrPort(r.RemoteAddr) // not valid on a Unix socket
			return connected.Addr()
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := m.now()
		seen := &writer{ResponseWriter: w, status: statusLeft}
		defer func() {
			took := m.now().Sub(began)
			operation, stream := operationOf(r.Pattern)
			m.requested(call{operation, authentication(r), seen.status}, took, stream)
			if access != nil && (untraced == nil || !untraced(keyID(r))) {
				log(access, r, client(r), seen, operation, took)
			}
		}()
		next.ServeHTTP(seen, r)
	})
}

func log(access *slog.Logger, r *http.Request, client netip.Addr, seen *writer, operation string, took time.Duration) {
	access.Info("call", "method", r.Method, "path", r.URL.Path, "operation", operation,
		"status", seen.status, "bytes", seen.bytes, "took", took,
		"client", client.String(), "key_id", keyID(r), "request_id", seen.Header().Get(api.HeaderRequestID))
}

// operationOf is what a route does: the name of an operation, else the route itself. stream says that its time says nothing.
func operationOf(pattern string) (operation string, stream bool) {
	if name, ok := strings.CutPrefix(pattern, "/v1/"); ok {
		return name, pattern == api.PathSubscribe
	}
	if pattern == api.PathMCP || pattern == api.PathMCPAccount {
		return "mcp", true
	}
	if pattern == "" || pattern == "/" {
		return "unknown", false
	}
	return pattern, false
}

const headerSignature = "Payment-Signature"

func authentication(r *http.Request) string {
	h := r.Header
	switch {
	case len(h["Authorization"]) > 0 || r.Pattern == api.PathSubscribe:
		return "key"
	case len(h[headerSignature])+len(h[api.HeaderPayment])+len(h[api.HeaderPaymentAlias]) > 0:
		return "proof"
	case len(h["Cookie"]) > 0 && strings.Contains(h["Cookie"][0], api.SessionCookie+"="):
		return "session"
	}
	return "none"
}

// keyID is the public part of the key that a request has, "" for none.
func keyID(r *http.Request) string {
	_, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if key == "" && r.Pattern == api.PathSubscribe {
		key = r.URL.Query().Get("token")
	}
	if len(key) < 2*api.KeyIDLength || !strings.HasPrefix(key, "cv_") {
		return ""
	}
	return key[:api.KeyIDLength]
}

type writer struct {
	http.ResponseWriter
	status int
	bytes  int64
	wrote  bool
}

// WriteHeader notes the status.
func (w *writer) WriteHeader(status int) {
	if !w.wrote && status >= http.StatusOK {
		w.status, w.wrote = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write counts bytes.
func (w *writer) Write(p []byte) (int, error) {
	if !w.wrote {
		w.status, w.wrote = http.StatusOK, true
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// FlushError sends what was written, for http.ResponseController.
func (w *writer) FlushError() error {
	if !w.wrote {
		w.status, w.wrote = http.StatusOK, true
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush is FlushError for those who ask for an http.Flusher.
func (w *writer) Flush() { _ = w.FlushError() } // a client that has left is found out when it is written to

// Unwrap lets http.ResponseController reach the connection.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
