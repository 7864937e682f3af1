// Package evidence keeps what the sources of packs answered, so that others can recompute the states that were made of it.
//
// Bodies and the documents that were read out of them lie by their hashes, which the leaves of the transparency log have too. They are
// written after the state that they are of is saved, and never on its path: where the disk is too slow, evidence is lost and no state late.
// It is bounded, in time and size, and in no backup.
package evidence

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/state"
)

// Dir is where evidence lies in a data directory.
const Dir = "evidence"

// Bounds are how much is kept.
type Bounds struct {
	For     time.Duration // how long, but for the newest of each source
	All     int64         // bytes on disk
	OfOne   int64         // of one source
	OneBody int64         // of a body, not compressed: a longer one is not kept
}

// DefaultBounds are those of a daemon that is told nothing else.
func DefaultBounds() Bounds {
	return Bounds{For: 48 * time.Hour, All: 2 << 30, OfOne: 256 << 20, OneBody: 16 << 20}
}

// Body is a body that upstream sent.
type Body struct {
	URL  string `json:"url"` // that is declared for it
	Hash string `json:"hash"`
}

// Fetch is one good answer of a source.
type Fetch struct {
	Pack      string        `json:"pack"`
	Source    string        `json:"source"`
	At        time.Time     `json:"at"`                 // when the attempt began
	FetchedAt time.Time     `json:"fetchedAt,omitzero"` // when it answered, or confirmed that; zero in lines from before
	Shift     time.Duration `json:"shift,omitempty"`    // from the moment that it was recorded at, where it is of a recording
	Doc       string        `json:"doc"`                // hash of the document, as a leaf has it
	From      string        `json:"from,omitempty"`     // of the one before, where it was made from that too
	Bodies    []Body        `json:"bodies"`
}

// hashes are those of all that f needs.
func (f Fetch) hashes() []string {
	list := []string{f.Doc}
	if f.From != "" {
		list = append(list, f.From)
	}
	for _, b := range f.Bodies {
		list = append(list, b.Hash)
	}
	return list
}

// answer is what tells answers of sources apart.
type answer struct {
	pack, source string
	fetchedAt    int64 // in milliseconds, as states tell it
}

func (f Fetch) answer() answer { return answer{f.Pack, f.Source, f.FetchedAt.UnixMilli()} }

const indexFile = "fetches.jsonl"

// Store keeps evidence below a directory. It is safe for concurrent use.
type Store struct {
	dir    string
	bounds Bounds
	log    *slog.Logger

	// Written hears of a pack when what Keep took last is written, or was not written. Set it before the first Keep; nil is nobody.
	Written func(pack string)

	packer *zstd.Encoder // of who writes
	work   chan func()
	done   chan struct{}

	mu       sync.Mutex
	heard    map[string][]heard       // by source, since its last attempt was taken
	shifts   map[string]time.Duration // by source, of its last attempt
	closed   bool
	fetches  []Fetch
	answers  map[answer]Fetch
	blobs    map[string]*blob // by hash
	of       map[string]int64 // by source that used them first
	pruned   time.Time        // when it was last, by the clock of attempts
	standing Standing
}

// Standing is how much is kept, and of what is not kept, since the daemon began, why.
type Standing struct {
	Bytes   int64            `json:"bytes"` // on disk
	Most    int64            `json:"most"`
	Dropped map[string]int64 `json:"dropped"`           // fetches that went before their time, by the setting that left no room
	Lost    map[string]int64 `json:"lost"`              // answers that were not kept, by why
	Failing string           `json:"failing,omitempty"` // why the newest was not, "" where it was
}

// Why an answer is not kept.
const (
	LostFull  = "disk_full"
	LostSlow  = "disk_slow" // too many wait to be written
	LostWrite = "write_failed"
	LostLarge = "too_large" // a body of it
)

// Settings that leave no room.
const (
	RoomAll   = "max_mb"
	RoomOfOne = "max_source_mb"
)

// blob is a body or a document on disk.
type blob struct {
	size  int64
	uses  int    // by fetches
	owner string // the source that used it first
}

// heard is a body that was answered, zero for one that was too large.
type heard struct {
	Body
	text []byte
}

// Read opens the evidence in dir to be looked at.
func Read(dir string) (*Store, error) {
	s := &Store{dir: dir, answers: map[answer]Fetch{}, heard: map[string][]heard{}, shifts: map[string]time.Duration{},
		blobs: map[string]*blob{}, of: map[string]int64{}, standing: Standing{Dropped: map[string]int64{RoomAll: 0, RoomOfOne: 0},
			Lost: map[string]int64{LostFull: 0, LostSlow: 0, LostWrite: 0, LostLarge: 0}}}
	text, err := os.ReadFile(filepath.Join(dir, indexFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read evidence: %w", err)
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var f Fetch
		if json.Unmarshal(lines.Bytes(), &f) == nil { // the last may be cut off
			s.add(f)
		}
	}
	return s, nil
}

// Open opens the evidence in dir to be added to, until Close.
func Open(dir string, bounds Bounds, log *slog.Logger) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of evidence: %w", err)
	}
	s, err := Read(dir)
	if err != nil {
		return nil, err
	}
	if s.packer, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithAllLitEntropyCompression(true)); err != nil {
		return nil, err
	}
	const waiting = 1024
	s.bounds, s.log, s.work, s.done = bounds, log, make(chan func(), waiting), make(chan struct{})
	s.standing.Most = bounds.All
	if err := s.endLine(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.done)
		for act := range s.work {
			act()
		}
	}()
	return s, nil
}

// endLine ends a line of the index that a crash cut off, so that the next is not lost with it.
func (s *Store) endLine() error {
	text, err := os.ReadFile(filepath.Join(s.dir, indexFile))
	if err != nil || len(text) == 0 || text[len(text)-1] == '\n' {
		return nil // Read has read it
	}
	return s.append([]byte{'\n'})
}

// Standing is how the store stands.
func (s *Store) Standing() Standing {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := s.standing
	told.Dropped, told.Lost = maps.Clone(told.Dropped), maps.Clone(told.Lost)
	return told
}

// Close writes what waits.
func (s *Store) Close() {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if !was {
		close(s.work)
	}
	<-s.done
}

// Flush waits until all that was given to Keep is written.
func (s *Store) Flush() {
	written := make(chan struct{})
	s.work <- func() { close(written) }
	<-written
}

func (s *Store) add(f Fetch) {
	s.fetches = append(s.fetches, f)
	s.answers[f.answer()] = f
	for _, hash := range f.hashes() {
		b := s.blobs[hash]
		if b == nil {
			b = &blob{owner: f.Source}
			s.blobs[hash] = b
			if info, err := os.Stat(s.place(hash)); err == nil {
				b.size = info.Size()
			}
			s.standing.Bytes += b.size
			s.of[b.owner] += b.size
		}
		b.uses++
	}
}

func (s *Store) place(hash string) string {
	return filepath.Join(s.dir, hash[:min(2, len(hash))], hash+".zst")
}

// Shifted notes by how much the times of an attempt are shifted that begins now.
func (s *Store) Shifted(id string, by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shifts[id] = by
}

// Answered is for source.Config.Answered: it hears the bodies while they are read.
func (s *Store) Answered(resp *http.Response) {
	id, address := source.Asker(resp.Request.Context())
	if id == "" || resp.StatusCode != http.StatusOK {
		return
	}
	resp.Body = &tee{ReadCloser: resp.Body, most: s.bounds.OneBody, closed: func(text []byte, over bool) {
		if resp.Header.Get("Content-Encoding") == "gzip" && !over {
			zipped, err := gzip.NewReader(bytes.NewReader(text))
			if err != nil {
				return
			}
			if text, err = io.ReadAll(io.LimitReader(zipped, s.bounds.OneBody+1)); err != nil {
				return
			}
			over = int64(len(text)) > s.bounds.OneBody
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if over {
			if s.standing.Lost[LostLarge]++; s.standing.Lost[LostLarge] == 1 {
				s.log.Warn("evidence is not kept", "why", LostLarge, "source", id, "most", s.bounds.OneBody)
			}
			s.heard[id] = append(s.heard[id], heard{})
			return
		}
		s.heard[id] = append(s.heard[id], heard{Body{address, Hash(text)}, text})
	}}
}

// tee remembers what is read of a body.
type tee struct {
	io.ReadCloser
	most   int64
	read   []byte
	over   bool
	closed func(text []byte, over bool)
}

func (t *tee) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if t.over = t.over || int64(len(t.read)+n) > t.most; !t.over {
		t.read = append(t.read, p[:n]...)
	}
	return n, err
}

func (t *tee) Close() error {
	if t.closed != nil {
		t.closed(t.read, t.over)
	}
	t.closed, t.read = nil, nil
	return t.ReadCloser.Close()
}

// Hash is that of a body or a document, as leaves have it.
func Hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Keep takes the evidence of sources as they are saved: of those that answered well what was heard of them is written, later; what was
// heard of the others is let go.
func (s *Store) Keep(pack string, changed []state.SourceRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.work) == 0 && s.standing.Failing == LostSlow {
		s.standing.Failing = ""
	}
	for _, r := range changed {
		bodies := s.heard[r.Source]
		delete(s.heard, r.Source)
		if again, ok := s.find(r, pack); ok && len(bodies) == 0 && !s.closed {
			again.FetchedAt = r.FetchedAt.UTC()
			s.enqueue(again, nil)
			continue
		}
		large := slices.ContainsFunc(bodies, func(b heard) bool { return b.Hash == "" })
		if r.Failures > 0 || r.Doc == nil || len(bodies) == 0 || large || s.closed {
			continue
		}
		f := Fetch{Pack: pack, Source: r.Source, At: r.AskedAt.UTC(), FetchedAt: r.FetchedAt.UTC(), Shift: s.shifts[r.Source],
			Doc: Hash(r.Doc), From: r.From, Bodies: []Body{}}
		blobs := map[string][]byte{f.Doc: bytes.Clone(r.Doc)}
		for _, b := range bodies {
			if slices.Contains(r.Bodies, b.Hash) { // else it was of no use
				f.Bodies = append(f.Bodies, b.Body)
				blobs[b.Hash] = b.text
			}
		}
		s.enqueue(f, blobs)
	}
	if s.Written != nil && !s.closed {
		select {
		case s.work <- func() { s.Written(pack) }:
		default: // so are those of a later time
		}
	}
}

// find is the fetch that a source has confirmed since, as the record of it tells. The caller holds mu.
func (s *Store) find(r state.SourceRecord, pack string) (f Fetch, ok bool) {
	if r.Failures > 0 || r.Doc == nil {
		return f, false
	}
	for _, f := range slices.Backward(s.fetches) {
		if f.Pack == pack && f.Source == r.Source {
			return f, f.At.Equal(r.AskedAt) && f.FetchedAt.Before(r.FetchedAt) && f.Doc == Hash(r.Doc)
		}
	}
	return f, false
}

// enqueue has f written. The caller holds mu.
func (s *Store) enqueue(f Fetch, blobs map[string][]byte) {
	select {
	case s.work <- func() { s.write(f, blobs) }:
	default:
		s.lost(LostSlow, fmt.Errorf("%d fetches wait to be written", len(s.work)))
	}
}

// Has reports whether all is kept that the document is made of that a source of pack had brought when it answered at a time, as far as
// the index tells.
func (s *Store) Has(pack, id string, fetchedAt time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.answers[answer{pack, id, fetchedAt.UnixMilli()}]
	return ok && !slices.ContainsFunc(f.hashes(), func(hash string) bool { return s.blobs[hash].size == 0 })
}

// lost tells that evidence is not kept, once for each outage. The caller holds mu.
func (s *Store) lost(why string, err error) {
	s.standing.Lost[why]++
	if s.standing.Failing != why {
		s.log.Warn("evidence is not kept", "why", why, "error", err)
	}
	s.standing.Failing = why
}

func (s *Store) write(f Fetch, blobs map[string][]byte) {
	err := s.writeAll(f, blobs)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.add(f)
		err = s.prune(f.At)
	}
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		s.lost(LostFull, err)
	case err != nil:
		s.lost(LostWrite, err)
	case s.standing.Failing != "" && s.standing.Failing != LostSlow: // which others may still wait behind
		s.log.Info("evidence is kept again")
		s.standing.Failing = ""
	}
}

// writeAll writes what f needs, or nothing.
func (s *Store) writeAll(f Fetch, blobs map[string][]byte) (err error) {
	var made []string
	defer func() {
		for _, place := range made {
			if err != nil {
				_ = os.Remove(place) // on a full disk it would be in the way, and nobody counts it
			}
		}
	}()
	for hash, text := range blobs {
		place := s.place(hash)
		if _, err := os.Stat(place); err == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
			return err
		}
		made = append(made, place+".new", place)
		// Not brought to the disk at once: states come first there, and what a crash breaks has another hash.
		if err := os.WriteFile(place+".new", s.packer.EncodeAll(text, nil), 0o600); err != nil {
			return err
		}
		if err := os.Rename(place+".new", place); err != nil {
			return err
		}
	}
	line, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return s.append(append(line, '\n'))
}

// append adds whole lines to the index, or nothing.
func (s *Store) append(lines []byte) error {
	index, err := os.OpenFile(filepath.Join(s.dir, indexFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := index.Stat()
	if err == nil {
		if _, err = index.Write(lines); err != nil {
			err = errors.Join(err, index.Truncate(info.Size()))
		}
	}
	return errors.Join(err, index.Close())
}

// slack is how far below its bounds the store is brought, so that it is not done with each fetch.
const slack = 0.95

// prune drops the oldest fetches beyond the bounds, but for the newest of each source: where it is too large at once, and for age each
// hour. The caller holds mu.
func (s *Store) prune(now time.Time) error {
	over := func(id string, by float64) bool {
		return s.standing.Bytes > int64(by*float64(s.bounds.All)) || s.of[id] > int64(by*float64(s.bounds.OfOne))
	}
	if !over(s.fetches[len(s.fetches)-1].Source, 1) && now.Sub(s.pruned).Abs() < time.Hour {
		return nil
	}
	s.pruned = now
	newest := map[string]int{}
	for i, f := range s.fetches {
		newest[f.Pack+"/"+f.Source] = i
	}
	kept, old := s.fetches[:0:0], now.Add(-s.bounds.For)
	for i, f := range s.fetches {
		if newest[f.Pack+"/"+f.Source] == i || !f.At.Before(old) && !over(f.Source, slack) {
			kept = append(kept, f)
			continue
		}
		if !f.At.Before(old) {
			s.crowded(f.Source)
		}
		s.drop(f)
	}
	if len(kept) == len(s.fetches) {
		return nil
	}
	s.fetches = kept
	var text bytes.Buffer
	for _, f := range kept {
		line, err := json.Marshal(f)
		if err != nil {
			return err
		}
		text.Write(append(line, '\n'))
	}
	return atomicfile.Write(filepath.Join(s.dir, indexFile), text.Bytes(), 0o600)
}

// crowded tells that a fetch of a source goes before its time, once for each setting. The caller holds mu.
func (s *Store) crowded(id string) {
	why := RoomOfOne
	if s.of[id] <= int64(slack*float64(s.bounds.OfOne)) {
		why = RoomAll
	}
	if s.standing.Dropped[why]++; s.standing.Dropped[why] == 1 {
		s.log.Warn("evidence goes before evidence.for is over, to make room", "setting", "evidence."+why, "source", id)
	}
}

// drop removes what only f used.
func (s *Store) drop(f Fetch) {
	delete(s.answers, f.answer())
	for _, hash := range f.hashes() {
		b := s.blobs[hash]
		if b.uses--; b.uses == 0 {
			s.standing.Bytes -= b.size
			s.of[b.owner] -= b.size
			delete(s.blobs, hash)
			_ = os.Remove(s.place(hash))
		}
	}
}

// Holding is what is kept of a source.
type Holding struct {
	Pack    string    `json:"pack"`
	Source  string    `json:"source"`
	Fetches int       `json:"fetches"`
	Oldest  time.Time `json:"oldest"`
	Newest  time.Time `json:"newest"`
	Bytes   int64     `json:"bytes"` // on disk
}

// List is what is kept, by pack and source.
func (s *Store) List() []Holding {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []Holding{}
	for _, f := range s.fetches {
		i := slices.IndexFunc(list, func(k Holding) bool { return k.Pack == f.Pack && k.Source == f.Source })
		if i < 0 {
			i, list = len(list), append(list, Holding{Pack: f.Pack, Source: f.Source, Oldest: f.At, Bytes: s.of[f.Source]})
		}
		list[i].Fetches++
		list[i].Newest = f.At
	}
	slices.SortFunc(list, func(a, b Holding) int { return cmp.Or(cmp.Compare(a.Pack, b.Pack), cmp.Compare(a.Source, b.Source)) })
	return list
}

// ErrGone says that something is not kept.
var ErrGone = errors.New("not kept")

// ErrChanged says that what is kept under a hash has another.
var ErrChanged = errors.New("changed on disk")

// Text is what is kept under a hash, which it has.
func (s *Store) Text(hash string) ([]byte, error) {
	packed, err := os.ReadFile(s.place(filepath.Base(hash)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrGone
	}
	if err != nil {
		return nil, err
	}
	reader, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	text, err := reader.DecodeAll(packed, nil)
	if err != nil || Hash(text) != hash {
		return nil, ErrChanged
	}
	return text, nil
}

// Fetch is that which brought a document of a source, in the attempt that began at a time.
func (s *Store) Fetch(pack, id, doc string, at time.Time) (Fetch, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range slices.Backward(s.fetches) {
		if f.Pack == pack && f.Source == id && f.Doc == doc && f.At.Equal(at) {
			return f, true
		}
	}
	return Fetch{}, false
}
