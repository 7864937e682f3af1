package api

import (
	"encoding/json"
	"time"
)

// Freshness is the age of the state behind an answer.
type Freshness struct {
	GeneratedAt time.Time `json:"generatedAt"` // when the state was last compacted, UTC, millisecond precision
	AgeSeconds  int64     `json:"ageSeconds"`  // whole seconds since then; over MaxFreshAge the pipeline lags

	// DataAgeSeconds is the age of the oldest data of overdue sources, or AgeSeconds if no source is overdue. A source is overdue if its
	// last attempt failed, or if its last answer is more than a minute older than its interval allows.
	DataAgeSeconds int64 `json:"dataAgeSeconds"`

	// Provenance is the lowest of the sources behind the answer; "" from a service that does not tell it.
	Provenance Provenance `json:"provenance,omitempty"`

	// Sources lists the sources that are not ok at the time of the answer, and Flags the flags about them. They can be newer than the
	// state, which keeps its bytes when no source answers; both are empty while all sources are ok.
	Sources []SourceTrouble `json:"sources,omitempty"`
	Flags   []Flag          `json:"flags,omitempty"`
}

// SourceTrouble is how a source that is not ok does at the time of an answer.
type SourceTrouble struct {
	ID       string      `json:"id"`
	Status   SourceState `json:"status"`
	Since    *time.Time  `json:"since,omitempty"` // when its next answer was due, or its last one if it failed before; nil if there was none
	Failures int         `json:"failures"`        // attempts that failed since its last good answer
}

// At returns f as of now. It counts from GeneratedAt, not from the age in the answer, which a cache or a replay may have kept, and is never
// less than that age. Do not use it on a snapshot, whose ages are those at its moment.
func (f Freshness) At(now time.Time) Freshness {
	f.DataAgeSeconds = max(f.DataAgeSeconds, f.AgeSeconds)
	if on := wholeSeconds(now.Sub(f.GeneratedAt)) - f.AgeSeconds; on > 0 && !f.GeneratedAt.IsZero() {
		f.AgeSeconds += on
		f.DataAgeSeconds += on
	}
	return f
}

// Told returns the time of the answer by the clock of the service; of a snapshot, the end of its moment.
func (f Freshness) Told() time.Time {
	return f.GeneratedAt.Add(time.Duration(f.AgeSeconds) * time.Second)
}

// Stale reports whether the data is older than MaxFreshAge at now, because the refresh pipeline lags or a source is overdue.
func (f Freshness) Stale(now time.Time) bool { return f.At(now).DataAgeSeconds > MaxFreshAge }

// Citation ties anchor [Ref] of a brief to its source.
type Citation struct {
	Ref       int       `json:"ref"` // 1-based; the place in the pack's source list
	SourceID  string    `json:"sourceId"`
	URL       string    `json:"url"`
	FetchedAt time.Time `json:"fetchedAt"`     // when the source last answered well
	Via       string    `json:"via,omitempty"` // who answered in place of the source
	Excerpt   string    `json:"excerpt,omitempty"`
	Row       string    `json:"row,omitempty"` // kind/key of the row that URL and Excerpt are of; "" for those of the source
	Use       Use       `json:"use,omitzero"`  // what the terms of who answered allow; zero in states from before they were kept

	// Provenance is how it is known that the source answered so; "" for a source that has not answered yet.
	Provenance Provenance `json:"provenance,omitempty"`
}

// Provenance is how it is known what a source answered at a fetch. None says that the figure is true.
type Provenance string

// Degrees of provenance.
const (
	SelfAttested Provenance = "self_attested" // the operator says so: the hash is in the log, nobody else has the bytes
	Recomputable Provenance = "recomputable"  // the operator has the bytes still, and who is shown them can make the state again
)

// Provenances returns every degree of provenance, the lowest first.
func Provenances() []Provenance { return []Provenance{SelfAttested, Recomputable} }

// LowestProvenance is that of an answer with these citations, "" where none tells it.
func LowestProvenance(list []Citation) (lowest Provenance) {
	for _, c := range list {
		if c.Provenance != "" && lowest != SelfAttested {
			lowest = c.Provenance
		}
	}
	return lowest
}

// Claim is a figure of a brief with its source.
type Claim struct {
	Start int    `json:"start"` // in Unicode code points of the brief
	End   int    `json:"end"`   // behind the figure
	Text  string `json:"text"`  // the figure as it is written
	Ref   int    `json:"ref"`   // the anchor of the figure
	Row   string `json:"row"`   // kind/key of the row that holds it, as cite takes it
	Field string `json:"field"` // its member there
	Path  string `json:"path"`  // in the state of BriefOf, as search writes paths
}

// Attestation is provenance in an on-chain registry (a later phase).
type Attestation struct {
	Type AttestationType `json:"type"`
	Ref  string          `json:"ref"`
}

// StateResponse is the answer of fresh and snapshot. State holds the bytes as sent.
type StateResponse struct {
	State       json.RawMessage `json:"state"`
	Brief       string          `json:"brief"`             // prose with [N] anchors; "" for snapshots
	BriefAt     *time.Time      `json:"briefAt,omitempty"` // when Brief was written
	BriefOf     *time.Time      `json:"briefOf,omitempty"` // GeneratedAt of the state that Brief was written from
	Since       *Since          `json:"since,omitempty"`   // the changes after BriefOf, if State is newer
	Citations   []Citation      `json:"citations"`         // of State
	Freshness   Freshness       `json:"freshness"`         // of State
	Attestation *Attestation    `json:"attestation,omitempty"`

	BriefCitations []Citation `json:"briefCitations,omitempty"` // those of the state of BriefOf, where State is newer
	Claims         []Claim    `json:"claims,omitempty"`         // where they are asked for
}

// Since lists the changes after a brief was written: flags that rose, changed or ended, and moves of prices.
type Since struct {
	Text      string     `json:"text"`      // prose with [N] anchors
	Citations []Citation `json:"citations"` // those that Text names, of the newest state
}

// BriefResponse is the answer of brief.
type BriefResponse struct {
	Brief     string     `json:"brief"`
	BriefAt   *time.Time `json:"briefAt,omitempty"` // when Brief was written
	BriefOf   *time.Time `json:"briefOf,omitempty"` // GeneratedAt of the state that it was written from
	Since     *Since     `json:"since,omitempty"`   // the changes after BriefOf, if the newest state is newer
	Citations []Citation `json:"citations"`         // of the state of BriefOf
	Claims    []Claim    `json:"claims,omitempty"`  // where they are asked for
	Freshness Freshness  `json:"freshness"`         // of the newest state
}

// SearchMatch is one matching leaf of the state.
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
	Total     int           `json:"total"`             // matches before truncation to k
	Notices   []string      `json:"notices,omitempty"` // that sources of the pack prescribe
	Freshness Freshness     `json:"freshness"`
}

// Source is one source of a pack.
type Source struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	PublicURL string `json:"publicUrl"`
}

// CiteRequest is the JSON body of POST /v1/cite. Query parameters of the same names work as well.
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

// StreamState is the data of pulse and delta frames. TS is the generatedAt of State; clients drop duplicates by it. Seq, Leaf and Scope are
// those of the Proof, if one was asked for and the state has one.
type StreamState struct {
	Pack  string          `json:"pack"`
	State json.RawMessage `json:"state"`
	TS    time.Time       `json:"ts"`
	Seq   *int64          `json:"seq,omitempty"`
	Leaf  string          `json:"leaf,omitempty"`
	Scope string          `json:"scope,omitempty"`

	Freshness *Freshness `json:"freshness,omitempty"` // at the time of the frame, where not all sources are ok

	Brief     string     `json:"brief,omitempty"` // this and what follows where the stream was asked for briefs, and there is one
	BriefAt   *time.Time `json:"briefAt,omitempty"`
	Since     *Since     `json:"since,omitempty"` // what changed after the brief was written
	Citations []Citation `json:"citations,omitempty"`
}

// FreshnessAt returns the freshness of the state at now.
func (s StreamState) FreshnessAt(now time.Time) Freshness {
	if s.Freshness != nil {
		return s.Freshness.At(now)
	}
	return AgesOf(s.State).Freshness(s.TS, now)
}

// StreamError is the data of error frames.
type StreamError struct {
	Message string `json:"message"`
}
