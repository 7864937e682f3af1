package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// slack is how much before its interval is over a source may be asked, so that the jitter of refreshes does not make it miss one.
const slack = 30 * time.Second

// leastPause is how long a source is left alone after it was asked out of turn.
const leastPause = 30 * time.Second

// longestPause is the most that a source with a shorter interval is left alone for. A later time was noted by a clock that has been set
// back since.
const longestPause = time.Hour

// fetchers is how many sources are asked at once.
const fetchers = 8

// track is what the pipeline knows of one source.
type track struct {
	connector   source.Connector
	reading     pack.Reading
	bodies      []string // hashes of what upstream sent for the Doc of reading
	versions    string   // of the documents that it was read from, as they are kept
	made        documentHashes
	text        []byte // the Doc of reading as it is kept, nil for none
	textErr     error
	attemptedAt time.Time // the beginning of the refresh that asked last
	notBefore   time.Time
	off         string // why it is not asked, "" where it is
	unsaved     bool   // what is known is not in the store yet
}

// newTrack restores a track from its record, which is zero for a new source. A record that cannot be read counts as none.
func newTrack(c source.Connector, r state.SourceRecord, off string, log *slog.Logger) *track {
	t := &track{connector: c, off: off}
	if off != "" {
		t.reading.Err = off
		return t
	}
	if r.Source == "" {
		return t
	}
	if class, _, _ := strings.Cut(r.Err, ":"); !source.Class(class).Mendable() { // else what was wrong here may be mended now
		t.attemptedAt, t.notBefore = r.AttemptedAt, r.NotBefore
	}
	t.reading = pack.Reading{FetchedAt: r.FetchedAt, Failures: r.Failures, Err: r.Err}
	if r.Doc == nil {
		return t
	}
	doc, via, err := readDoc(c, r.Doc)
	if !c.Serves(via) {
		return &track{connector: c}
	}
	if err != nil {
		log.Warn("stored answer of a source dropped: unreadable", "source", c.ID, "error", err)
		return &track{connector: c, notBefore: t.notBefore}
	}
	t.reading.Doc, t.reading.Via, t.bodies, t.versions = doc, via, r.Bodies, r.Versions
	t.made = documentHashes{at: r.AskedAt, from: r.From}
	t.write()
	return t
}

// readDoc reads a document as it is kept, and who answered in place of its source.
func readDoc(c source.Connector, text []byte) (doc source.Doc, via string, err error) {
	if said := new(saidFor); json.Unmarshal(text, said) == nil && said.Via != "" {
		text, via = said.Doc, said.Via
	}
	doc = c.New()
	return doc, via, json.Unmarshal(text, doc)
}

// ReadDoc reads a document as it is kept.
func ReadDoc(c source.Connector, text []byte) (source.Doc, error) {
	doc, _, err := readDoc(c, text)
	return doc, err
}

// WriteDoc is the text of a document as it is kept, where via answered in place of its source.
func WriteDoc(doc source.Doc, via string) ([]byte, error) {
	text, err := json.Marshal(doc)
	if err == nil && via != "" {
		text, err = json.Marshal(saidFor{via, text})
	}
	return text, err
}

// documentHashes are what a leaf tells of the document of a source.
type documentHashes struct {
	at        time.Time // when the attempt began that brought it
	doc, rows string    // rows is "" where the document has nothing else
	from      string    // the doc of the one before, where it was made from that too
}

// write writes the document of t, and sets its hashes. What cannot be written fails where it is to be kept.
func (t *track) write() {
	t.text, t.textErr = WriteDoc(t.reading.Doc, t.reading.Via)
	t.made.doc, t.made.rows = digest(t.text), ""
	if rows, whole := source.RowsOf(t.reading.Doc); !whole && t.textErr == nil {
		var text []byte
		text, t.textErr = json.Marshal(rows)
		t.made.rows = digest(text)
	}
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (t *track) record() (state.SourceRecord, error) {
	return state.SourceRecord{
		Source: t.connector.ID, FetchedAt: t.reading.FetchedAt, AttemptedAt: t.attemptedAt, NotBefore: t.notBefore,
		Failures: t.reading.Failures, Err: t.reading.Err, Bodies: t.bodies, Doc: t.text, AskedAt: t.made.at, From: t.made.from,
		Versions: t.versions,
	}, t.textErr
}

// readBy is how versions of documents are kept: what another program has read, or for another pack, is read again.
type readBy struct {
	By       string          `json:"by"`
	Versions source.Versions `json:"versions"`
}

// versions are those of a record, none that another read.
func (p *Pipeline) versions(text string) source.Versions {
	var r readBy
	if p.cfg.Program == "" || json.Unmarshal([]byte(text), &r) != nil || r.By != p.readBy() {
		return nil
	}
	return r.Versions
}

func (p *Pipeline) readBy() string { return p.cfg.Program + " " + p.cfg.Pack.Digest }

// saidFor is how the answer of one who stands in for a source is kept.
type saidFor struct {
	Via string          `json:"via"`
	Doc json.RawMessage `json:"answer"`
}

// sources says what the next state is made of, ordered by id. The caller holds mu.
func (p *Pipeline) sources() []api.LogSource {
	list := make([]api.LogSource, 0, len(p.tracks))
	for _, t := range p.tracks {
		if t.reading.Doc != nil {
			list = append(list, api.LogSource{
				ID: t.connector.ID, FetchedAt: t.reading.FetchedAt.UTC(),
				Bodies: append([]string{}, t.bodies...), At: t.made.at, Doc: t.made.doc, Rows: t.made.rows, From: t.made.from,
				Via: t.reading.Via, Moved: t.connector.Moved != "",
			})
		}
	}
	slices.SortFunc(list, func(a, b api.LogSource) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// answer is the outcome of an attempt and when it came.
type answer struct {
	source.Outcome
	at time.Time
}

// apply takes the answer to an attempt of the refresh that began at the given time and reports whether it was good.
func (t *track) apply(a answer, began time.Time) bool {
	// Counted from the beginning: a slow answer must not make its source miss a refresh.
	t.attemptedAt = began
	t.notBefore = time.Time{}
	switch {
	case a.Doc != nil:
		made := documentHashes{at: a.At.UTC()}
		if t.connector.Remembers {
			made.from = t.made.doc
		}
		t.reading, t.bodies, t.made = pack.Reading{Doc: a.Doc, FetchedAt: a.at, Via: a.Via, Ending: a.Ending}, a.Bodies, made
		t.write()
		return true
	case a.NotModified:
		t.reading.FetchedAt, t.reading.Failures, t.reading.Err, t.reading.Ending = a.at, 0, "", a.Ending
		return true
	}
	t.reading.Failures++
	t.reading.Err = string(a.Class) + ": no usable rows"
	if a.Err != nil {
		t.reading.Err = a.Err.Error()
	}
	if a.RetryAfter > 0 {
		t.notBefore = a.at.Add(a.RetryAfter)
	}
	// An upstream that cannot be reached is not spared by waiting, and is missed as soon as it is back. One that is too slow was asked.
	if a.Class != source.ClassNetwork || a.Slow {
		if until := began.Add(source.Backoff(t.reading.Failures, t.connector.Interval) - slack); until.After(t.notBefore) {
			t.notBefore = until
		}
	}
	return false
}

// due reports whether the source t should be asked at now, in the slot that began at begin. With force its interval does not count; what
// upstream asked for does. Times that lie ahead of now by more than they can count for nothing, else a clock that is corrected would
// silence a source.
func (p *Pipeline) due(t *track, now, begin time.Time, force bool) bool {
	if now.Before(t.notBefore) && t.notBefore.Sub(now) <= max(longestPause, t.connector.Interval) {
		return false
	}
	if force || t.reading.Failures > 0 || now.Before(t.attemptedAt) {
		return true
	}
	pause := t.connector.Interval - slack
	if t.connector.Interval <= p.cfg.Every && t.attemptedAt.Before(begin) {
		pause = min(pause, leastPause) // a refresh out of turn, as at the start, must not cost the slot after it its state
	}
	return !now.Before(t.attemptedAt.Add(pause))
}

// collect asks the sources that are due, in parallel and bounded by the deadline, and returns the records that the store does
// not have yet.
func (p *Pipeline) collect(ctx context.Context, force bool) ([]state.SourceRecord, Report, error) {
	began := p.cfg.Now()
	begin := p.slotOf(began).Add(-p.early())
	p.mu.Lock()
	var due []*track
	for _, t := range p.tracks {
		if t.off == "" && (p.cfg.AlwaysDue || p.due(t, began, begin, force)) {
			due = append(due, t)
		}
	}
	p.mu.Unlock()
	notBefore := p.askNotBefore(ctx)
	answers := p.ask(ctx, due)
	known := <-notBefore
	if ctx.Err() != nil { // stopped: what was cut off says nothing about the sources
		return nil, Report{}, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(due) > 0 {
		p.noteTook(p.cfg.Now().Sub(began))
	}
	p.known = known
	report := Report{Asked: len(due)}
	for i, t := range due {
		before := t.reading
		if t.apply(answers[i], began) {
			p.news = true
			if answers[i].Doc != nil {
				text, _ := json.Marshal(readBy{p.readBy(), answers[i].Versions}) // texts
				t.versions = string(text)
			}
		} else {
			report.Failed++
			if answers[i].Class == source.ClassNetwork {
				report.Unreachable++
			}
		}
		t.unsaved = true
		p.log(t, before, answers[i].Outcome)
	}
	records, err := p.unsaved()
	return records, report, err
}

// unsaved returns the records of the sources of which the store does not have the newest. The caller holds mu.
func (p *Pipeline) unsaved() ([]state.SourceRecord, error) {
	var records []state.SourceRecord
	for _, t := range p.tracks {
		if !t.unsaved {
			continue
		}
		r, err := t.record()
		if err != nil {
			return nil, fmt.Errorf("encode answer of %s: %w", t.connector.ID, err)
		}
		records = append(records, r)
	}
	return records, nil
}

// saved notes that the store has what is known of the sources, and with pulse also the state made of it.
func (p *Pipeline) saved(pulse *state.Pulse) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.tracks {
		t.unsaved = false
	}
	p.seen = state.Mark{}
	if pulse != nil {
		p.newest = *pulse
		p.news = false
	}
}

// notBeforeWithin is how long a beacon may take: no state waits for long for it.
const notBeforeWithin = 3 * time.Second

// askNotBefore asks for what nobody could know before now, beside the sources.
func (p *Pipeline) askNotBefore(ctx context.Context) <-chan *api.LogNotBefore {
	answer := make(chan *api.LogNotBefore, 1)
	if p.cfg.NotBefore == nil {
		answer <- nil
		return answer
	}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, notBeforeWithin)
		defer cancel()
		answer <- p.cfg.NotBefore(ctx)
	}()
	return answer
}

// ask fetches the given sources, at most fetchers at once, and returns their answers in the same order.
func (p *Pipeline) ask(ctx context.Context, due []*track) []answer {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Deadline)
	defer cancel()
	answers := make([]answer, len(due))
	places := make(chan struct{}, fetchers)
	var all sync.WaitGroup
	for i, t := range due {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			outcome := p.cfg.Fetcher.Fetch(ctx, t.connector, t.reading.Doc)
			answers[i] = answer{outcome, p.cfg.Now().Truncate(time.Millisecond)} // as it is kept, and told in the leaf
		})
	}
	all.Wait()
	return answers
}

// log says once that a source fails, again when the reason changes, and that it is back.
func (p *Pipeline) log(t *track, before pack.Reading, o source.Outcome) {
	p.cfg.Observer.Fetched(p.cfg.Pack.ID, t.connector.ID, string(o.Class))
	log := p.cfg.Logger.With("source", t.connector.ID)
	if o.Ending != "" {
		p.cfg.Observer.Ending(p.cfg.Pack.ID, t.connector.ID)
		if o.Ending != before.Ending {
			log.Warn("source announces its end", "notice", o.Ending)
		}
	}
	if o.Via != "" && o.Via != before.Via {
		log.Warn("source answered by another", "via", o.Via, "error", o.Own)
	}
	switch {
	case t.reading.Err != "" && t.reading.Err != before.Err:
		if !t.reading.FetchedAt.IsZero() {
			log = log.With("last_good", t.reading.FetchedAt)
		}
		log.Warn("source failed", "class", string(o.Class), "error", t.reading.Err, "failures", t.reading.Failures,
			"not_before", t.notBefore)
	case t.reading.Err == "" && t.reading.Via == "" && (before.Err != "" || before.Via != ""):
		log.Info("source recovered", "failures", before.Failures)
	default:
		log.Debug("source asked", "class", string(o.Class), "latency", o.Latency, "dropped", o.Dropped)
	}
}
