package manifest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/pack/manifest"
)

// TestManifestOfBefore: a manifest that polls more often than states are made, or calls its data old before it can be newer, is served as
// near to that as can be, with a warning.
func TestManifestOfBefore(t *testing.T) {
	t.Parallel()
	const text = `pack: mine
version: 1
title: Mine
sources:
  - id: acme-load
    name: Acme
    public_url: https://acme.example/
    licence: public
    request: {url: https://api.acme.example/v1/load}
    TIMES
    rows: .[]
    kind: thing
    fields: {load: percent}
members: {first: {from: acme-load}}
`
	for times, want := range map[string]struct {
		every, stale time.Duration
		warned       []string
	}{
		"every: 5m":  {5 * time.Minute, 15 * time.Minute, nil},
		"every: 10m": {10 * time.Minute, 30 * time.Minute, nil},
		"every: 4m59s": {5 * time.Minute, 14*time.Minute + 57*time.Second, []string{
			"sources[0].every of acme-load is 4m59s and taken as 5m: states are made every 5m",
		}},
		"{every: 1m, stale_after: 3m}": {5 * time.Minute, 15 * time.Minute, []string{
			"sources[0].every of acme-load is 1m and taken as 5m: states are made every 5m",
			"sources[0].stale_after of acme-load is 3m and taken as 15m: it is polled every 5m",
		}},
		"{every: 1m, stale_after: 5m}": {5 * time.Minute, 5 * time.Minute, []string{
			"sources[0].every of acme-load is 1m and taken as 5m: states are made every 5m",
		}},
		"{every: 30m, stale_after: 29m}": {30 * time.Minute, 90 * time.Minute, []string{
			"sources[0].stale_after of acme-load is 29m and taken as 90m: it is polled every 30m",
		}},
	} {
		lines := strings.ReplaceAll(strings.Trim(times, "{}"), ", ", "\n    ")
		m, err := manifest.Read([]byte(strings.Replace(text, "TIMES", lines, 1)), false)
		if err != nil {
			t.Errorf("%s: %v", times, err)
			continue
		}
		s := m.Sources[0]
		if s.Every != want.every || s.StaleAfter != want.stale || strings.Join(m.Warnings(), "\n") != strings.Join(want.warned, "\n") {
			t.Errorf("%s: every %v, stale after %v, %q; want %+v", times, s.Every, s.StaleAfter, m.Warnings(), want)
		}
	}
}
