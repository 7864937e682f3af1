package examine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/evidence"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/doctor"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// TestAnchorFindings: the doctor warns where witnesses are asked and no checkpoint of the last two hours is kept with their signatures.
func TestAnchorFindings(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	for name, tt := range map[string]struct {
		newest    time.Time
		witnessed bool
		want      []doctor.Outcome
		found     string
	}{
		"no witness":     {time.Time{}, false, nil, ""},
		"none yet":       {time.Time{}, true, []doctor.Outcome{doctor.Warning}, "no checkpoint is kept"},
		"two hours":      {now.Add(-2 * time.Hour), true, []doctor.Outcome{doctor.OK}, "is of the hour of 2027-01-15 06:00 UTC"},
		"more":           {now.Add(-2*time.Hour - 1), true, []doctor.Outcome{doctor.Warning}, "is 2h00m old"},
		"of before":      {now.Add(-48 * time.Hour), false, []doctor.Outcome{doctor.OK}, "is of the hour of 2027-01-13"},
		"a clock behind": {now.Add(time.Hour), true, []doctor.Outcome{doctor.OK}, "is of the hour of"},
	} {
		var got []doctor.Outcome
		var text []string
		e := examiner{Config{Now: func() time.Time { return now }}, func(f doctor.Finding) {
			got, text = append(got, f.Outcome), append(text, f.Found)
		}}
		e.anchors("anchors crypto", tt.newest, tt.witnessed)
		if !slices.Equal(got, tt.want) || !strings.Contains(strings.Join(text, "\n"), tt.found) {
			t.Errorf("%s: %v %q", name, got, text)
		}
	}
}

// TestWitnessFindings: the doctor warns of a witness that has not signed for ten minutes, and of none before.
func TestWitnessFindings(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	silent := func(d time.Duration, why string) translog.Cosigner {
		since := now.Add(-d)
		return translog.Cosigner{Name: "w.test/1", Since: &since, Error: why}
	}
	signs := translog.Cosigner{Name: "w.test/2", Size: 7}
	for name, tt := range map[string]struct {
		list  []translog.Cosigner
		want  []doctor.Outcome
		found string
	}{
		"none":          {nil, nil, ""},
		"signs":         {[]translog.Cosigner{signs}, []doctor.Outcome{doctor.OK}, "1 of 1 signed the newest checkpoint"},
		"just asked":    {[]translog.Cosigner{silent(0, "")}, []doctor.Outcome{doctor.OK}, "w.test/1 is signing"},
		"almost":        {[]translog.Cosigner{silent(10*time.Minute-1, "refused")}, []doctor.Outcome{doctor.OK}, "w.test/1 is signing"},
		"ten minutes":   {[]translog.Cosigner{silent(10*time.Minute, "refused")}, []doctor.Outcome{doctor.Warning}, "w.test/1 has not signed for 10m00s: refused"},
		"never reached": {[]translog.Cosigner{silent(time.Hour, "")}, []doctor.Outcome{doctor.Warning}, "has not signed for 1h00m: not asked yet"},
		"one of two":    {[]translog.Cosigner{silent(time.Hour, "gone"), signs}, []doctor.Outcome{doctor.Warning, doctor.OK}, "1 of 2 signed"},
	} {
		var got []doctor.Outcome
		var text []string
		e := examiner{Config{Now: func() time.Time { return now }}, func(f doctor.Finding) {
			got, text = append(got, f.Outcome), append(text, f.Found)
			if (f.Outcome == doctor.OK) != (f.Fix == "") {
				t.Errorf("%s: %+v", name, f)
			}
		}}
		e.witnesses("witnesses crypto", tt.list)
		if !slices.Equal(got, tt.want) || !strings.Contains(strings.Join(text, "\n"), tt.found) {
			t.Errorf("%s: %v %q", name, got, text)
		}
	}
}

// TestEvidenceFindings: the doctor warns where answers of sources are not kept, or go before their time, and says which setting to change.
func TestEvidenceFindings(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*evidence.Standing)
		want   doctor.Outcome
		found  string
		fix    string
	}{
		"well":      {func(*evidence.Standing) {}, doctor.OK, "3.0 MB of at most 2.0 GB", ""},
		"full":      {func(s *evidence.Standing) { s.Failing, s.Lost[evidence.LostFull] = evidence.LostFull, 2 }, doctor.Warning, "disk_full, 2 times", "free space"},
		"slow":      {func(s *evidence.Standing) { s.Failing, s.Lost[evidence.LostSlow] = evidence.LostSlow, 1 }, doctor.Warning, "disk_slow, 1 time ", "faster disk"},
		"unwritten": {func(s *evidence.Standing) { s.Failing = evidence.LostWrite }, doctor.Warning, "write_failed, 0 times", "writable"},
		"mended":    {func(s *evidence.Standing) { s.Lost[evidence.LostFull] = 2 }, doctor.OK, "3.0 MB", ""},
		"crowded":   {func(s *evidence.Standing) { s.Dropped[evidence.RoomAll] = 2 }, doctor.Warning, "2 answers went before", "raise evidence.max_mb,"},
		"by one":    {func(s *evidence.Standing) { s.Dropped[evidence.RoomOfOne] = 1 }, doctor.Warning, "1 answer went before", "raise evidence.max_source_mb,"},
		"large":     {func(s *evidence.Standing) { s.Lost[evidence.LostLarge] = 1 }, doctor.OK, "; 1 answer over 16 MB not kept", ""},
	} {
		var got []doctor.Finding
		e := examiner{Config{DataDir: "d"}, func(f doctor.Finding) { got = append(got, f) }}
		s := evidence.Standing{Bytes: 3e6, Most: 2e9, Dropped: map[string]int64{}, Lost: map[string]int64{}}
		tt.change(&s)
		e.evidenceStands(s)
		if len(got) != 1 || got[0].Outcome != tt.want || !strings.Contains(got[0].Found, tt.found) || !strings.Contains(got[0].Fix, tt.fix) ||
			(got[0].Fix == "") != (tt.fix == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestEvidence: the doctor reads what is kept where no daemon runs, and asks the daemon that runs.
func TestEvidence(t *testing.T) {
	t.Parallel()
	bounds := evidence.DefaultBounds()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Evidence = &bounds })
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	d.Evidence().Flush()
	want := human.Bytes(d.Evidence().Standing().Bytes) + " of at most "
	other := evidence.Bounds{All: 1e9} // of the configuration, which was changed
	cfg := Config{DataDir: d.Config.DataDir, Offline: true, Now: d.Clock.Now, Evidence: &other}
	if f := examine(t, cfg)["evidence"]; f.Outcome != doctor.OK || f.Found != want+"2.1 GB" || strings.HasPrefix(want, "0 ") {
		t.Errorf("while it runs: %+v, not %s", f, want)
	}
	d.Stop(t)
	if f := examine(t, cfg)["evidence"]; f.Outcome != doctor.OK || f.Found != want+"1.0 GB" {
		t.Errorf("afterwards: %+v, not %s", f, want)
	}
	cfg.Evidence = nil
	if f, ok := examine(t, cfg)["evidence"]; ok {
		t.Errorf("nothing is kept: %+v", f)
	}
}
