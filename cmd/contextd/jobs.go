package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/internal/cli"
)

// newJobs makes the commands on what the daemon does now and then.
func newJobs(operate runOperator) *cobra.Command {
	c := &cobra.Command{Use: "jobs", Short: "List recurring jobs, or run one now"}
	list := show(operate, &cobra.Command{Use: "list", Short: "List the jobs with their status", Args: cobra.NoArgs},
		func(ctx context.Context, o *admin.Operator, _ []string) ([]admin.Job, error) {
			return o.Jobs(ctx)
		}, jobsTable)
	run := show(operate, &cobra.Command{
		Use: "run NAME", Short: "Run a job now, beside its schedule, and wait for its end", Args: cobra.ExactArgs(1),
		Example: "  contextd jobs run refresh",
	}, func(ctx context.Context, o *admin.Operator, args []string) ([]admin.Job, error) {
		all, err := o.RunJob(ctx, args[0])
		var those []admin.Job
		for _, j := range all {
			if j.Name == args[0] {
				those = append(those, j)
			}
		}
		return those, err
	}, jobsTable)
	cli.Group(c, list, run)
	return c
}

func jobsTable(list []admin.Job) cli.Answer {
	rows := &cli.Rows{
		Columns: []string{"job", "pack", "every", "last success", "took", "runs", "failed", "state"},
		Right:   []bool{5: true, 6: true}, Wide: 7,
	}
	for _, j := range list {
		every, last, state := "own schedule", "never", "waiting"
		if j.EverySeconds > 0 {
			every = (time.Duration(j.EverySeconds) * time.Second).String()
		}
		if j.SucceededAt != nil {
			last = j.SucceededAt.Local().Format(time.DateTime)
		}
		switch {
		case j.Running:
			state = "running"
		case j.Error != "":
			state = j.Error
		}
		rows.Rows = append(rows.Rows, []string{j.Name, j.Pack, every, last, (time.Duration(j.TookMillis) * time.Millisecond).String(),
			strconv.FormatInt(j.Runs, 10), strconv.FormatInt(j.Failures, 10), state})
	}
	return table(rows)
}
