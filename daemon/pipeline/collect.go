package pipeline

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
)

// slack is how much before its interval is over a source may be asked, so that the jitter of refreshes does not make it miss one.
const slack = 30 * time.Second

// fetchers is how many sources are asked at once.
const fetchers = 8

// track is what the pipeline knows of one source.
type track struct {
	connector   source.Connector
	reading     pack.Reading
	attemptedAt time.Time
	notBefore   time.Time
	disabled    bool
}

// newTrack restores a track from its record, which is zero for a new source. A record that cannot be read counts as none.
func newTrack(c source.Connector, r feed.SourceRecord, disabled bool, log *slog.Logger) *track {
	t := &track{connector: c}
	if disabled {
		t.disabled, t.reading.Err = true, "disabled"
		return t
	}
	if r.Source == "" {
		return t
	}
	t.attemptedAt, t.notBefore = r.AttemptedAt, r.NotBefore
	t.reading = pack.Reading{FetchedAt: r.FetchedAt, Failures: r.Failures, Err: r.Err}
	if r.Doc == nil {
		return t
	}
	doc := c.New()
	if err := json.Unmarshal(r.Doc, doc); err != nil {
		log.Warn("forgetting the stored answer of a source: it does not read back", "source", c.ID, "error", err)
		return &track{connector: c}
	}
	t.reading.Doc = doc
	return t
}

// due reports whether the source should be asked at now. With force its interval does not count; what upstream asked for does.
func (t *track) due(now time.Time, force bool) bool {
	if now.Before(t.notBefore) {
		return false
	}
	return force || !now.Before(t.attemptedAt.Add(t.connector.Interval-slack)) || t.reading.Failures > 0
}

// record is t as stored.
func (t *track) record() (feed.SourceRecord, error) {
	r := feed.SourceRecord{
		Source: t.connector.ID, FetchedAt: t.reading.FetchedAt, AttemptedAt: t.attemptedAt, NotBefore: t.notBefore,
		Failures: t.reading.Failures, Err: t.reading.Err,
	}
	if t.reading.Doc == nil {
		return r, nil
	}
	var err error
	r.Doc, err = json.Marshal(t.reading.Doc)
	return r, err
}

// apply takes the outcome of an attempt that ended at now and reports whether it was good.
func (t *track) apply(o source.Outcome, now time.Time) bool {
	t.attemptedAt, t.notBefore = now, time.Time{}
	switch {
	case o.Doc != nil:
		t.reading = pack.Reading{Doc: o.Doc, FetchedAt: now}
		return true
	case o.NotModified:
		t.reading.FetchedAt, t.reading.Failures, t.reading.Err = now, 0, ""
		return true
	}
	t.reading.Failures++
	t.reading.Err = string(o.Class) + ": no usable rows"
	if o.Err != nil {
		t.reading.Err = o.Err.Error()
	}
	pause := o.RetryAfter
	if o.Class != source.ClassNetwork {
		// An upstream that cannot be reached is not spared by waiting, and is missed as soon as it is back.
		pause = max(pause, source.Backoff(t.reading.Failures)-slack)
	}
	if pause > 0 {
		t.notBefore = now.Add(pause)
	}
	return false
}

// collect asks the sources that are due, in parallel and bounded by the deadline, and returns the records of those asked.
func (p *Pipeline) collect(ctx context.Context, force bool) ([]feed.SourceRecord, Report, error) {
	p.mu.Lock()
	now := p.cfg.Now()
	var due []*track
	for _, t := range p.tracks {
		if !t.disabled && (p.cfg.AlwaysDue || t.due(now, force)) {
			due = append(due, t)
		}
	}
	p.mu.Unlock()
	outcomes := p.ask(ctx, due)
	if ctx.Err() != nil { // stopped: what was cut off says nothing about the sources
		return nil, Report{}, ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	report := Report{Asked: len(due)}
	records := make([]feed.SourceRecord, 0, len(due))
	now = p.cfg.Now()
	for i, t := range due {
		before := t.reading
		if !t.apply(outcomes[i], now) {
			report.Failed++
		}
		p.log(t, before, outcomes[i])
		r, err := t.record()
		if err != nil {
			return nil, report, err
		}
		records = append(records, r)
	}
	return records, report, nil
}

// ask fetches the given sources, at most fetchers at once, and returns their outcomes in the same order.
func (p *Pipeline) ask(ctx context.Context, due []*track) []source.Outcome {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Deadline)
	defer cancel()
	outcomes := make([]source.Outcome, len(due))
	places := make(chan struct{}, fetchers)
	var all sync.WaitGroup
	for i, t := range due {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			outcomes[i] = p.cfg.Fetcher.Fetch(ctx, t.connector, t.reading.Doc)
		})
	}
	all.Wait()
	return outcomes
}

// log says once that a source fails, again when the reason changes, and that it is back.
func (p *Pipeline) log(t *track, before pack.Reading, o source.Outcome) {
	log := p.cfg.Logger.With("source", t.connector.ID)
	switch {
	case t.reading.Err != "" && t.reading.Err != before.Err:
		log.Warn("source failed", "class", string(o.Class), "error", t.reading.Err, "failures", t.reading.Failures,
			"last_good", t.reading.FetchedAt, "not_before", t.notBefore)
	case t.reading.Err == "" && before.Err != "":
		log.Info("source is back", "failures", before.Failures)
	default:
		log.Debug("source asked", "class", string(o.Class), "latency", o.Latency, "dropped", o.Dropped)
	}
}
