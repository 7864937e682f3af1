package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
)

type dataConfig struct {
	Dir      string        // the data directory
	StoreURL string        // of a PostgreSQL database; "" means SQLite in Dir
	StoreKey []byte        // that seals secrets there; nil for none
	Backup   daemon.Backup // where backups go that are made without a name, and how much of those stays
	Now      func() time.Time
}

// readData reads the configuration when a command asks for it.
type readData func() (dataConfig, error)

// open lets act work on the databases of the data directory, through the daemon while one runs.
func open(ctx context.Context, cfg dataConfig, act func(o *admin.Operator) error) (err error) {
	if _, err := os.Stat(cfg.Dir); errors.Is(err, fs.ErrNotExist) {
		return noDirectory(cfg.Dir)
	} else if err != nil {
		return fmt.Errorf("look at the data directory: %w", err)
	}
	o, err := admin.OpenDatabases(ctx, cfg.Dir, cfg.StoreURL, cfg.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	return act(o)
}

func noDirectory(dir string) *cli.Failure {
	return cli.Invalid("there is no data directory %s", dir).
		WithHint("--data-dir with the directory of your daemon; contextd serve --data-dir %s makes a new one", cli.Quoted(dir))
}

const backupLong = `Back up the databases and the secret keys into one file: a tar archive compressed with zstd, as of one moment,
for contextd restore. The file is verified before it gets its name. In a directory, the file is named after its
time, and --keep removes older backups there. The default directory is backup.dir of the configuration, or backups
in the data directory. - writes to standard output.

A backup holds secrets: anyone who has it can issue quotes in your name and see who your users are.`

// newBackup makes the command that makes a backup.
func newBackup(read readData) *cobra.Command {
	var keep int
	c := &cobra.Command{
		Use: "backup [FILE|DIRECTORY|-]", Args: cobra.MaximumNArgs(1),
		Short: "Back up the databases and keys, also while the daemon serves", Long: backupLong,
		Example: "  contextd backup\n  contextd backup /mnt/backups/ --keep 14\n" +
			"  contextd backup before-the-move.tar.zst\n  contextd backup - | ssh vault 'cat > contextd.tar.zst'",
	}
	c.Flags().IntVar(&keep, "keep", 0, "in a directory, keep only this many of the newest; 0 keeps all")
	answer := cli.AddOutput(c, cli.FieldsIn(saved{})...)
	c.RunE = func(c *cobra.Command, args []string) error {
		cfg, err := read()
		if err != nil {
			return err
		}
		within := backup.Bounds{Keep: keep}
		if !c.Flags().Changed("keep") && len(args) == 0 {
			within = cfg.Backup.Within
		}
		if keep < 0 {
			return cli.Invalid("--keep is %d, not 0 or more", keep)
		}
		if slices.Contains(args, "") {
			return cli.Invalid("the name of the backup is empty").WithHint("contextd backup, without a name")
		}
		return open(c.Context(), cfg, func(o *admin.Operator) error {
			task := cli.Busy(c, "copying the databases and verifying the copy")
			s := saving{within: within, produce: func(w io.Writer) error { return o.Backup(c.Context(), &metered{w: w, task: task}) }}
			err := s.to(cfg, args, c.OutOrStdout())
			if task.Done(); err != nil {
				return err
			}
			return s.report(c, answer)
		})
	}
	return c
}

// metered tells how much went through it.
type metered struct {
	w    io.Writer
	task *cli.Task
	n    int64
}

// Write writes b.
func (m *metered) Write(b []byte) (int, error) {
	n, err := m.w.Write(b)
	m.n += int64(n)
	m.task.Printf("writing the backup, %s so far", human.Bytes(m.n))
	return n, err
}

// saving is a backup on its way to where it is kept.
type saving struct {
	produce func(io.Writer) error
	within  backup.Bounds

	path     string // "" for standard output
	manifest backup.Manifest
}

// to saves the backup where args say.
func (s *saving) to(cfg dataConfig, args []string, out io.Writer) (err error) {
	target := cfg.Backup.Dir
	if target == "" {
		target = filepath.Join(cfg.Dir, backup.BackupDir)
	}
	directory := len(args) == 0
	if !directory {
		target = args[0]
		info, err := os.Stat(target)
		directory = os.IsPathSeparator(target[len(target)-1]) || err == nil && info.IsDir()
	}
	if directory {
		s.path, s.manifest, err = backup.SaveTo(target, cfg.Now(), s.within, s.produce)
		return err
	}
	if s.within.Keep > 0 {
		return cli.Invalid("--keep removes older backups in a directory, and %q is none", target).
			WithHint("contextd backup %s/ --keep %d", filepath.Dir(target), s.within.Keep)
	}
	if target != "-" {
		s.path = target
		s.manifest, err = backup.Save(target, s.produce)
		return err
	}
	s.manifest, err = pass(out, s.produce)
	return err
}

// pass writes what produce writes to out, and checks on the way whether it is a whole backup.
func pass(out io.Writer, produce func(io.Writer) error) (backup.Manifest, error) {
	r := packed(produce)
	m, err := backup.Check(io.TeeReader(r, out))
	return m, errors.Join(err, r.Close())
}

type stream struct {
	*io.PipeReader
	ended chan struct{}
}

// packed reads what produce writes. Its errors are those of reading.
func packed(produce func(io.Writer) error) *stream {
	r, w := io.Pipe()
	s := &stream{PipeReader: r, ended: make(chan struct{})}
	go func() {
		_ = w.CloseWithError(produce(w)) // never fails
		close(s.ended)
	}()
	return s
}

// Close ends the producer and waits until it has tidied up.
func (s *stream) Close() error {
	err := s.PipeReader.Close()
	<-s.ended
	return err
}

// saved is a backup that has been made, as JSON shows it.
type saved struct {
	Path string `json:"path"`
	backup.Manifest
}

// report says what was saved. Books that do not agree are an error: the backup is there, and somebody has to look.
func (s *saving) report(c *cobra.Command, answer *cli.Output) error {
	var size int64
	for _, f := range s.manifest.Files {
		size += f.Size
	}
	if s.path != "" {
		err := answer.Print(saved{s.path, s.manifest}, prose(func(w io.Writer) error {
			_, err := fmt.Fprintln(w, s.path)
			return err
		}))
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(c.ErrOrStderr(), "backed up %s, %s, as of %s; verified\n",
		human.Plural(len(s.manifest.Files), "file"), human.Bytes(size), s.manifest.TakenAt.Format(time.RFC3339))
	for _, p := range s.manifest.Findings {
		fmt.Fprintln(c.ErrOrStderr(), p)
	}
	if n := len(s.manifest.Findings); n > 0 {
		return fmt.Errorf("the books do not agree (%d findings); the backup was made, and no older one removed\n"+
			"  try: contextd money audit", n)
	}
	return nil
}
