package doctor_test

import (
	"fmt"
	"testing"

	"github.com/contextd/contextd/internal/doctor"
)

// TestReport: findings are noted with what to do, counted, and listed in the columns that are asked for.
func TestReport(t *testing.T) {
	t.Parallel()
	var list []doctor.Finding
	report := doctor.Report(func(f doctor.Finding) { list = append(list, f) })
	report.OK("disk", "%d GB free", 7)
	report.Warn("mail", "set smtp.host", "none")
	report.Fail("chain", "correct %d%%", "no answer from %s", "node")
	want := "[{disk ok 7 GB free } {mail warning none set smtp.host} {chain error no answer from node correct %d%%}]"
	if got := fmt.Sprint(list); got != want || doctor.Failures(list) != 1 {
		t.Errorf("%s, %d failures", got, doctor.Failures(list))
	}
	rows := doctor.Rows(list[:1], "outcome", "check", "found", "fix")
	if got := fmt.Sprint(rows.Columns, rows.Rows); got != "[outcome check found fix] [[ok disk 7 GB free ]]" {
		t.Error(got)
	}
}
