package examine

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/doctor"
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
