package alert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/contextd/contextd/internal/atomicfile"
)

// ErrInUse says that another process has the journal.
var ErrInUse = errors.New("the journal is in use by another process")

// compactFrom is the size in bytes from which a journal is rewritten once it is four times what it has to say.
const compactFrom = 1 << 20

// record is one line of the journal: what one state, or one delivery, has changed.
type record struct {
	Edges  map[string]map[string]*edge `json:"edges,omitempty"` // by rule and key; null for one that is forgotten
	Events []*queued                   `json:"events,omitempty"`
	Done   []delivery                  `json:"done,omitempty"`
	Last   map[string]time.Time        `json:"last,omitempty"` // of the state that a rule of one member looked at last, by rule
}

// queued is an event and the targets that have not taken it yet.
type queued struct {
	Event Event    `json:"event"`
	To    []string `json:"to"`
}

// delivery is an event that a target has taken, or will not be offered again.
type delivery struct {
	ID string `json:"id"`
	To string `json:"to"`
}

// journal is a file that grows by a line for each record, each with a checksum before it. A line is on the disk, or the file is to be
// rewritten.
type journal struct {
	path  string
	lock  *flock.Flock
	file  *os.File // nil until it is written
	size  int64
	least int64 // size when it was last rewritten
	room  func(f *os.File, line []byte) error
}

// openJournal takes the journal at path, and reads it into apply. What a kill or a lost disk has left of a line is left out, and damaged
// says how many lines of the middle could not be read.
func openJournal(path string, room func(*os.File, []byte) error, apply func(record)) (j *journal, damaged int, err error) {
	if room == nil {
		room = func(*os.File, []byte) error { return nil }
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, 0, fmt.Errorf("make directory of journal: %w", err)
	}
	j = &journal{path: path, lock: flock.New(path + ".lock"), room: room}
	if ok, err := j.lock.TryLock(); err != nil {
		return nil, 0, fmt.Errorf("lock journal: %w", err)
	} else if !ok {
		return nil, 0, fmt.Errorf("%w: %s", ErrInUse, path)
	}
	if damaged, err = readJournal(path, apply); err != nil {
		return nil, 0, errors.Join(err, j.close())
	}
	return j, damaged, nil
}

// readJournal reads the journal at path into apply; one that is not there is empty.
func readJournal(path string, apply func(record)) (damaged int, err error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("read journal: %w", err)
	}
	bad := 0
	for line := range bytes.Lines(text) {
		if r, ok := decode(line); ok {
			damaged, bad = damaged+bad, 0
			apply(r)
		} else {
			bad++
		}
	}
	return damaged, nil
}

func encode(r record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode journal: %w", err)
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(text), text), nil
}

// decode is the record of a line; ok is false for one that is not whole.
func decode(line []byte) (r record, ok bool) {
	sum, text, found := bytes.Cut(bytes.TrimSuffix(line, []byte("\n")), []byte(" "))
	if !found || !bytes.HasSuffix(line, []byte("\n")) || string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) {
		return record{}, false
	}
	return r, json.Unmarshal(text, &r) == nil
}

// append writes r behind what is there and has it on the disk. After an error nobody knows what is there: only rewrite helps.
func (j *journal) append(r record) error {
	line, err := encode(r)
	if err != nil {
		return err
	}
	if j.file == nil {
		return errors.New("the journal is not open")
	}
	if err = j.room(j.file, line); err == nil {
		_, err = j.file.Write(line)
	}
	if err == nil {
		err = j.file.Sync()
	}
	j.size += int64(len(line))
	if err != nil {
		return fmt.Errorf("write journal: %w", errors.Join(err, j.shut()))
	}
	return nil
}

// full reports whether the journal is much longer than what it has to say.
func (j *journal) full() bool { return j.size > max(compactFrom, 4*j.least) }

// rewrite replaces the journal by one that says what records say.
func (j *journal) rewrite(records []record) error {
	err := atomicfile.File{Path: j.path}.Write(func(w io.Writer) error {
		for _, r := range records {
			line, err := encode(r)
			if err != nil {
				return err
			}
			if f, ok := w.(*os.File); ok {
				err = j.room(f, line)
			}
			if err == nil {
				_, err = w.Write(line)
			}
			if err != nil {
				return fmt.Errorf("write journal: %w", err)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(j.path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return fmt.Errorf("open journal: %w", errors.Join(err, file.Close()))
	}
	_ = j.shut() // of the file that was replaced
	j.file, j.size, j.least = file, info.Size(), info.Size()
	return nil
}

func (j *journal) shut() error {
	if j.file == nil {
		return nil
	}
	file := j.file
	j.file = nil
	return file.Close()
}

func (j *journal) close() error { return errors.Join(j.shut(), j.lock.Unlock()) }
