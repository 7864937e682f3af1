package state

import (
	"time"

	"github.com/contextd/contextd/internal/human"
)

// Of is the moment that a figure is about, as rows tell it: as its source says it, or "" where it is no older than how often the source is
// asked. A day, a month or a longer period is older once it is over. A time is older if the figure stood so when the source was asked
// before, a spell of every before fetched.
func Of(about string, fetched, now time.Time, every time.Duration) string {
	a, ok := human.ParseAbout(about)
	switch {
	case !ok:
		return ""
	case a.Begin.Equal(a.End) && a.Begin.Before(fetched.Add(-every)):
		return a.String()
	case !a.Begin.Equal(a.End) && !a.End.After(now):
		return a.String()
	}
	return ""
}
