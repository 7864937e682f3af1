package api

import (
	"encoding/json"
	"time"
)

// Freshness says how old the state behind an answer is.
type Freshness struct {
	GeneratedAt time.Time `json:"generatedAt"` // when the state was last compacted, UTC, millisecond precision
	AgeSeconds  int64     `json:"ageSeconds"`  // whole seconds since then; over MaxFreshAge says that the pipeline lags
}

// Stale reports whether the refresh pipeline lags.
func (f Freshness) Stale() bool { return f.AgeSeconds > MaxFreshAge }

// Citation ties anchor [Ref] of a brief to its source.
type Citation struct {
	Ref       int       `json:"ref"` // 1-based; the place in the pack's source list
	SourceID  string    `json:"sourceId"`
	URL       string    `json:"url"`
	FetchedAt time.Time `json:"fetchedAt"` // when the source last answered well
	Excerpt   string    `json:"excerpt,omitempty"`
}

// Attestation is provenance in an on-chain registry (a later phase).
type Attestation struct {
	Type AttestationType `json:"type"`
	Ref  string          `json:"ref"`
}

// StateResponse is the answer of fresh and snapshot. State is kept as the bytes the service sent.
type StateResponse struct {
	State       json.RawMessage `json:"state"`
	Brief       string          `json:"brief"`             // prose with [N] anchors; "" for snapshots
	BriefAt     *time.Time      `json:"briefAt,omitempty"` // when Brief was written
	Citations   []Citation      `json:"citations"`
	Freshness   Freshness       `json:"freshness"`
	Attestation *Attestation    `json:"attestation,omitempty"`
}

// BriefResponse is the answer of brief.
type BriefResponse struct {
	Brief     string     `json:"brief"`
	BriefAt   *time.Time `json:"briefAt,omitempty"`
	Citations []Citation `json:"citations"`
	Freshness Freshness  `json:"freshness"`
}

// SearchMatch is one leaf of the state that matched.
type SearchMatch struct {
	Path  string          `json:"path"`  // for example top_movers[0].symbol
	Value json.RawMessage `json:"value"` // the leaf's JSON text: string, number or boolean
	Score float64         `json:"score"` // ScoreWord or ScoreSubstring
}

// Scores of search matches.
const (
	ScoreWord      = 1.0
	ScoreSubstring = 0.5
)

// SearchResponse is the answer of search: at most k matches, best first, ties in document order.
type SearchResponse struct {
	Matches   []SearchMatch `json:"matches"`
	Total     int           `json:"total"` // matches before truncation to k
	Freshness Freshness     `json:"freshness"`
}

// Source is one source of a pack.
type Source struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	PublicURL string `json:"publicUrl"`
}

// CiteRequest is the JSON body of POST /v1/cite. The same members may come as query parameters instead.
type CiteRequest struct {
	Pack string `json:"pack,omitempty"`
	Ref  int    `json:"ref"`
}

// CiteResponse is the answer of cite.
type CiteResponse struct {
	Citation  Citation  `json:"citation"`
	Source    Source    `json:"source"`
	Freshness Freshness `json:"freshness"`
}

// EventType is the event line of a stream frame.
type EventType string

// The stream events.
const (
	EventPulse EventType = "pulse" // every PulseInterval and on connection
	EventDelta EventType = "delta" // a new compaction landed
	EventError EventType = "error" // something failed, the stream stays open
)

// StreamState is the data of pulse and delta frames. TS is the generatedAt of State; clients dedupe on it.
type StreamState struct {
	Pack  string          `json:"pack"`
	State json.RawMessage `json:"state"`
	TS    time.Time       `json:"ts"`
}

// StreamError is the data of error frames.
type StreamError struct {
	Message string `json:"message"`
}
