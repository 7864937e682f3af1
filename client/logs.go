package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// logs looks after the transparency logs of the configured service. The first checkpoint that is seen of a log is trusted and remembered;
// from then on the log may only grow. Its funcs may be called at the same time.
type logs struct {
	io       *streams
	settings *settings
	reader   func() (*sdk.Client, error) // of the configured service, with neither key nor checks

	mu   sync.Mutex             // one look at a time
	last map[string]*sdk.Proven // by pack, the last that held in this run
}

// knownLog is what is remembered of a log, a file for each service and pack.
type knownLog struct {
	Service    string    `json:"service"`
	Pack       string    `json:"pack"`
	Origin     string    `json:"origin"`
	Key        string    `json:"key"`
	Size       int64     `json:"size"`
	Root       string    `json:"root"`
	Checkpoint string    `json:"checkpoint"`
	Since      time.Time `json:"since"` // when the log was first seen
	Proven     api.Proof `json:"proven"`
	State      string    `json:"state"` // the hash of what Proven proves, "" for no state
}

// timeForLogs bounds a look at a log that an answer waits for.
const timeForLogs = 15 * time.Second

// place is where what is known of the log of a pack lies, and the address of the service.
func (l *logs) place(pack string) (file, service string, err error) {
	c, err := l.settings.Config()
	if err != nil {
		return "", "", err
	}
	service = strings.TrimRight(c.Get(config.BaseURL).Text, "/")
	sum := sha256.Sum256([]byte(service + "\n" + pack))
	return filepath.Join(c.Dir, "logs", hex.EncodeToString(sum[:8])+".json"), service, nil
}

// Known is what is remembered of the log of a pack, nil for nothing. What cannot be read is an error: it must not count as nothing.
func (l *logs) Known(pack string) (*knownLog, error) {
	file, _, err := l.place(pack)
	if err != nil {
		return nil, err
	}
	return readKnown(file)
}

func readKnown(file string) (*knownLog, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var k knownLog
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err == nil {
		_, err = k.head()
	}
	if err != nil {
		return nil, fmt.Errorf("what is remembered of a log cannot be read from %s: %v", file, err)
	}
	return &k, nil
}

// OfOrigin is what is remembered of the log with an origin, whatever the service, nil for nothing.
func (l *logs) OfOrigin(origin string) (*knownLog, error) {
	file, _, err := l.place("")
	if err != nil {
		return nil, err
	}
	files, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.json")) // the pattern is good
	for _, file := range files {
		if k, err := readKnown(file); err != nil || k != nil && k.Origin == origin {
			return k, err
		}
	}
	return nil, nil
}

func (k *knownLog) head() (*sdk.Checkpoint, error) { return sdk.OpenCheckpoint(k.Checkpoint, k.Key) }

// remember writes what is known of the log of a pack. Of two that run at the same time the one that saw more is kept.
func (l *logs) remember(pack string, p *sdk.Proven, known *knownLog) error {
	file, service, err := l.place(pack)
	if err != nil {
		return err
	}
	c := p.Checkpoint
	k := knownLog{Service: service, Pack: pack, Origin: c.Origin, Key: c.Key, Size: c.Size, Root: c.Root, Checkpoint: c.Text,
		Since: l.io.Now(), Proven: api.Proof{Log: c.Origin, Seq: p.Leaf.Seq, Leaf: p.Hash}, State: p.Leaf.State}
	if known != nil && known.Origin == k.Origin {
		k.Since = known.Since
	}
	if there, err := readKnown(file); err == nil && there != nil && there.Origin == k.Origin && there.Size > k.Size {
		return nil
	}
	text, err := json.MarshalIndent(k, "", "  ")
	if err != nil {
		return fmt.Errorf("remember the log: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("remember the log: %w", err)
	}
	return atomicfile.Write(file, append(text, '\n'), 0o600)
}

// Check is sdk.WithProofCheck's: it refuses an answer that its log does not prove, or whose log is not the one that was known.
func (l *logs) Check(ctx context.Context, pack string, named api.Proof, answer *sdk.Response) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, timeForLogs)
	defer cancel()
	known, err := l.Known(pack)
	if err != nil {
		return err
	}
	if named == (api.Proof{}) && known == nil {
		return nil
	}
	if known != nil && names(named, known.Proven) {
		return isOf(named, known.State, answer.Body)
	}
	p, err := l.fetch(ctx, pack, known, named)
	if _, broken := errors.AsType[*sdk.ProofError](err); broken {
		return err
	}
	if err != nil {
		if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
			l.io.Note("warning: what the service says of %s could not be checked with its log: %s", pack, human.Line(err.Error()))
		}
		return nil
	}
	return isOfLeaf(pack, named, p, answer.Body)
}

// names reports whether a proof names a leaf. That of a state of a stream has no log.
func names(named, leaf api.Proof) bool {
	return named.Seq == leaf.Seq && named.Leaf == leaf.Leaf && (named.Log == leaf.Log || named.Log == "")
}

// isOfLeaf checks that an answer names the leaf of p, and is that.
func isOfLeaf(pack string, named api.Proof, p *sdk.Proven, body []byte) error {
	if named == (api.Proof{}) {
		return &sdk.ProofError{Reason: sdk.ProofInvalid,
			Err: fmt.Errorf("the answer names no leaf, and the service has a log of %s: this was not said in public", pack)}
	}
	if !names(named, api.Proof{Log: p.Checkpoint.Origin, Seq: p.Leaf.Seq, Leaf: p.Hash}) {
		return &sdk.ProofError{Reason: sdk.ProofInvalid,
			Err: fmt.Errorf("the answer names leaf %d of %s with another hash than it has in the log", named.Seq, human.Line(named.Log))}
	}
	return isOf(named, p.Leaf.State, body)
}

// isOf checks that the state in an answer, if it has a whole one, is that with the hash.
func isOf(named api.Proof, hash string, body []byte) error {
	var has struct{ State json.RawMessage }
	if json.Unmarshal(body, &has) != nil || has.State == nil || named.Scope == api.ScopeFull {
		return nil
	}
	if sum := sha256.Sum256(has.State); hex.EncodeToString(sum[:]) != hash {
		return &sdk.ProofError{Reason: sdk.ProofInvalid,
			Err: fmt.Errorf("the state is not the one that leaf %d of the log is of", named.Seq)}
	}
	return nil
}

// fetch reads the leaf of the log of a pack that an answer names, the newest where it names none, checks it, and that the log is the known
// one.
func (l *logs) fetch(ctx context.Context, pack string, known *knownLog, named api.Proof) (*sdk.Proven, error) {
	client, err := l.reader()
	if err != nil {
		return nil, err
	}
	log := client.Log(pack)
	fetch := func() (*api.LogEntry, error) { return log.Leaf(ctx, named.Seq) }
	if named == (api.Proof{}) {
		fetch = func() (*api.LogEntry, error) { return log.Newest(ctx) }
	}
	entry, err := fetch()
	if err != nil {
		return nil, l.missing(ctx, log, pack, known, err)
	}
	return l.verify(ctx, log, pack, known, entry)
}

// notFound reports whether the service says that something is not there.
func notFound(err error) bool {
	refused, ok := errors.AsType[*api.Error](err)
	return ok && refused.Status == http.StatusNotFound
}

// missing is what an error of asking for a leaf means: where it is not there, that the log is not the known one, or not there at all, or
// not more than that.
func (l *logs) missing(ctx context.Context, log *sdk.Log, pack string, known *knownLog, absent error) error {
	if known == nil || !notFound(absent) {
		return absent
	}
	before, err := known.head()
	if err != nil {
		return err
	}
	now, err := log.Checkpoint(ctx, known.Key)
	if notFound(err) {
		return &sdk.ProofError{Reason: sdk.ProofShrunk, Known: before,
			Err: fmt.Errorf("the service has no log of %s any more, and %s had %d leaves: what it said was taken back", pack, known.Origin,
				known.Size)}
	}
	if err != nil {
		return absent
	}
	if err := log.Follow(ctx, before, now); err != nil {
		return l.evidence(pack, err)
	}
	return absent
}

// verify checks an entry, and that the log is the known one, and remembers it. Known was read before the entry was asked for.
func (l *logs) verify(ctx context.Context, log *sdk.Log, pack string, known *knownLog, entry *api.LogEntry) (*sdk.Proven, error) {
	p, err := sdk.VerifyEntry(*entry, "", l.Witnesses()...)
	if err != nil {
		return nil, l.evidence(pack, err)
	}
	if known != nil {
		before, err := known.head()
		if err != nil {
			return nil, err
		}
		switch err := log.Follow(ctx, before, p.Checkpoint); {
		case err != nil && l.late(ctx, log, before, p.Checkpoint):
			l.cache(pack, p)
			return p, nil
		case anotherDemo(err, before.Origin, p.Checkpoint.Origin):
			l.io.Note("this is another demo than the last one here: its log is followed from now on")
		case err != nil:
			return nil, l.evidence(pack, err)
		}
	}
	l.cache(pack, p)
	return p, l.remember(pack, p, known)
}

// cache has p for who wants to write it to a file.
func (l *logs) cache(pack string, p *sdk.Proven) {
	if l.last == nil {
		l.last = map[string]*sdk.Proven{}
	}
	l.last[pack] = p
}

// late reports whether a checkpoint is of before the known one because a cache on the way kept it: the log itself goes on as it was known.
func (l *logs) late(ctx context.Context, log *sdk.Log, known, kept *sdk.Checkpoint) bool {
	if kept.Origin != known.Origin || kept.Key != known.Key || kept.Size >= known.Size {
		return false
	}
	now, err := log.Checkpoint(ctx, known.Key)
	return err == nil && log.Follow(ctx, known, now) == nil && log.Follow(ctx, kept, now) == nil
}

// demoOrigin begins the origin of the log of a demo.
const demoOrigin = "contextd-demo/"

// anotherDemo reports whether the log that took the place of another is that of a demo after a demo, each of which begins one. A demo that
// goes on from a backup, or with another key, is no other.
func anotherDemo(err error, a, b string) bool {
	broken, ok := errors.AsType[*sdk.ProofError](err)
	return ok && broken.Reason == sdk.ProofReplaced && strings.HasPrefix(a, demoOrigin) && strings.HasPrefix(b, demoOrigin)
}

// Witnesses are the keys of the witnesses of the configuration.
func (l *logs) Witnesses() (keys []string) {
	c, err := l.settings.Config()
	if err != nil {
		return nil
	}
	for key := range strings.SplitSeq(c.Get(config.Witnesses).Text, ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	return keys
}

// evidence keeps the two checkpoints of an error that has them in a file, and names it.
func (l *logs) evidence(pack string, err error) error {
	p, ok := errors.AsType[*sdk.ProofError](err)
	if !ok || p.Known == nil || p.Now == nil {
		return err
	}
	known, service, placeErr := l.place(pack)
	if placeErr != nil {
		return err
	}
	type side struct {
		Checkpoint string `json:"checkpoint"`
		Key        string `json:"key"`
	}
	at := l.io.Now().UTC()
	text, _ := json.MarshalIndent(map[string]any{"reason": p.Reason, "message": p.Error(), "service": service, "pack": pack, "at": at,
		"known": side{p.Known.Text, p.Known.Key}, "now": side{p.Now.Text, p.Now.Key}}, "", "  ") // texts and a time
	sum := sha256.Sum256([]byte(p.Known.Text + p.Now.Text)) // the same evidence is one file, however often it is seen
	file := filepath.Join(filepath.Dir(known), "evidence", fmt.Sprintf("%s-%x.json", p.Reason, sum[:6]))
	_, statErr := os.Stat(file)
	if statErr != nil {
		statErr = errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), atomicfile.Write(file, append(text, '\n'), 0o600))
	}
	if statErr != nil {
		return fmt.Errorf("%w; the evidence could not be kept: %v", err, statErr)
	}
	return fmt.Errorf("%w; both checkpoints are kept in %s", err, file)
}

// See looks at an entry of the log of a pack as fetch returns it: it is checked, the log has to be the known one, and is remembered.
func (l *logs) See(ctx context.Context, pack string, fetch func(*sdk.Log) (*api.LogEntry, error)) (*sdk.Proven, *knownLog, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, err := l.Known(pack)
	if err != nil {
		return nil, nil, err
	}
	client, err := l.reader()
	if err != nil {
		return nil, nil, err
	}
	log := client.Log(pack)
	entry, err := fetch(log)
	if err != nil {
		return nil, known, l.missing(ctx, log, pack, known, err)
	}
	p, err := l.verify(ctx, log, pack, known, entry)
	return p, known, err
}

// Ask asks the configured service for its log of a pack, and is what is then remembered of the log with an origin: nil if the service has
// another one, or none, or does not answer.
func (l *logs) Ask(ctx context.Context, pack, origin string) (*knownLog, error) {
	within, cancel := context.WithTimeout(ctx, timeForLogs)
	defer cancel()
	_, _, err := l.See(within, pack, func(log *sdk.Log) (*api.LogEntry, error) { return log.Newest(within) })
	if _, broken := errors.AsType[*sdk.ProofError](err); broken || ctx.Err() != nil {
		return nil, err
	}
	return l.OfOrigin(origin)
}

// Log is the log of a pack of the configured service.
func (l *logs) Log(pack string) (*sdk.Log, error) {
	client, err := l.reader()
	if err != nil {
		return nil, err
	}
	return client.Log(pack), nil
}

// Accept has the log that the service has now take the place of the known one, which agree is asked about, with why it is refused. Where
// the service has none any more, the known one is forgotten.
func (l *logs) Accept(ctx context.Context, pack string, agree func(why error) error) (p *sdk.Proven, forgotten bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, err := l.Known(pack)
	if err != nil {
		return nil, false, err
	}
	log, err := l.Log(pack)
	if err != nil {
		return nil, false, err
	}
	entry, err := log.Newest(ctx)
	if err != nil {
		err = l.missing(ctx, log, pack, known, err)
	} else {
		p, err = l.verify(ctx, log, pack, known, entry)
	}
	broken, _ := errors.AsType[*sdk.ProofError](err)
	if err == nil || broken == nil || broken.Now == nil && entry != nil {
		return p, false, err
	}
	if err := agree(err); err != nil {
		return nil, false, err
	}
	file, _, err := l.place(pack)
	if err != nil {
		return nil, false, err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false, cli.Invalid("%w", err)
	}
	if entry == nil {
		return nil, true, nil
	}
	p, err = l.verify(ctx, log, pack, nil, entry)
	return p, false, err
}

// Last is what the last answer of a pack was proven by in this run, nil for nothing, if it is the leaf at a place.
func (l *logs) Last(pack string, seq int64) *sdk.Proven {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.last[pack]; p != nil && p.Leaf.Seq == seq {
		return p
	}
	return nil
}
