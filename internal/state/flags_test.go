package state_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// TestGroupFlags: a subject has one line, three subjects of one kind share one that says how far they moved, and what is critical shares
// none.
func TestGroupFlags(t *testing.T) {
	t.Parallel()
	flag := func(kind string, severity api.Severity, subject string, value float64) api.Flag {
		return api.Flag{ID: kind + subject, Kind: kind, Severity: severity, Subject: subject, Entity: strings.ToLower(subject), Value: value,
			Message: fmt.Sprintf("%s %s", subject, kind)}
	}
	const fast, depeg = api.FlagFastMove, api.FlagDepeg
	for name, c := range map[string]struct {
		flags []api.Flag
		want  []string
	}{
		"none": {},
		"two of a kind": {
			[]api.Flag{flag(fast, api.SeverityWarning, "A", 9), flag(fast, api.SeverityNotice, "B", 8)}, []string{"A fast_move", "B fast_move"},
		},
		"three of a kind": {
			[]api.Flag{flag(fast, api.SeverityWarning, "A", 19), flag("other", api.SeverityWarning, "X", 1),
				flag(fast, api.SeverityNotice, "B", 8.25), flag(fast, api.SeverityNotice, "C", 9)},
			[]string{"3 coins are up 8.2% to 19.0% within an hour: A, B, C", "X other"},
		},
		"down and up": {
			[]api.Flag{flag(fast, api.SeverityNotice, "A", -9), flag(fast, api.SeverityNotice, "B", 8), flag(fast, api.SeverityNotice, "C", -9),
				flag(fast, api.SeverityNotice, "D", -10)},
			[]string{"4 coins move by 8.0% to 10.0% within an hour: A, B, C and 1 more"},
		},
		"down": {
			[]api.Flag{flag(api.FlagPriceMove, api.SeverityNotice, "A", -21), flag(api.FlagPriceMove, api.SeverityNotice, "B", -20),
				flag(api.FlagPriceMove, api.SeverityNotice, "C", -30)},
			[]string{"3 coins are down 20.0% to 30.0% in 24 hours: A, B, C"},
		},
		"two of a subject": {
			[]api.Flag{flag(fast, api.SeverityWarning, "A", 19), flag(api.FlagPriceMove, api.SeverityNotice, "A", 30)},
			[]string{"A fast_move; A price_move"},
		},
		"critical": {
			[]api.Flag{flag(depeg, api.SeverityCritical, "A", 9), flag(depeg, api.SeverityWarning, "B", 1), flag(depeg, api.SeverityNotice, "C", 1)},
			[]string{"A stablecoin_depeg", "B stablecoin_depeg", "C stablecoin_depeg"},
		},
		"of a pack of one's own": {
			[]api.Flag{flag("too_hot", api.SeverityNotice, "A", 9), flag("too_hot", api.SeverityNotice, "B", 1), flag("too_hot", api.SeverityNotice, "C", 1)},
			[]string{"Too hot, 3 of them: A, B, C"},
		},
	} {
		told, all := []string{}, 0
		for _, g := range state.GroupFlags(c.flags) {
			told = append(told, g.Text)
			all += len(g.Flags)
		}
		if strings.Join(told, "|") != strings.Join(c.want, "|") || all != len(c.flags) {
			t.Errorf("%s: %d flags as %q, want %q", name, all, told, c.want)
		}
	}
}
