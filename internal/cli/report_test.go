package cli_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// TestReportSaysWhy: where there is no state, people are told which sources fail and why, the most frequent reason first.
func TestReportSaysWhy(t *testing.T) {
	t.Parallel()
	source := func(id, reason string) api.SourceStatus {
		s := api.SourceStatus{ID: id}
		if reason != "" {
			s.Error = &reason
		}
		return s
	}
	for name, test := range map[string]struct {
		list []api.SourceStatus
		want string
	}{
		"none":     {nil, ""},
		"all well": {[]api.SourceStatus{source("a", "")}, ""},
		"one":      {[]api.SourceStatus{source("a", "timeout"), source("b", "")}, "  1 of 2 sources fail: a: timeout\n"},
		"several": {[]api.SourceStatus{source("a", "timeout"), source("b", "network: host not found"), source("c", "network: host not found")},
			"  3 of 3 sources fail: 2 sources: network: host not found; a: timeout\n"},
		"alike": {[]api.SourceStatus{source("a", "timeout"), source("b", "timeout")}, "  2 of 2 sources fail: timeout\n"},
		"no network": {[]api.SourceStatus{source("a", "network: x"), source("b", "network: x")},
			"  2 of 2 sources fail: network: x; is there a network where the service runs?\n"},
		"one well": {[]api.SourceStatus{source("a", "network: x"), source("b", "network: x"), source("c", "")}, "  2 of 3 sources fail: network: x\n"},
		"many": {[]api.SourceStatus{source("a", "1"), source("b", "2"), source("c", "3"), source("d", "4")},
			"  4 of 4 sources fail: a: 1; b: 2; c: 3\n"},
		"hostile": {[]api.SourceStatus{source("a", "x\x1b[31m\ny")}, "  1 of 1 sources fail: a: x y\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := api.Errorf(api.ReasonStateUnavailable, "pack crypto has no state yet")
			e.SourceStatus = test.list
			var b strings.Builder
			cli.ToFailure(e, func(error) *cli.Failure { return nil }).Report(&b, cli.Style{ASCII: true}, false)
			if _, said, _ := strings.Cut(b.String(), "\n"); said != test.want {
				t.Errorf("got %q, want %q", said, test.want)
			}
		})
	}
}
