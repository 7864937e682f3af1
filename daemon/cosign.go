package daemon

import (
	"context"
	"errors"
	"fmt"
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
	Key string // its verifier key, as ctx witness key shows it
	URL string // to which /add-checkpoint is added
}

const (
	witnessLook  = time.Second      // from one look for new checkpoints to the next
	witnessLimit = 10 * time.Second // for an answer
	witnessWait  = 5 * time.Minute  // the longest after a failure; the first is witnessLook
)

// checkWitnesses reports what is wrong with witnesses.
func checkWitnesses(list []Witness) error {
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

// asked is what one witness has signed of the log of one pack.
type asked struct {
	witness Witness
	head    api.LogHead // that Line is of
	line    string
	failed  int // times in a row
	next    time.Time
	why     error     // it failed
	since   time.Time // that it has not signed the newest, zero where it has
}

// standing is a as it is told.
func (a *asked) standing() translog.Cosigner {
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

// cosign sends each new checkpoint to the witnesses, until ctx ends. It follows what was published, and is never in its way; what is not
// there yet is asked for again. Nothing of it is kept: a witness signs the same checkpoint again.
func (d *Daemon) cosign(ctx context.Context) {
	all := map[string][]*asked{} // by pack
	tick := time.NewTicker(witnessLook)
	defer tick.Stop()
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := &http.Client{Timeout: witnessLimit, CheckRedirect: stay}
	for {
		for _, pack := range d.packs.ids() {
			if all[pack] == nil {
				for _, w := range d.cfg.Witnesses {
					all[pack] = append(all[pack], &asked{witness: w})
				}
			}
			d.cosignPack(ctx, client, pack, all[pack])
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// cosignPack sends the checkpoint of a pack to those who have not signed it, all at once.
func (d *Daemon) cosignPack(ctx context.Context, client *http.Client, pack string, list []*asked) {
	head, err := d.proven.Head(ctx, pack)
	if err != nil { // there is no log yet, or the database says what is wrong with it elsewhere
		return
	}
	answers := make(chan bool)
	waiting := 0
	now := d.cfg.Now()
	for _, a := range list {
		if a.head != head && a.since.IsZero() {
			a.since = now
		}
		if a.head == head || now.Before(a.next) {
			continue
		}
		waiting++
		go func() { answers <- d.askWitness(ctx, client, head, a) }()
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
	d.proven.Stand(pack, standing)
	if news {
		d.proven.Cosign(head, lines)
	}
}

// askWitness asks one witness, and reports whether it signed.
func (d *Daemon) askWitness(ctx context.Context, client *http.Client, head api.LogHead, a *asked) bool {
	checkpoint, err := d.proven.Plain(head)
	if err == nil {
		prove := func(ctx context.Context, old int64) ([]string, error) {
			if old > head.Size {
				return nil, errors.New("it has seen more of this log than there is")
			}
			return d.proven.Consistency(ctx, head, old)
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
		d.cfg.Logger.Warn("witness does not sign", "log", head.Origin, "witness", name, "error", err)
	}
	a.next = d.cfg.Now().Add(min(witnessLook<<min(a.failed, 10), witnessWait))
	return false
}
