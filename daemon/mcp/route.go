package mcp

import (
	"mime"
	"net/http"
	"strings"
)

// Headers of the protocol.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
)

// modernVersion is the first version without handshake and session.
const modernVersion = "2026-07-28"

// Methods that the transport looks at.
const (
	methodInitialize = "initialize"
	methodCall       = "tools/call"
	methodRead       = "resources/read"
	methodSubscribe  = "resources/subscribe"
	methodListen     = "subscriptions/listen"
	methodTools      = "tools/list"
	methodPrompt     = "prompts/get"
)

// route is the SDK handler that a POST goes to.
type route int

// The routes: with a session, without one, and without one and streams.
const (
	routeStateful route = iota
	routeStateless
	routeBare
)

// routeOf decides the route of the POST r with message m. Only who has a key gets a session. A plain POST without handshake and without an
// Accept header for streams gets plain JSON.
func routeOf(r *http.Request, m message, keyed bool) route {
	streams := accepts(r.Header.Values("Accept"), "text/event-stream")
	modern := r.Header.Get(headerVersion) >= modernVersion
	switch {
	case !keyed:
		return routeBare
	case modern && streams:
		return routeStateless
	case modern:
		return routeBare
	case r.Header.Get(headerSession) != "", m.Method == methodInitialize && streams:
		return routeStateful
	case streams:
		return routeStateless
	}
	return routeBare
}

// accepts reports whether a client names the type want. One that takes anything has not asked for it.
func accepts(accept []string, want string) bool {
	for _, value := range accept {
		for part := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), want) {
				return true
			}
		}
	}
	return false
}

// normalize makes the headers of r those that the SDK insists on, where a client has left them out or sent what its tool does unasked.
func normalize(r *http.Request) {
	if r.Method == http.MethodGet {
		if accept := r.Header.Get("Accept"); accept == "" || accept == "*/*" {
			r.Header.Set("Accept", "text/event-stream")
		}
		return
	}
	r.Header.Set("Accept", "application/json, text/event-stream")
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if r.Header.Get("Content-Type") == "" || err == nil && kind == "application/x-www-form-urlencoded" {
		r.Header.Set("Content-Type", "application/json")
	}
}
