// Package witness has witnesses sign the checkpoints of a daemon's logs.
//
// A witness signs a checkpoint only if its log has all that was in the one that it signed before, so that a service cannot show one history
// to some and another to others. Set sends them each new checkpoint, in the protocol tlog-witness of C2SP, follows what was published and
// is never in its way.
package witness

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// Witness signs the checkpoints of the logs that it is sent.
type Witness struct {
	Key string // its verifier key, as ctx verify witness key shows it
	URL string // to which /add-checkpoint is added
}

const (
	pollEvery   = time.Second      // from one look for new checkpoints to the next
	answerLimit = 10 * time.Second // for a witness
	longestWait = 5 * time.Minute  // after a failure; the first is pollEvery
)

// Check reports what is wrong with witnesses.
func Check(list []Witness) error {
	for i, w := range list {
		if _, err := sdk.ParseWitnessKey(w.Key); err != nil {
			return fmt.Errorf("log.witnesses[%d]: %w", i, err)
		}
		u, err := url.Parse(w.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
			return fmt.Errorf("log.witnesses[%d]: its address is not http://host or https://host", i)
		}
	}
	return nil
}

// Set has the witnesses of a daemon sign what its logs say.
type Set struct {
	Witnesses []Witness
	Logs      *translog.Logs
	Packs     func() []string // that are served
	Now       func() time.Time
	Logger    *slog.Logger
}

// cosigner is what one witness has signed of the log of one pack.
type cosigner struct {
	witness Witness
	head    api.LogHead // that line is of
	line    string
	failed  int // times in a row
	next    time.Time
	why     error     // it failed
	since   time.Time // that it has not signed the newest, zero where it has
}

func (a *cosigner) standing() translog.Cosigner {
	c := translog.Cosigner{Size: a.head.Size}
	c.Name, _, _ = strings.Cut(a.witness.Key, "+")
	if since := a.since.UTC(); !a.since.IsZero() {
		c.Since = &since
	}
	if a.why != nil {
		c.Error = a.why.Error()
	}
	return c
}

// Run sends each new checkpoint to the witnesses, until ctx ends. What is not there yet is asked for again. A witness
// signs the same checkpoint again.
func (s *Set) Run(ctx context.Context) {
	if len(s.Witnesses) == 0 {
		return
	}
	all := map[string][]*cosigner{} // by pack
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Timeout: answerLimit, CheckRedirect: stay}
	for {
		for _, pack := range s.Packs() {
			if all[pack] == nil {
				for _, w := range s.Witnesses {
					all[pack] = append(all[pack], &cosigner{witness: w})
				}
			}
			s.cosignPack(ctx, client, pack, all[pack])
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// cosignPack sends the checkpoint of a pack to those who have not signed it, all at once.
func (s *Set) cosignPack(ctx context.Context, client *http.Client, pack string, list []*cosigner) {
	head, err := s.Logs.Head(ctx, pack)
	if err != nil { // there is no log yet, or the database says what is wrong with it elsewhere
		return
	}
	answers := make(chan bool)
	waiting := 0
	now := s.Now()
	for _, a := range list {
		if a.head != head && a.since.IsZero() {
			a.since = now
		}
		if a.head == head || now.Before(a.next) {
			continue
		}
		waiting++
		go func() { answers <- s.ask(ctx, client, head, a) }()
	}
	news := false
	for range waiting {
		news = <-answers || news
	}
	var lines []string
	var standing []translog.Cosigner
	for _, a := range list {
		if a.head == head {
			lines = append(lines, a.line)
		}
		standing = append(standing, a.standing())
	}
	s.Logs.Stand(pack, standing)
	if news {
		if err := s.Logs.Cosign(ctx, head, lines, now); err != nil && ctx.Err() == nil {
			s.Logger.Warn("signatures of witnesses are not kept", "log", head.Origin, "error", err)
		}
	}
}

// ask asks one witness, and reports whether it signed.
func (s *Set) ask(ctx context.Context, client *http.Client, head api.LogHead, a *cosigner) bool {
	checkpoint, err := s.Logs.Plain(head)
	if err == nil {
		prove := func(ctx context.Context, old int64) ([]string, error) {
			if old > head.Size {
				return nil, errors.New("it has seen more of this log than there is")
			}
			return s.Logs.Consistency(ctx, head, old)
		}
		a.line, err = sdk.AskWitness(ctx, client, a.witness.URL, a.witness.Key, checkpoint, a.head.Size, prove)
	}
	if err == nil {
		a.head, a.failed, a.why, a.since = head, 0, nil, time.Time{}
		return true
	}
	a.why = err
	if a.failed++; a.failed == 1 && ctx.Err() == nil { // once for each outage
		name, _, _ := strings.Cut(a.witness.Key, "+")
		s.Logger.Warn("witness does not sign", "log", head.Origin, "witness", name, "error", err)
	}
	a.next = s.Now().Add(min(pollEvery<<min(a.failed, 10), longestWait))
	return false
}
