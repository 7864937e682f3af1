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
)

// way is the SDK handler that a POST goes to.
type way int

// The ways: with a session, without one, and without one and streams.
const (
	wayStateful way = iota
	wayStateless
	wayBare
)

// route decides the way of the POST r with message m. Only who has a key gets a session. A plain POST without handshake and without an
// Accept header for streams gets plain JSON.
func route(r *http.Request, m Envelope, keyed bool) way {
	streams := acceptsStreams(r.Header.Values("Accept"))
	modern := r.Header.Get(headerVersion) >= modernVersion
	switch {
	case !keyed:
		return wayBare
	case modern && streams:
		return wayStateless
	case modern:
		return wayBare
	case r.Header.Get(headerSession) != "", m.Method == methodInitialize && streams:
		return wayStateful
	case streams:
		return wayStateless
	}
	return wayBare
}

// acceptsStreams reports whether a client names event streams. One that takes anything has not asked for them.
func acceptsStreams(accept []string) bool {
	for _, value := range accept {
		for part := range strings.SplitSeq(value, ",") {
			kind, _, _ := strings.Cut(part, ";")
			if strings.EqualFold(strings.TrimSpace(kind), "text/event-stream") {
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
