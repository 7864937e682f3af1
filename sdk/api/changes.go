package api

import "time"

// MaxChangedRows is the maximum number of rows in an answer of changes.
const MaxChangedRows = 50

// FlagChange is the change of a flag between two states.
type FlagChange string

// The changes of flags. A flag rises or falls when its severity does, or when its value changes by a quarter or more.
const (
	FlagAppeared FlagChange = "appeared"
	FlagRose     FlagChange = "rose"
	FlagFell     FlagChange = "fell"
	FlagEnded    FlagChange = "ended"
)

// FlagChanges returns every change of a flag, in the order of an answer.
func FlagChanges() []FlagChange { return []FlagChange{FlagAppeared, FlagRose, FlagFell, FlagEnded} }

// ChangedFlag is a flag that changed.
type ChangedFlag struct {
	ID       string     `json:"id"`
	Kind     string     `json:"kind"`
	Severity Severity   `json:"severity"`      // now; of an ended flag, its last one, and its gravest if it appeared in between
	Was      Severity   `json:"was,omitempty"` // before; "" for one that appeared, also if it ended
	Change   FlagChange `json:"change"`
	Message  string     `json:"message"`
	Entity   string     `json:"entity,omitempty"` // of the thing that it speaks of
	Ref      int        `json:"ref"`
	Since    time.Time  `json:"since"`             // when it went up
	EventAt  *time.Time `json:"eventAt,omitempty"` // the time of the event, if known
	EndedAt  *time.Time `json:"endedAt,omitempty"` // of one that ended: the first state known to be without it
}

// ChangedRow is a row of the state with a changed figure. Kind, Key and Entity are those of lookup.
type ChangedRow struct {
	Kind      string   `json:"kind"`
	Key       string   `json:"key"`
	Entity    string   `json:"entity"`
	Name      string   `json:"name"`
	Symbol    string   `json:"symbol,omitempty"`
	Field     string   `json:"field"` // the changed field with its unit
	From      float64  `json:"from"`
	To        float64  `json:"to"`
	ChangePct *float64 `json:"changePct,omitempty"` // left out where From is 0, and where Field is in percent: To - From says it then
	Ref       int      `json:"ref"`
	URL       string   `json:"url"`          // of the row itself, not of its source, where there is such a page
	Of        string   `json:"of,omitempty"` // as in LookupRow
	Stale     bool     `json:"stale"`        // the last attempt of its source failed
}

// NewHeadline is a headline absent from the older state.
type NewHeadline struct {
	Key   string    `json:"key"`
	Title string    `json:"title"`
	URL   string    `json:"url"`
	Ref   int       `json:"ref"`
	At    time.Time `json:"at"` // when it was published
}

// SourceHealth is the health of a source in an answer of changes.
type SourceHealth string

// The healths of sources: see SourceState.
const (
	HealthOK     SourceHealth = "ok"
	HealthStale  SourceHealth = "stale"
	HealthFailed SourceHealth = "failed"
)

// SourceHealths returns every health of a source, best first.
func SourceHealths() []SourceHealth { return []SourceHealth{HealthOK, HealthStale, HealthFailed} }

// ChangedSource is a source that failed, recovered or still does not answer.
type ChangedSource struct {
	ID   string       `json:"id"`
	Ref  int          `json:"ref"`
	From SourceHealth `json:"from"`
	To   SourceHealth `json:"to"`
}

// ChangesResponse is the answer of changes: the differences between two states of a pack.
type ChangesResponse struct {
	Since     time.Time       `json:"since"`     // the requested time
	From      time.Time       `json:"from"`      // generatedAt of the older state, the newest as of Since
	To        time.Time       `json:"to"`        // generatedAt of the newer one, the newest of all
	Flags     []ChangedFlag   `json:"flags"`     // by what became of them, the gravest first
	Rows      []ChangedRow    `json:"rows"`      // the MaxChangedRows that moved most, those first
	Headlines []NewHeadline   `json:"headlines"` // the newest first
	Sources   []ChangedSource `json:"sources"`
	Clear     bool            `json:"clear"` // no flag appeared or rose, and every source of the newer state answered

	SourcesAnswered int `json:"sourcesAnswered"` // when they should have, as the newer state has it
	SourcesAsked    int `json:"sourcesAsked"`    // all of them

	Citations []Citation `json:"citations"`
	Freshness Freshness  `json:"freshness"` // of the newer state
}
