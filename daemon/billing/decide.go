package billing

import (
	"context"
	"fmt"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// decide says whether c may be answered at now and, if so, adds what it costs to b.
func (m *Meter) decide(ctx context.Context, c Call, now time.Time, b *Batch) error {
	account, own, err := m.find(ctx, c)
	if err != nil {
		return err
	}
	w, err := m.windowsOf(ctx, c.KeyID, now)
	if err != nil {
		return err
	}
	if err := access(c.Tier, c.Pack, account.pool); err != nil {
		return err
	}
	usage := UsageKey{KeyID: c.KeyID, Hour: hourOf(now), Op: c.Op}
	if c.Consent == api.ConsentNone {
		usage.Op = ""
	}
	count := b.Usage[usage]
	if account.pool > 0 {
		if wait := m.volumeWait(c.Tier, w.volume, now); wait > 0 {
			return exhausted(wait, "wait for Retry-After; a higher tier has a larger volume",
				"key %s has used the volume of tier %s, %d calls in 30 days", c.KeyID, c.Tier, m.cfg.Plans[c.Tier].Volume)
		}
		b.Debits[account.debit(own)]++
		w.volume.add(now)
		count.Paid++
	} else {
		if wait := w.free.wait(now, int64(m.cfg.FreeCalls)); wait > 0 {
			return exhausted(wait, "wait for Retry-After, or "+askForCredits,
				"key %s has no credits and has used its %d free calls of 24 hours", c.KeyID, m.cfg.FreeCalls)
		}
		stamp := b.Free[c.KeyID]
		b.Free[c.KeyID] = Stamp{At: w.free.add(now), Calls: stamp.Calls + 1}
		count.Free++
	}
	b.Usage[usage] = count
	if c.Consent == api.ConsentFull {
		b.Traces = append(b.Traces, Trace{KeyID: c.KeyID, At: now, Op: c.Op, Pack: c.Pack})
	}
	return nil
}

// Access says whether c may read its pack, before anything is resolved or charged: nil, or the *api.Error.
func (m *Meter) Access(ctx context.Context, c Call) error {
	if c.Pack == api.PackCrypto {
		return nil // credits or not
	}
	pool, err := m.pool(ctx, c.OwnerID)
	if err != nil {
		return err
	}
	return access(c.Tier, c.Pack, pool)
}

// HasCredits reports whether a call c would be paid with credits.
func (m *Meter) HasCredits(ctx context.Context, c Call) (bool, error) {
	pool, err := m.pool(ctx, c.OwnerID)
	return pool > 0, err
}

// pool is what all keys of an owner have.
func (m *Meter) pool(ctx context.Context, ownerID string) (pool int64, err error) {
	records, err := m.cfg.Store.Records(ctx, ownerID)
	if err != nil {
		return 0, fmt.Errorf("read credits of owner %s: %w", ownerID, err)
	}
	for _, r := range records {
		pool += r.Credits
	}
	return pool, nil
}

// access says whether a key of the given tier, whose owner has pool credits, may read pack: nil, or the *api.Error.
func access(tier api.Tier, pack string, pool int64) error {
	switch {
	case pool > 0 || pack == api.PackCrypto:
		return nil
	case tier == api.TierFree:
		return api.Errorf(api.ReasonPackAccessDenied, "a free key without credits reads pack %s only", api.PackCrypto).
			WithHint(askForCredits)
	}
	return api.Errorf(api.ReasonInsufficient, "no credits are left; pack %s needs them", pack).
		WithHint(askForCredits)
}

// askForCredits is what whoever lacks credits can do.
const askForCredits = "ask the operator for credits: contextd admin credits grant KEYID CREDITS --reason TEXT"

// exhausted is the answer to a call that has to wait.
func exhausted(wait time.Duration, hint, format string, args ...any) error {
	return api.Errorf(api.ReasonQuotaExhausted, format, args...).WithHint("%s", hint).WithRetryAfter(wait)
}

// volumeWait is how long a key of the given tier has to wait for its volume, 0 if it need not.
func (m *Meter) volumeWait(tier api.Tier, w *window, now time.Time) time.Duration {
	limit := m.cfg.Plans[tier].Volume
	if limit == 0 {
		return 0
	}
	return w.wait(now, int64(limit))
}

// find returns the book of c's owner and the place of c's key in it. A key that is not there was revoked.
func (m *Meter) find(ctx context.Context, c Call) (*book, int, error) {
	if account := m.books[c.OwnerID]; account != nil {
		if i, ok := account.places[c.KeyID]; ok {
			return account, i, nil
		}
	}
	records, err := m.cfg.Store.Records(ctx, c.OwnerID)
	if err != nil {
		return nil, 0, fmt.Errorf("read credits of owner %s: %w", c.OwnerID, err)
	}
	account := &book{records: records, places: make(map[string]int, len(records))}
	for i, r := range records {
		account.places[r.KeyID] = i
		account.pool += r.Credits
	}
	i, ok := account.places[c.KeyID]
	if !ok {
		return nil, 0, api.Errorf(api.ReasonKeyRevoked, "key %s was revoked", c.KeyID).WithHint("issue a new key and use that")
	}
	m.books[c.OwnerID] = account
	return account, i, nil
}

// debit takes one credit, from the record at own if it has any, else from the oldest that has, and returns whose it was. The pool
// is not empty.
func (b *book) debit(own int) string {
	i := own
	if b.records[i].Credits == 0 {
		for b.records[b.spent].Credits == 0 {
			b.spent++
		}
		i = b.spent
	}
	b.records[i].Credits--
	b.pool--
	return b.records[i].KeyID
}

func (m *Meter) windowsOf(ctx context.Context, keyID string, now time.Time) (*windows, error) {
	if w := m.windows[keyID]; w != nil {
		return w, nil
	}
	past, err := m.cfg.Store.Past(ctx, keyID, now.Add(-api.FreeWindow), now.Add(-api.VolumeWindow))
	if err != nil {
		return nil, fmt.Errorf("read past calls of key %s: %w", keyID, err)
	}
	w := &windows{free: newWindow(api.FreeWindow, time.Millisecond, past.Free), volume: newWindow(api.VolumeWindow, hour, past.Hours)}
	m.windows[keyID] = w
	return w, nil
}
