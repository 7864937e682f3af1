package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/internal/build"
)

// Format is the version of the archive's layout.
const Format = 1

// manifestName is the name of the first entry of an archive.
const manifestName = "manifest.json"

// Manifest says what is in a backup.
type Manifest struct {
	Format   int       `json:"format"`
	TakenAt  time.Time `json:"takenAt"` // the moment the copy is of
	Program  string    `json:"program"` // the version that made it
	Files    []Entry   `json:"files"`
	Findings []Problem `json:"findings"` // what did not agree in the books at that moment
}

// Entry is one file of a backup.
type Entry struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // hexadecimal
	Schema int    `json:"schema,omitempty"`
}

// ErrBroken is in the chain of the error for a database that is not sound: a copy of it would not be a backup.
var ErrBroken = errors.New("the database is damaged")

// ErrNothing is in the chain of the error for a data directory without books.
var ErrNothing = errors.New("there is no database")

// BackUp writes a backup of dir to w. Before the first byte of it, the copy is made and verified: its structure by SQLite, and the books by
// the audit where they have the schema of this program. Books that do not agree are copied as they are, with a finding in the manifest.
// The copy takes as much room in dir, for that time, as the databases. The caller has the lock on dir, or is within the process that has.
func BackUp(ctx context.Context, dir string, now time.Time, w io.Writer) (m Manifest, err error) {
	scratch, err := datadir.Scratch(dir)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	if err := copyDatabases(ctx, dir, scratch); err != nil {
		return m, err
	}
	m = Manifest{Format: Format, TakenAt: now.UTC(), Program: build.Read().Version, Findings: []Problem{}}
	if err := check(ctx, scratch, &m); err != nil {
		return m, err
	}
	if err := copyOthers(dir, scratch); err != nil {
		return m, err
	}
	if err := m.list(ctx, scratch); err != nil {
		return m, err
	}
	return m, m.write(ctx, scratch, w)
}

// copyDatabases copies those of dir as of one moment into the directory to.
func copyDatabases(ctx context.Context, dir, to string) (err error) {
	snapshots := map[string]*database.Snapshot{}
	defer func() {
		for _, s := range snapshots {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, name := range Files() { // the books first
		s, err := database.Pin(ctx, filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		snapshots[name] = s
	}
	if snapshots[store.File] == nil {
		return fmt.Errorf("%w in %s", ErrNothing, dir)
	}
	for name, s := range snapshots {
		if err := s.Copy(ctx, filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// check verifies the copy in dir. What does not agree in the books is noted in m.
func check(ctx context.Context, dir string, m *Manifest) error {
	broken, err := Structure(ctx, dir)
	if err != nil {
		return err
	}
	if len(broken) > 0 {
		return fmt.Errorf("%w: %s", ErrBroken, broken[0])
	}
	found, err := Books(ctx, dir)
	if errors.Is(err, database.ErrOlder) {
		return nil // before a migration
	}
	if err != nil {
		return err
	}
	m.Findings = append(m.Findings, found...)
	return nil
}

// AlertJournal is the name, in the data directory, of the journal of what the operator was told of.
const AlertJournal = "alerts.journal"

// others matches the names of files that belong to the data beside the databases: with secret keys that a daemon has made or was given, and
// the journal of alerts, whose last line may be cut off in a copy, as by a kill.
var others = regexp.MustCompile(`^(?:[a-z0-9][a-z0-9._-]*\.keys?|` + regexp.QuoteMeta(AlertJournal) + `)$`)

// copyOthers copies the files beside the databases from dir into the directory to.
func copyOthers(dir, to string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list data directory: %w", err)
	}
	for _, e := range entries {
		if !others.MatchString(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, e.Name()), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", e.Name(), err)
		}
	}
	return nil
}

// list notes the files in dir that belong into a backup.
func (m *Manifest) list(ctx context.Context, dir string) error {
	databases, err := Status(ctx, dir, false)
	if err != nil {
		return err
	}
	for _, d := range databases {
		m.Files = append(m.Files, Entry{Name: d.Name, Schema: d.Schema})
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list copy: %w", err)
	}
	for _, e := range entries {
		if others.MatchString(e.Name()) {
			m.Files = append(m.Files, Entry{Name: e.Name()})
		}
	}
	for i := range m.Files {
		f := &m.Files[i]
		if f.Size, f.SHA256, err = sum(filepath.Join(dir, f.Name)); err != nil {
			return err
		}
	}
	return nil
}

// sum is the size and the SHA-256 of a file.
func sum(path string) (size int64, digest string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", fmt.Errorf("read copy: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return 0, "", fmt.Errorf("read copy: %w", err)
	}
	return size, hex.EncodeToString(h.Sum(nil)), nil
}

func (m *Manifest) write(ctx context.Context, dir string, w io.Writer) error {
	packed, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return fmt.Errorf("compress backup: %w", err)
	}
	archive := tar.NewWriter(packed)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode manifest: %w", err)
	}
	header := func(name string, size int64) error {
		return archive.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: size, ModTime: m.TakenAt, Format: tar.FormatPAX})
	}
	err = header(manifestName, int64(len(text)))
	if err == nil {
		_, err = archive.Write(text)
	}
	for _, f := range m.Files {
		if err == nil {
			err = errors.Join(ctx.Err(), header(f.Name, f.Size))
		}
		if err == nil {
			err = appendFile(archive, filepath.Join(dir, f.Name))
		}
	}
	if err == nil {
		err = archive.Close()
	}
	if err == nil { // otherwise an end would make it look whole
		err = packed.Close()
	}
	if err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	return nil
}

func appendFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
