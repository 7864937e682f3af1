// Package doctor is what the doctors of both programs have in common: what a check finds, how that is noted, and how it is listed.
package doctor

import (
	"fmt"

	"github.com/contextd/contextd/internal/cli"
)

// Outcome is how a check ended.
type Outcome string

// The outcomes.
const (
	OK      Outcome = "ok"
	Warning Outcome = "warning"
	Failure Outcome = "error"
)

// Finding is what a check found.
type Finding struct {
	Check   string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	Found   string  `json:"found"`
	Fix     string  `json:"fix"` // what to do; "" where nothing is wrong
}

// Report takes findings, each as soon as it is known.
type Report func(Finding)

// OK reports that nothing is wrong.
func (r Report) OK(check, format string, args ...any) {
	r(Finding{Check: check, Outcome: OK, Found: fmt.Sprintf(format, args...)})
}

// Warn reports what should be looked at, and what to do about it.
func (r Report) Warn(check, fix, format string, args ...any) {
	r(Finding{Check: check, Outcome: Warning, Found: fmt.Sprintf(format, args...), Fix: fix})
}

// Fail reports what is wrong, and what to do about it.
func (r Report) Fail(check, fix, format string, args ...any) {
	r(Finding{Check: check, Outcome: Failure, Found: fmt.Sprintf(format, args...), Fix: fix})
}

// Failures is the number of failures among findings.
func Failures(list []Finding) (n int) {
	for _, f := range list {
		if f.Outcome == Failure {
			n++
		}
	}
	return n
}

// Rows lists findings with the columns check, outcome, found and fix in an order. What was found takes the room that is left.
func Rows(list []Finding, columns ...string) *cli.Rows {
	rows := &cli.Rows{Columns: columns, Wide: 2}
	for _, f := range list {
		cells := map[string]string{"check": f.Check, "outcome": string(f.Outcome), "found": f.Found, "fix": f.Fix}
		row := make([]string, len(columns))
		for i, column := range columns {
			row[i] = cells[column]
		}
		rows.Rows = append(rows.Rows, row)
	}
	return rows
}
