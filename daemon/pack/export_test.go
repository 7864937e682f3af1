package pack

import (
	"time"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

type (
	NarrativeInput = narrativeInput
	SearchedCoin   = searchedCoin
	Headline       = headline
	Theme          = theme
	Observation    = observation
)

const (
	MaxFlags = maxFlags
	MaxState = maxState
)

// What the tests call. Each is its namesake.

func RankThemes(in NarrativeInput) []api.Narrative { return rankThemes(in) }

func RaiseFlags(seen []Observation, prev []api.Flag, ended []state.Ended, now time.Time) []api.Flag {
	return raiseFlags(seen, prev, ended, now)
}

func SeverityOf(size, warning, critical float64) api.Severity {
	return severityOf(size, warning, critical)
}

func SourceTroubles(status []api.SourceStatus, name func(ref int) string, now time.Time) []Observation {
	return sourceTroubles(status, name, now)
}

// SameStory reports whether two headlines tell the same.
func SameStory(a, b string) bool { return wordingOf(a).same(wordingOf(b)) }
