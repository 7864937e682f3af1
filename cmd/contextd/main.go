// Command contextd is the daemon of a self-hosted continuous-context service for AI agents. It keeps the packs fresh, writes
// their briefs and serves both; see README.md.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // for systems without time zones, such as the container

	"github.com/spf13/cobra"
	_ "golang.org/x/crypto/x509roots/fallback" // for systems without certificates, such as the container

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

//go:generate go run . completion bash --out ../../completions/contextd.bash
//go:generate go run . completion zsh --out ../../completions/contextd.zsh
//go:generate go run . completion fish --out ../../completions/contextd.fish
//go:generate go run . completion powershell --out ../../completions/contextd.ps1

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(start(ctx, os.Args[1:], cli.OS()))
}

// start runs the program with args and returns its exit code.
func start(ctx context.Context, args []string, s cli.System) int {
	s.Err = cli.NewProgress(s)
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	f := cli.ToFailure(err, ownFailure)
	if refused, ok := errors.AsType[*api.Error](err); ok && f != nil && f.Hint == "" {
		f.Hint = refused.Hint
	}
	return f.Report(s.Err, s.Style(s.ErrTTY), cli.AsksJSON(args))
}

func newRoot(system cli.System) *cobra.Command {
	root := &cobra.Command{
		Use:   "contextd",
		Short: "Continuous context for AI agents, self-hosted",
		Long: "contextd keeps data packs fresh, compacts them into one structured state each, writes a cited brief\n" +
			"and serves both to agents over HTTP.",
		Example: "  contextd demo\n  contextd serve --data-dir /var/lib/contextd\n  contextd keys create my-agent",
	}
	s := &settings{config.NewLoader(root.PersistentFlags())}
	cli.CompleteValues(root, "log-level", "debug", "info", "warn", "error")
	cli.CompleteValues(root, "log-format", "auto", "text", "json")
	cli.Assemble(root, system, []cli.Section{
		{Title: "Run", Commands: []*cobra.Command{newServe(s), newDemo(s), newConfig(s), newPack(s)}},
		{Title: "Sell", Commands: []*cobra.Command{newKeys(s.operate), newOwners(s.operate), newCredits(s.operate), newMoney(s.operate)}},
		{Title: "Look after", Commands: []*cobra.Command{newOverview(s), newDoctor(s), newJobs(s.operate), newBackup(s.data),
			newRestore(s.data), newDB(s)}},
		{Title: "About", Commands: []*cobra.Command{newPrint(), newVersion(s), cli.NewCompletion("contextd"), cli.NewManual("contextd")}},
	})
	cli.AddFormer(root, system, formerNames())
	return root
}

// formerNames are the names that commands had, with those of today.
func formerNames() map[string]string {
	return map[string]string{
		"init": "config init", "check-config": "config check", "reload": "config reload", "pack": "packs", "brief": "packs brief",
		"admin users": "owners", "admin invites": "owners invites", "admin tiers set": "owners tier", "admin credits": "credits",
		"admin audit": "money audit", "deposits": "money deposits", "settlements": "money settlements", "reconcile": "money reconcile",
		"cluster status": "status nodes", "healthcheck": "status health", "log": "db log", "evidence": "db evidence",
		"systemd print": "print systemd", "monitoring": "print", "openapi": "print openapi",
	}
}

// ownFailure is what to do about failures that only this program knows, nil for all else.
func ownFailure(err error) *cli.Failure {
	switch {
	case errors.Is(err, datadir.ErrLocked):
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "locked", Err: err,
			Hint: "stop the other process, or give this one its own --data-dir"}
	case errors.Is(err, backup.ErrDamaged):
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "damaged", Err: err,
			Hint: "another backup: contextd restore --dry-run FILE tries one"}
	case database.Corrupt(err):
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "damaged", Err: err,
			Hint: "contextd db verify, which says what is damaged, then contextd restore FILE with a backup"}
	case errors.Is(err, syscall.EADDRINUSE):
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "address_in_use", Err: err,
			Hint: "another address, for example 127.0.0.1:0, with --listen, --admin-listen or --chain-listen"}
	}
	return nil
}
