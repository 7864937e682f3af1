package api

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Bounds of a call of check.
const (
	MaxCheckBytes   = 16 << 10
	MaxCheckFigures = 300
	CheckWithin     = 15 * time.Minute // by default
	CheckWithinMin  = time.Minute
)

// CheckVerdict says what became of a figure of a text, or of the whole text, which is as good as the worst of its figures.
type CheckVerdict string

// The verdicts, the worst first. Nothing is refuted because it was not found.
const (
	CheckRefuted  CheckVerdict = "refuted"  // the row says something else
	CheckStale    CheckVerdict = "stale"    // it was so at another time
	CheckUnknown  CheckVerdict = "unknown"  // not judged; the reason says why
	CheckVerified CheckVerdict = "verified" // the row says so
)

// CheckMark is a sign for a verdict.
func CheckMark(v CheckVerdict) string {
	switch v {
	case CheckRefuted:
		return "✗"
	case CheckStale:
		return "~"
	case CheckVerified:
		return "✓"
	}
	return "?"
}

// CheckVerdicts are the verdicts, the worst first.
func CheckVerdicts() []CheckVerdict {
	return []CheckVerdict{CheckRefuted, CheckStale, CheckUnknown, CheckVerified}
}

// CheckReason says why a figure is refuted, stale or unknown.
type CheckReason string

// The reasons. The first two are of what is refuted.
const (
	CheckOtherValue       CheckReason = "other_value"
	CheckDirection        CheckReason = "direction"
	CheckSourceStale      CheckReason = "source_stale" // its source is overdue
	CheckOtherTime        CheckReason = "other_time"   // of another moment than that of the check
	CheckNoSubject        CheckReason = "no_subject"   // nothing is named that it could be of
	CheckNoSuchField      CheckReason = "no_such_field"
	CheckNotInState       CheckReason = "not_in_state" // the state of the moment does not show the row
	CheckAmbiguousSubject CheckReason = "ambiguous_subject"
	CheckAmbiguousField   CheckReason = "ambiguous_field"
	CheckNear             CheckReason = "near" // neither the value nor far from it
	CheckOtherCurrency    CheckReason = "other_currency"
	CheckOtherVenue       CheckReason = "other_venue"
	CheckNoHistory        CheckReason = "no_history" // how it moved is not known
	CheckForecast         CheckReason = "forecast"
	CheckLevel            CheckReason = "level"
	CheckNegated          CheckReason = "negated"
	CheckQuoted           CheckReason = "quoted"
	CheckComputed         CheckReason = "computed"
	CheckOwnPosition      CheckReason = "own_position"
	CheckNumberFormat     CheckReason = "number_format"
	CheckCharacter        CheckReason = "character" // it cannot be seen, or changes how others are read
)

// CheckReasons are all reasons.
func CheckReasons() []CheckReason {
	return []CheckReason{
		CheckOtherValue, CheckDirection, CheckSourceStale, CheckOtherTime, CheckNoSubject, CheckNoSuchField, CheckNotInState,
		CheckAmbiguousSubject, CheckAmbiguousField, CheckNear, CheckOtherCurrency, CheckOtherVenue, CheckNoHistory, CheckForecast,
		CheckLevel, CheckNegated, CheckQuoted, CheckComputed, CheckOwnPosition, CheckNumberFormat, CheckCharacter,
	}
}

// CheckResponse is the answer to check: what became of the figures of a text.
type CheckResponse struct {
	Verdict   CheckVerdict   `json:"verdict"`
	Clear     bool           `json:"clear"`  // nothing is refuted or stale
	Judged    int            `json:"judged"` // figures that are verified, refuted or stale
	Verified  int            `json:"verified"`
	Refuted   int            `json:"refuted"`
	Stale     int            `json:"stale"`
	Unknown   int            `json:"unknown"`
	At        time.Time      `json:"at"`       // the moment that the text was judged for: that of the state
	Findings  []CheckFinding `json:"findings"` // in the order of the text; those that are verified only where all are asked for
	Citations []Citation     `json:"citations"`
	Notices   []string       `json:"notices,omitempty"`
	Freshness Freshness      `json:"freshness"`
	Basis     *CheckBasis    `json:"basis,omitempty"` // where it is asked for and the log has the state
}

// CheckBasis is what a text was judged against beside the state: the rows and samples that its judgement needs.
type CheckBasis struct {
	Text string `json:"text"` // JSON, to the byte
	Note string `json:"note"` // CheckNote, signed by the key of the log
}

// CheckNote is what a log signs of a basis: the leaf of its state, and its hash. No checkpoint begins so.
func CheckNote(log, leaf, basis string) string {
	sum := sha256.Sum256([]byte(basis))
	return log + " check\n" + leaf + "\n" + hex.EncodeToString(sum[:]) + "\n"
}

// CheckFinding is what became of one figure. What it is compared with is there where the row and the field are known.
type CheckFinding struct {
	Start      int          `json:"start"` // in code points of the text
	End        int          `json:"end"`
	Text       string       `json:"text"` // as written, at most 120 characters
	Verdict    CheckVerdict `json:"verdict"`
	Reason     CheckReason  `json:"reason,omitempty"`
	Row        string       `json:"row,omitempty"`   // kind/key
	Field      string       `json:"field,omitempty"` // as lookup names it
	Written    *float64     `json:"said,omitempty"`
	Actual     *float64     `json:"actual,omitempty"`
	Range      []float64    `json:"range,omitempty"` // least and most that it was since Since
	Since      *time.Time   `json:"since,omitempty"`
	AsOf       *time.Time   `json:"asOf,omitempty"` // when it was so, of what is stale
	Says       string       `json:"says,omitempty"` // a sentence that may be pasted, with an anchor
	Path       string       `json:"path,omitempty"` // of the value in the state; "" where the state does not show it
	Ref        int          `json:"ref,omitempty"`
	URL        string       `json:"url,omitempty"`
	FetchedAt  *time.Time   `json:"fetchedAt,omitempty"`
	AgeSeconds *int64       `json:"ageSeconds,omitempty"`
	Proof      bool         `json:"proof,omitempty"` // the leaf of the state covers it
}
