package translog

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// Store keeps logs; *history.History is one.
type Store interface {
	// LogHead is the log of pack that goes on, as far as it is on disk; the zero head for none.
	LogHead(ctx context.Context, pack string) (api.LogHead, error)
	// LogTile are the hashes that are stored of a tile of the log of an origin, nil for none.
	LogTile(ctx context.Context, origin string, level int, n int64) ([]byte, error)
	// LogBundle are the leaves of a tile of level 0, as a bundle.
	LogBundle(ctx context.Context, origin string, n int64) ([]byte, error)
	// LogBefore is the newest leaf of a state that was made before t; ok is false for none.
	LogBefore(ctx context.Context, origin string, t time.Time) (seq int64, ok bool, err error)
	// KeepAnchor keeps the checkpoint of a head with signatures of witnesses, the first of an hour.
	KeepAnchor(ctx context.Context, head api.LogHead, at time.Time, signatures int, checkpoint string) error
	// Anchor is the first checkpoint that was kept with leaf seq in it, and its size; 0 for none.
	Anchor(ctx context.Context, origin string, seq int64) (size int64, checkpoint string, err error)
}

// Tables are the rows of the newest state of a pack, and the leaf of that; nil where there are none.
type Tables func(pack string) (*state.Tables, api.Proof)

// maxKept bounds what Logs keeps at hand, in bytes: some twenty bundles.
const maxKept = 16 << 20

// Logs answers for the logs of a Store. Make one with NewLogs; it is safe for concurrent use.
type Logs struct {
	store  Store
	key    Key
	tables Tables

	mu     sync.Mutex // guards what follows
	cache  map[name]*list.Element
	recent *list.List // of kept, most recently used first
	size   int

	cosigned map[string]cosigned   // by origin, the last
	standing map[string][]Cosigner // by pack
	trees    map[string]*rowTree   // by origin, the last
}

// name says what an answer is of, and all that its text depends on. Members that do not count for what it is are zero.
type name struct {
	what   string // of the answers below, nameBefore with a minute as it was written, or the path of a part
	origin string
	size   int64
	root   string
	lines  string // signatures of witnesses
	n      int64  // the number of a leaf
}

// What is kept beside parts.
const (
	nameCheckpoint = "checkpoint"
	nameEntry      = "entry"
	nameBundle     = "bundle"
	nameBefore     = "before "
	nameRow        = "row "
	nameAnchor     = "anchor"
)

// How long caches may give an answer without asking: a checkpoint is news for seconds, a full tile stays for ever, and what is of an
// unfinished tile, or of the newest checkpoint, is soon replaced by more.
const (
	cacheCheckpoint = "public, max-age=5"
	cacheTile       = "public, max-age=31536000, immutable"
	cachePart       = "public, max-age=60"
)

// Answer is a text and its headers, which are made once: nobody changes either.
type Answer struct {
	Text    []byte
	Head    map[string][]string
	Zip     []byte              // Text in gzip; nil where that is not worth it
	ZipHead map[string][]string // of Zip
	Read    bool                // a bundle was read for it, which costs the most; it was not at hand
}

func newAnswer(kind, cache string, text []byte) Answer {
	sum := sha256.Sum256(text)
	return Answer{Text: text, Head: headers(kind, cache, hex.EncodeToString(sum[:8]), text)}
}

func headers(kind, cache, tag string, text []byte) map[string][]string {
	return map[string][]string{
		"Etag": {`"` + tag + `"`}, "Cache-Control": {cache}, "Content-Type": {kind}, "Content-Length": {strconv.Itoa(len(text))},
	}
}

// zipped is a with its text in gzip too.
func (a Answer) zipped() (Answer, error) {
	var out bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // it is a level
	_, err := zip.Write(a.Text)
	if err = errors.Join(err, zip.Close()); err != nil {
		return a, fmt.Errorf("compress leaves: %w", err)
	}
	a.Zip = out.Bytes()
	tag := strings.Trim(a.Head["Etag"][0], `"`) + "-gzip" // it is of other bytes
	a.ZipHead = headers(a.Head["Content-Type"][0], a.Head["Cache-Control"][0], tag, a.Zip)
	a.ZipHead["Content-Encoding"] = []string{"gzip"}
	a.Head["Vary"] = []string{"Accept-Encoding"}
	a.ZipHead["Vary"] = a.Head["Vary"]
	return a, nil
}

// entry is an answer under its name.
type entry struct {
	name name
	Answer
}

// size is about how many bytes k takes.
func (k *entry) size() int {
	const beside = 1 << 10 // its headers and its place
	return beside + len(k.name.what) + len(k.Text) + len(k.Zip)
}

func (l *Logs) name(what string, head api.LogHead, n int64) name {
	return name{what, head.Origin, head.Size, head.Root, l.signatures(head), n}
}

// NewLogs makes the Logs of a store, whose checkpoints are signed by key; nil tables mean that no row can be proven.
func NewLogs(store Store, key Key, tables Tables) *Logs {
	if tables == nil {
		tables = func(string) (*state.Tables, api.Proof) { return nil, api.Proof{} }
	}
	return &Logs{store: store, key: key, tables: tables, trees: map[string]*rowTree{}, cache: map[name]*list.Element{}, recent: list.New(),
		cosigned: map[string]cosigned{}, standing: map[string][]Cosigner{}}
}

// SignCheck signs, in the name of the log of an origin, the hash of what a text was judged against for the state of a leaf.
func (l *Logs) SignCheck(origin, leaf, basis string) ([]byte, error) {
	return l.key.note(origin, api.CheckNote(origin, leaf, basis))
}

// cached returns what is kept under a name, or what produce returns, which is kept from then on.
func (l *Logs) cached(of name, produce func() (Answer, error)) (Answer, error) {
	l.mu.Lock()
	e := l.cache[of]
	if e != nil {
		l.recent.MoveToFront(e)
	}
	l.mu.Unlock()
	if e != nil {
		return e.Value.(*entry).Answer, nil
	}
	made, err := produce()
	if err != nil {
		return Answer{}, err
	}
	of.what = strings.Clone(of.what) // and not the whole request that it is a part of
	k := &entry{of, made}
	k.Read = false
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cache[of] == nil {
		l.cache[of] = l.recent.PushFront(k)
		l.size += k.size()
	}
	for l.size > maxKept && l.recent.Len() > 1 {
		last := l.recent.Remove(l.recent.Back()).(*entry)
		delete(l.cache, last.name)
		l.size -= last.size()
	}
	return made, nil
}

func (l *Logs) head(ctx context.Context, pack string) (api.LogHead, error) {
	head, err := l.store.LogHead(ctx, pack)
	if err == nil && head.Size == 0 {
		err = api.Errorf(api.ReasonNotFound, "pack %s has no log", pack).
			WithHint("%s lists the packs; a log begins with the first state", api.PathPacks)
	}
	return head, err
}

// Checkpoint is the checkpoint of the log of pack, with its headers.
func (l *Logs) Checkpoint(ctx context.Context, pack string) (Answer, error) {
	log, err := l.head(ctx, pack)
	if err != nil {
		return Answer{}, err
	}
	return l.checkpoint(log)
}

func (l *Logs) checkpoint(head api.LogHead) (Answer, error) {
	of := l.name(nameCheckpoint, head, 0)
	return l.cached(of, func() (Answer, error) {
		text, err := l.key.Sign(head)
		return newAnswer("text/plain; charset=utf-8", cacheCheckpoint, append(text, of.lines...)), err
	})
}

// Part is the tile or bundle at path, with its headers. It stays as it is, full or not.
func (l *Logs) Part(ctx context.Context, pack, path string) (Answer, error) {
	log, err := l.head(ctx, pack)
	if err != nil {
		return Answer{}, err
	}
	return l.cached(name{what: path, origin: log.Origin}, func() (Answer, error) {
		p, ok := ParsePart(path)
		if !ok {
			return Answer{}, api.Errorf(api.ReasonNotFound, "a log has no tile at that path").
				WithHint("use tile/{L}/{N} or tile/entries/{N} of C2SP tlog-tiles, such as tile/0/000.p/5")
		}
		if have := Stored(log.Size, p.Level, p.N); have < p.Width {
			return Answer{}, api.Errorf(api.ReasonNotFound, "the log has %d hashes of that tile, not %d", have, p.Width).
				WithHint("its checkpoint has %d leaves", log.Size)
		}
		text, fromStore, err := l.read(ctx, log, p)
		if err != nil {
			return Answer{}, err
		}
		cache := cachePart
		if p.Width == Width {
			cache = cacheTile
		}
		a := newAnswer("application/octet-stream", cache, text)
		if p.Entries {
			a, err = a.zipped()
		}
		a.Read = fromStore
		return a, err
	})
}

// read reads p of a log, and reports whether its leaves had to be read from the store.
func (l *Logs) read(ctx context.Context, log api.LogHead, p Part) (text []byte, fromStore bool, err error) {
	if !p.Entries {
		hashes, err := l.store.LogTile(ctx, log.Origin, p.Level, p.N)
		if err == nil && len(hashes) < p.Width*HashSize {
			err = fmt.Errorf("%w: tile %d of level %d of %s is short", ErrDamaged, p.N, p.Level, log.Origin)
		}
		if err != nil {
			return nil, false, err
		}
		return hashes[:p.Width*HashSize], false, nil
	}
	leaves, fromStore, err := l.leaves(ctx, log, p.N)
	if err != nil {
		return nil, false, err
	}
	if len(leaves) < p.Width {
		return nil, false, fmt.Errorf("%w: bundle %d of %s is short", ErrDamaged, p.N, log.Origin)
	}
	for _, leaf := range leaves[:p.Width] {
		text = AppendEntry(text, leaf)
	}
	return text, fromStore, nil
}

// leaves are those of bundle n. A bundle is kept at hand, since one leaf is as much work as all.
func (l *Logs) leaves(ctx context.Context, log api.LogHead, n int64) (list [][]byte, fromStore bool, err error) {
	of := name{what: nameBundle, origin: log.Origin, n: n}
	if log.Size/Width <= n { // it grows
		of.size = log.Size
	}
	a, err := l.cached(of, func() (Answer, error) {
		bundle, err := l.store.LogBundle(ctx, log.Origin, n)
		return Answer{Text: bundle, Read: true}, err
	})
	if err != nil {
		return nil, false, err
	}
	list, err = Entries(a.Text)
	return list, a.Read, err
}

// Leaf is leaf seq of the log of pack with what proves it, as JSON, with its headers.
func (l *Logs) Leaf(ctx context.Context, pack string, seq int64) (Answer, error) {
	log, err := l.head(ctx, pack)
	if err != nil {
		return Answer{}, err
	}
	return l.entry(ctx, log, seq)
}

// Anchor is Leaf with the first checkpoint that was kept with it and with signatures of witnesses.
func (l *Logs) Anchor(ctx context.Context, pack string, seq int64) (Answer, error) {
	head, err := l.head(ctx, pack)
	if err != nil {
		return Answer{}, err
	}
	size, checkpoint, err := l.store.Anchor(ctx, head.Origin, max(seq, 0))
	if err != nil {
		return Answer{}, err
	}
	if seq < 0 || size == 0 || size > head.Size {
		return Answer{}, api.Errorf(api.ReasonNotFound, "no checkpoint with leaf %d and signatures of witnesses was kept", seq).
			WithHint("one an hour is kept, where the operator has witnesses")
	}
	of := name{what: nameAnchor, origin: head.Origin, size: size, lines: checkpoint, n: seq}
	return l.cached(of, func() (Answer, error) {
		e, fromStore, err := l.included(ctx, api.LogHead{Origin: head.Origin, Size: size}, seq, checkpoint)
		if err != nil {
			return Answer{}, err
		}
		return answerJSON(e, fromStore)
	})
}

// At is Leaf for the newest state as of a minute.
func (l *Logs) At(ctx context.Context, pack, minute string) (Answer, error) {
	log, err := l.head(ctx, pack)
	if err != nil {
		return Answer{}, err
	}
	return l.cached(l.name(nameBefore+minute, log, 0), func() (Answer, error) {
		m, err := api.ParseMoment(minute)
		if err != nil {
			short := human.Short(minute, human.Quoted)
			return Answer{}, api.Errorf(api.ReasonInvalidAt, "minute is %q, not a time from 1970 to 9999", short).
				WithHint("write it in UTC: minute=2026-11-20T20:05")
		}
		seq, ok, err := l.store.LogBefore(ctx, log.Origin, m.End())
		if err != nil {
			return Answer{}, err
		}
		if !ok || seq >= log.Size { // of a state that was published since
			return Answer{}, api.Errorf(api.ReasonNotFound, "the log of %s has no state at that minute", pack).
				WithHint("it begins with /log/%s/leaf/0; a service that restored a backup has another log since", pack)
		}
		return l.entry(ctx, log, seq)
	})
}

func (l *Logs) entry(ctx context.Context, head api.LogHead, seq int64) (Answer, error) {
	if seq < 0 || seq >= head.Size {
		return Answer{}, api.Errorf(api.ReasonNotFound, "the log has no leaf %d", seq).
			WithHint("use a leaf from 0 to %d", head.Size-1)
	}
	return l.cached(l.name(nameEntry, head, seq), func() (Answer, error) {
		e, fromStore, err := l.proven(ctx, head, seq)
		if err != nil {
			return Answer{}, err
		}
		return answerJSON(e, fromStore)
	})
}

func answerJSON(v any, fromStore bool) (Answer, error) {
	text, err := jsonx.Encode(v)
	a := newAnswer("application/json", cachePart, append(text, '\n'))
	a.Read = fromStore
	return a, err
}

// proven is a leaf that is in the log of a head, with what proves it, and whether it had to be read from the store.
func (l *Logs) proven(ctx context.Context, head api.LogHead, seq int64) (e api.LogEntry, fromStore bool, err error) {
	checkpoint, err := l.checkpoint(head)
	if err != nil {
		return e, false, err
	}
	return l.included(ctx, head, seq, string(checkpoint.Text))
}

// included is proven by a checkpoint of the head that is there already.
func (l *Logs) included(ctx context.Context, head api.LogHead, seq int64, checkpoint string) (e api.LogEntry, fromStore bool, err error) {
	leaves, fromStore, err := l.leaves(ctx, head, seq/Width)
	if err != nil {
		return e, fromStore, err
	}
	if int64(len(leaves)) <= seq%Width {
		return e, fromStore, fmt.Errorf("%w: leaf %d of %s is not there", ErrDamaged, seq, head.Origin)
	}
	proof, err := Prove(head.Size, seq, func(level int, n int64) ([]byte, error) { return l.store.LogTile(ctx, head.Origin, level, n) })
	if err != nil {
		return e, fromStore, err
	}
	e = api.LogEntry{Leaf: string(leaves[seq%Width]), Proof: inBase64(proof), Checkpoint: checkpoint}
	e.Key, err = l.key.Verifier(head.Origin)
	return e, fromStore, err
}

func inBase64(proof tlog.RecordProof) []string {
	list := make([]string, len(proof))
	for i, h := range proof {
		list[i] = h.String()
	}
	return list
}
