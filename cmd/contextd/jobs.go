package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/admin"
)

// NewJobs makes the commands on what the daemon does now and then.
func NewJobs(operate Operate) *cobra.Command {
	c := &cobra.Command{Use: "jobs", Short: "See what the daemon does now and then, and have it done now"}
	list := show(operate, &cobra.Command{Use: "list", Short: "List the jobs and how they stand", Args: cobra.NoArgs},
		func(ctx context.Context, o *admin.Operator, _ []string) ([]admin.Job, error) {
			return o.Jobs(ctx)
		}, printJobs)
	run := show(operate, &cobra.Command{
		Use: "run NAME", Short: "Run a job now, beside its schedule, and wait for its end", Args: cobra.ExactArgs(1), Example: "  contextd jobs run refresh",
	}, func(ctx context.Context, o *admin.Operator, args []string) ([]admin.Job, error) {
		all, err := o.RunJob(ctx, args[0])
		var those []admin.Job
		for _, j := range all {
			if j.Name == args[0] {
				those = append(those, j)
			}
		}
		return those, err
	}, printJobs)
	AddGroup(c, list, run)
	return c
}

// printJobs prints jobs as a table.
func printJobs(out io.Writer, list []admin.Job) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "JOB\tPACK\tEVERY\tLAST SUCCESS\tTOOK\tRUNS\tFAILED\tSTATE")
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
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\n", j.Name, j.Pack, every, last, time.Duration(j.TookMillis)*time.Millisecond, j.Runs, j.Failures, state)
	}
	return w.Flush()
}
