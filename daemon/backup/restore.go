package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
)

// Unpacked is a backup that was unpacked and verified, and not put in place yet.
type Unpacked struct {
	Manifest
	States   int         // in history
	Problems []Problem   // what does not agree in it
	Logs     []LogStatus // that go on in it
}

// Unpack unpacks a backup into the directory to and verifies it: that there is room for it, the checksums, that its databases have no
// triggers or views but ours, their structure, that they can be brought to the schema of this program, the books by the audit, every state
// by its checksum. What is only wrong in its content is told in Problems.
func Unpack(ctx context.Context, r io.Reader, to string, now time.Time) (u Unpacked, err error) {
	if u.Manifest, err = unpack(r, to); err != nil {
		return u, err
	}
	if !slices.ContainsFunc(u.Files, func(f Entry) bool { return f.Name == store.File }) {
		return u, fmt.Errorf("%w: %s is not in it", ErrDamaged, store.File)
	}
	for _, look := range []func(context.Context, string) ([]Problem, error){Foreign, Structure} { // in this order
		broken, err := look(ctx, to)
		if err != nil {
			return u, err
		}
		if len(broken) > 0 {
			return u, fmt.Errorf("%w: %s", ErrBroken, broken[0])
		}
	}
	if err := migrate(ctx, to, now); err != nil {
		return u, err
	}
	report, err := Verify(ctx, to)
	if err != nil {
		return u, err
	}
	u.States = report.States
	u.Problems = report.Problems
	if u.Logs, err = Logs(ctx, to); err != nil {
		return u, err
	}
	u.Logs = slices.DeleteFunc(u.Logs, func(l LogStatus) bool { return l.Ended })
	return u, tidy(to)
}

// migrate brings the databases in dir to the newest schema.
func migrate(ctx context.Context, dir string, now time.Time) error {
	s, err := store.Open(ctx, dir, now)
	if err != nil {
		return err
	}
	h, err := history.Open(ctx, dir, now)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	return errors.Join(h.Close(), s.Close())
}

// tidy removes what reading connections leave beside the databases in dir.
func tidy(dir string) error {
	for _, name := range Files() {
		log := filepath.Join(dir, name+"-wal")
		if info, err := os.Stat(log); err == nil && info.Size() > 0 {
			return fmt.Errorf("%s was not written back", log)
		}
		for _, path := range []string{log, filepath.Join(dir, name+"-shm")} {
			if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("tidy what is restored: %w", err)
			}
		}
	}
	return nil
}

// Restore replaces the data in dir, whose lock the caller holds, by that of a backup: all of it or nothing, whenever the process is killed.
// A journal of alerts that is there stays: it knows what was told since, and what is still to be. The logs in the backup end: what was
// published after it is in them where clients saw them, so going on with them would fork them. agree is asked when everything is
// verified and nothing was touched yet; its error ends it. kept is the directory that the old data is in then, "" where there was none.
func Restore(ctx context.Context, r io.Reader, dir string, now time.Time, agree func(Unpacked) error) (kept string, err error) {
	incoming, err := datadir.Incoming(dir)
	if err != nil {
		return "", err
	}
	u, err := Unpack(ctx, r, incoming, now)
	if err == nil {
		err = agree(u)
	}
	if _, there := os.Stat(filepath.Join(dir, AlertJournal)); err == nil && there == nil {
		err = os.RemoveAll(filepath.Join(incoming, AlertJournal))
	}
	if err == nil {
		err = endLogs(ctx, incoming, now)
	}
	if err != nil {
		return "", errors.Join(err, os.RemoveAll(incoming))
	}
	return datadir.Replace(dir, now)
}

func endLogs(ctx context.Context, dir string, now time.Time) error {
	h, err := history.Open(ctx, dir, now)
	if err != nil {
		return err
	}
	if err := errors.Join(h.EndLogs(ctx), h.Close()); err != nil {
		return err
	}
	return tidy(dir)
}
