package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/doctor"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// newOverview makes the command that an operator looks at each day.
func newOverview(s *settings) *cobra.Command {
	c := &cobra.Command{
		Use: "status", Short: "Show on one screen how the daemon stands", Args: cobra.NoArgs,
		Long: "Show on one screen how the running daemon stands: its packs with their ages and the sources that fail, jobs that\n" +
			"fail, disk, backups, keys and calls, and money. It asks over the operator's socket and changes nothing. Without\n" +
			"--data-dir it also finds a demo of yours. Where no daemon runs, it says so, and the exit code is 1.",
		Example: "  contextd status\n  watch -n 10 contextd status\n  contextd status --jq '.packs[] | select(.failing != []).id'\n" +
			"  contextd status --jq .backup.late",
	}
	out := cli.AddOutput(c, cli.FieldsIn(admin.Status{})...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		cfg, err := s.Load()
		if err != nil {
			return err
		}
		told, err := admin.StatusOf(c.Context(), runningDir(c.Context(), cfg))
		if errors.Is(err, admin.ErrNotRunning) {
			return &cli.Failure{Exit: cli.ExitFailure, Reason: "not_running", Err: err,
				Hint: "contextd serve, or name the directory of one that runs with --data-dir; contextd doctor looks without a daemon"}
		}
		if err != nil {
			return err
		}
		return out.Print(told, cli.Answer{Piped: cli.Text, Text: func(w io.Writer, width int, style cli.Style) error {
			if !cli.IsTerminal(c.OutOrStdout()) {
				width = 0
			}
			return writeStatus(w, told, width, style)
		}})
	}
	c.AddCommand(newNodes(s.data), newHealthcheck(s))
	return c
}

// runningDir is the data directory of cfg or, where nobody named one and no daemon runs there, that of the daemon that tells of itself.
func runningDir(ctx context.Context, cfg *config.Config) string {
	if runs, err := datadir.Runs(ctx, cfg.DataDir); err != nil || runs || !cfg.DirDefault() {
		return cfg.DataDir
	}
	if r, ok := cli.FindRunning(os.LookupEnv); ok && r.DataDir != "" {
		return r.DataDir
	}
	return cfg.DataDir
}

// writeStatus writes s for people, each line cut to width where it is not 0.
func writeStatus(w io.Writer, s admin.Status, width int, style cli.Style) error {
	head := fmt.Sprintf("contextd %s, up %s, %s", cmp.Or(s.Version, "devel"), human.Age(s.Now.Sub(s.StartedAt)), s.URL)
	if s.Demo {
		head += ", a demo"
	}
	list := []doctor.Finding{}
	report := doctor.Report(func(f doctor.Finding) { list = append(list, f) })
	if s.NotReady != "" {
		report.Fail("not ready", "", "%s", s.NotReady)
	}
	for _, p := range s.Packs {
		reportPack(report, p, s.Now)
	}
	for _, j := range s.Jobs {
		report.Warn("job "+j.Name, "", "%s", strings.TrimSpace(j.Pack+" "+j.Error))
	}
	reportDisk(report, s)
	reportBackup(report, s)
	if s.Money != nil {
		reportMoney(report, *s.Money, s.Now)
	}
	reportWatches(report, s.Watches)
	reportAgents(report, s.Agents)
	if u := s.Use; u != nil {
		report.OK("use", "%s with keys today; %s of %s; %s, %s open", human.Plural(int(u.CallsToday), "call"),
			human.Plural(u.ActiveKeys, "key"), human.Plural(u.Owners, "owner"), human.Plural(u.Connections, "connection"),
			human.Plural(u.Streams, "stream"))
	} else {
		report.Warn("use", "", "calls and money are not known: the books do not answer")
	}

	lines := []string{style.Bold(head), style.Dim("data in " + s.DataDir), ""}
	check, mark := 0, 1
	for _, f := range list {
		check = max(check, len(f.Check))
		if style.Words {
			mark = max(mark, len(f.Outcome))
		}
	}
	for _, f := range list {
		paint := style.Good
		switch f.Outcome {
		case doctor.Warning:
			paint = style.Warn
		case doctor.Failure:
			paint = style.Bad
		}
		lines = append(lines, paint(style.Fit(style.Mark(string(f.Outcome)), mark))+" "+style.Fit(f.Check, check)+"  "+human.Line(f.Found))
	}
	for _, line := range lines {
		if width > 0 {
			line = style.Cut(line, width)
		}
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	return nil
}

func reportPack(report doctor.Report, p admin.PackStatus, now time.Time) {
	check := "pack " + p.ID
	if p.GeneratedAt == nil {
		report.Warn(check, "", "no state yet; %s", sourcesText(p, now))
		return
	}
	found := fmt.Sprintf("%s old; %s", human.Age(time.Duration(p.AgeSeconds)*time.Second), sourcesText(p, now))
	switch {
	case p.AgeSeconds > api.MaxFreshAge:
		report.Fail(check, "", "%s", found)
	case len(p.Failing) > 0:
		report.Warn(check, "", "%s", found)
	default:
		report.OK(check, "%s", found)
	}
}

// sourcesText says how many sources of a pack answer, and which do not.
func sourcesText(p admin.PackStatus, now time.Time) string {
	text := fmt.Sprintf("%d of %d sources ok", p.Sources-len(p.Failing), p.Sources)
	var bad []string
	for _, s := range p.Failing {
		one := s.ID
		if s.FetchedAt == nil {
			one += " never answered"
		} else {
			one += " for " + human.Age(now.Sub(*s.FetchedAt))
		}
		bad = append(bad, one)
	}
	if len(bad) > 0 {
		text += "; not " + human.List(bad, 3)
	}
	return text
}

func reportDisk(report doctor.Report, s admin.Status) {
	found := human.Bytes(s.Disk.FreeBytes) + " free"
	for _, name := range slices.Sorted(maps.Keys(s.Disk.DatabaseBytes)) {
		found += fmt.Sprintf("; %s %s", name, human.Bytes(s.Disk.DatabaseBytes[name]))
	}
	if s.Disk.FreeBytes < 1<<30 {
		report.Warn("disk", "", "%s", found)
		return
	}
	report.OK("disk", "%s", found)
}

func reportBackup(report doctor.Report, s admin.Status) {
	const check = "backup"
	b := s.Backup
	found, each := "none yet", api.FormatSpan(time.Duration(b.EverySeconds)*time.Second)
	if b.NewestAt != nil {
		found = fmt.Sprintf("newest %s old, %d with %s in all", human.Age(s.Now.Sub(*b.NewestAt)), b.Count, human.Bytes(b.Bytes))
	}
	switch {
	case b.Late:
		report.Warn(check, "", "%s, though one is due each %s: contextd jobs run backup", found, each)
	case b.EverySeconds > 0:
		report.OK(check, "%s, one each %s", found, each)
	case b.Else != "":
		report.OK(check, "left to %s", map[string]string{"postgresql": "PostgreSQL: pg_dump", "litestream": "Litestream"}[b.Else])
	case s.Demo:
		report.OK(check, "a demo makes none")
	default:
		report.OK(check, "switched off; %s", found)
	}
}

// reportAgents says how agents stand that sign in, where they may.
func reportAgents(report doctor.Report, a *admin.AgentStatus) {
	if a == nil {
		return
	}
	report.OK("agents", "%s signed in; since the start %s let in, %s given, %s refused", human.Plural(a.Agents, "agent"),
		human.Plural(int(a.Authorized), "agent"), human.Plural(int(a.Tokens), "token"), human.Plural(int(a.Refused), "step"))
}

// reportWatches says how the watches of owners stand, where there are any.
func reportWatches(report doctor.Report, w *event.Standing) {
	const check = "watches"
	if w == nil || w.Total() == 0 {
		return
	}
	found := fmt.Sprintf("%d active", w.Active)
	for _, some := range []struct {
		n    int
		text string
	}{{w.Failing, "of them failing"}, {w.Suspended, "suspended"}, {w.Paused, "unpaid"}, {w.Gaps, "with gaps"}} {
		if some.n > 0 {
			found += fmt.Sprintf(", %d %s", some.n, some.text)
		}
	}
	found += fmt.Sprintf("; %s to deliver", human.Plural(w.Waiting, "event"))
	switch {
	case w.OverdueSeconds > event.LongOverdue:
		report.Fail(check, "contextd status nodes names the leader, which delivers; its log says why it does not",
			"%s, the first overdue for %s", found, human.Age(time.Duration(w.OverdueSeconds)*time.Second))
	case w.Failing > 0 || w.Suspended > 0:
		report.Warn(check, "their owners see why at /account; of many at once look at the network and the mail server here", "%s", found)
	default:
		report.OK(check, "%s", found)
	}
}

func reportMoney(report doctor.Report, m admin.MoneyStatus, now time.Time) {
	report.OK("money", "%s today, %s USDG; %s pending", human.Plural(int(m.ReceivedToday), "payment"), m.ReceivedMicros,
		human.Plural(int(m.PendingDeposits), "deposit"))
	for _, rail := range slices.Sorted(maps.Keys(m.Lags)) {
		const many = 200 // as the alert rule has it
		if l := m.Lags[rail]; l.Newest > l.Looked+many {
			report.Warn("chain "+rail, "", "%s blocks behind", human.Count(int64(l.Newest-l.Looked)))
		}
	}
	for _, f := range settlingFindings(m.Rails, now) {
		if f.Outcome != doctor.OK || strings.HasPrefix(f.Check, gasKey) {
			report(f)
		}
	}
}
