package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/internal/cli"
)

type restoring struct {
	yes, dryRun, despite bool

	in  io.Reader
	out io.Writer // for people
}

const restoreLong = `Restore a backup in place of the data. The backup is unpacked beside the data and verified, with every balance and
every state, before anything is touched. Then it replaces everything or nothing, even if the command is killed. The
old data stays in the data directory, in a directory that ends in .pre-restore; to go back, restore that directory.
Stop the daemon first.

Everything after the backup is lost: later states no longer have a proof, and each transparency log is followed by a
new one that names the end of the old one; later keys are unknown, keys revoked later are valid again, and later paid
calls are not counted.`

// newRestore makes the command that puts a backup back.
func newRestore(read readData) *cobra.Command {
	var r restoring
	c := &cobra.Command{
		Use: "restore FILE|DIRECTORY|-", Args: cobra.ExactArgs(1),
		Short: "Restore a backup in place of a stopped daemon's data", Long: restoreLong,
		Example: "  contextd restore /mnt/backups/contextd-20261120T200000.000Z.tar.zst\n" +
			"  contextd restore --dry-run before-the-move.tar.zst",
	}
	c.Flags().BoolVar(&r.yes, "yes", false, "do not ask before replacing the existing data")
	c.Flags().BoolVar(&r.dryRun, "dry-run", false,
		"only verify the backup, with room for it in the temporary directory; the daemon may run")
	c.Flags().BoolVar(&r.despite, "despite-findings", false, "restore even if the books in the backup do not agree")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		cfg, err := read()
		if err != nil {
			return err
		}
		if args[0] == "-" && !r.yes && !r.dryRun {
			return cli.Invalid("a backup from standard input leaves no way to ask").WithHint("--yes")
		}
		if cfg.StoreURL != "" && !r.dryRun {
			return cli.Invalid("a backup of contextd is of SQLite, and store.url leads to PostgreSQL").
				WithHint("psql, with what pg_dump has written")
		}
		r.in, r.out = c.InOrStdin(), c.ErrOrStderr()
		task := cli.Busy(c, "unpacking the backup and verifying every balance and state")
		defer task.Done()
		file, err := r.source(c.Context(), args[0], cfg.Now())
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		if r.dryRun {
			return r.check(c.Context(), file, cfg.Now())
		}
		return r.run(c.Context(), file, cfg)
	}
	return c
}

// source is the backup that is named. A directory, such as an earlier restore has left, becomes one while it is read.
func (r restoring) source(ctx context.Context, name string, now time.Time) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(r.in), nil
	}
	if newest := newestIn(name); newest != "" {
		return nil, fmt.Errorf("%s holds backups and is none\n  try: contextd restore %s", name, newest)
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return packed(func(w io.Writer) error {
			_, err := backup.BackUp(ctx, name, now, w)
			return err
		}), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("open backup: %w", err)
	}
	return f, nil
}

// newestIn is the newest archive in a directory of backups, "" for anything else.
func newestIn(dir string) string {
	if _, err := os.Stat(filepath.Join(dir, store.File)); err == nil {
		return "" // a data directory
	}
	list, err := filepath.Glob(filepath.Join(dir, "contextd-*.tar.zst")) // named for their moments, and sorted
	if err != nil || len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

// check verifies the backup and throws away what it unpacked.
func (r restoring) check(ctx context.Context, file io.Reader, now time.Time) (err error) {
	dir, err := os.MkdirTemp("", "contextd-restore-")
	if err != nil {
		return fmt.Errorf("make directory to verify in: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	u, err := backup.Unpack(ctx, file, dir, now)
	if err != nil {
		return err
	}
	return r.judge(u)
}

func (r restoring) run(ctx context.Context, file io.Reader, cfg dataConfig) (err error) {
	dir := cfg.Dir
	lock, err := datadir.Lock(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	var logs []backup.LogStatus
	kept, err := backup.Restore(ctx, file, dir, cfg.Now(), func(u backup.Unpacked) error {
		logs = u.Logs
		if err := r.judge(u); err != nil {
			return err
		}
		return r.agree(dir)
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(r.out, "restored %s\n", dir)
	if kept != "" {
		fmt.Fprintf(r.out, "what was there is in %s; remove it when you are sure\n", kept)
	}
	for _, l := range logs {
		fmt.Fprintf(r.out, "the log %s ends with %d leaves; a new one follows, and clients are told that what came after was dropped\n",
			l.Origin, l.Size)
	}
	fmt.Fprintln(r.out, "  next: start the daemon, then contextd money audit and, "+
		"with a chain, contextd money reconcile and contextd money deposits unmatched")
	return nil
}

// judge says what is in the backup, and refuses one whose content does not agree.
func (r restoring) judge(u backup.Unpacked) error {
	fmt.Fprintf(r.out, "the backup is of %s, by contextd %s, and sound: %d states\n", u.TakenAt.Format(time.RFC3339), u.Program, u.States)
	for _, p := range u.Problems {
		fmt.Fprintln(r.out, p)
	}
	if len(u.Problems) > 0 && !r.despite {
		return fmt.Errorf("what is in the backup does not agree (%d findings); nothing was touched\n"+
			"  try: an older backup, or --despite-findings", len(u.Problems))
	}
	if len(u.Problems) == 0 {
		fmt.Fprintln(r.out, "its books agree")
	}
	return nil
}

// agree asks whether the data in dir may go, if there is any.
func (r restoring) agree(dir string) error {
	if _, err := os.Stat(dir + string(os.PathSeparator) + store.File); errors.Is(err, os.ErrNotExist) || r.yes {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("ask whether the data may go: %w", err)
	}
	for _, stream := range []any{r.in, r.out} {
		if !cli.IsTerminal(stream) {
			return cli.Invalid("the data in %s would be replaced, and nobody can be asked; nothing was touched", dir).WithHint("--yes")
		}
	}
	fmt.Fprintf(r.out, "The data in %s will be replaced. Type the name of this host (%s) to go on: ", dir, host)
	line, err := bufio.NewReader(r.in).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != host {
		return errors.New("that is not the name of this host; nothing was touched")
	}
	return nil
}
