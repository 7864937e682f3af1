package billing

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// decide says whether c may be answered at now and, if so, adds what it costs to b and returns what is left.
func (m *Meter) decide(ctx context.Context, c Call, now time.Time, b *batch) (left Left, err error) {
	account, own, err := m.find(ctx, c)
	if err != nil {
		return left, err
	}
	if err := access(c, account.pool, m.askForCredits(c)); err != nil {
		return left, err
	}
	usage := UsageKey{KeyID: c.KeyID, Hour: hourOf(now), Op: c.Op}
	if c.Consent == api.ConsentNone {
		usage.Op = ""
	}
	count := b.Usage[usage]
	switch {
	case c.Unmetered:
		count.Free += c.cost()
	case account.pool > 0:
		if account.pool < c.cost() {
			return left, api.Errorf(api.ReasonInsufficient, "the call costs %d credits, and %d are left", c.cost(), account.pool).
				WithHint("ask for less, or %s", m.askForCredits(c))
		}
		today, spent, err := m.today(ctx, c, now)
		if err == nil {
			err = m.takeVolume(ctx, c, now)
		}
		if err != nil {
			return left, err
		}
		for range c.cost() {
			b.Debits[account.debit(own)]++
		}
		count.Paid += c.cost()
		left = Left{Known: true, Calls: account.pool}
		if c.Daily > 0 {
			spent += c.cost()
			m.days[today], b.Daily[today] = spent, Spent{b.Daily[today].Credits + c.cost(), c.Daily}
			rest := c.Daily - spent
			left.Daily = &rest
		}
	default:
		if left, err = m.takeFree(ctx, c, now, b); err != nil {
			return left, err
		}
		count.Free += c.cost()
	}
	b.Usage[usage] = count
	if c.Consent == api.ConsentFull {
		b.Traces = append(b.Traces, Trace{KeyID: c.KeyID, At: now, Op: c.Op, Pack: c.Pack})
	}
	return left, nil
}

// today is the day of c and what its key has spent in it, where the key has a bound that has room for c.
func (m *Meter) today(ctx context.Context, c Call, now time.Time) (today Day, spent int64, err error) {
	if c.Daily == 0 {
		return today, 0, nil
	}
	now = now.UTC()
	begins := now.Truncate(dayHours * hour)
	today = Day{c.KeyID, hourOf(begins)}
	ends := begins.Add(dayHours * hour)
	spent, known := m.days[today]
	if !known {
		past, err := m.cfg.Store.PaidHours(ctx, c.KeyID, begins.Add(-hour))
		if err != nil {
			return today, 0, fmt.Errorf("read what key %s has spent today: %w", c.KeyID, err)
		}
		for _, s := range past {
			if s.At.Before(ends) {
				spent += s.Calls
			}
		}
		m.days[today] = spent
	}
	const change = "use another key; one with another bound is made by ctx keys create --per-day, or contextd keys create --per-day"
	switch {
	case c.cost() > c.Daily:
		return today, spent, api.Errorf(api.ReasonInsufficient, "the call costs %d credits, and key %s may spend %d a day",
			c.cost(), c.KeyID, c.Daily).WithHint("ask for less, or %s", change)
	case spent+c.cost() > c.Daily:
		return today, spent, api.Errorf(api.ReasonDailySpent, "key %s has spent %d of the %d credits that it may spend in a UTC day",
			c.KeyID, spent, c.Daily).WithHint("wait for Retry-After (midnight UTC), or %s", change).WithRetryAfter(ends.Sub(now))
	}
	return today, spent, nil
}

// takeVolume counts c, which takes a credit, in the volume of its tier.
func (m *Meter) takeVolume(ctx context.Context, c Call, now time.Time) error {
	read := func(length time.Duration) ([]Stamp, error) {
		return m.cfg.Store.PaidHours(ctx, c.KeyID, now.Add(-length))
	}
	w, err := remembered(m.volumes, c.KeyID, hour, api.VolumeWindow, read)
	limit := m.cfg.Plans[c.Tier].Volume
	if err == nil && m.cfg.CatchUp != nil && limit > 0 {
		err = w.renew(now, int64(limit), read)
	}
	if err != nil {
		return fmt.Errorf("read paid calls of key %s: %w", c.KeyID, err)
	}
	if limit > 0 {
		if wait, ok := w.wait(now, int64(limit), c.cost()); wait > 0 || !ok {
			return exhausted(wait, ok, "get a higher tier, whose volume is larger",
				"key %s has used the volume of tier %s, %d calls in 30 days", c.KeyID, c.Tier, limit)
		}
	}
	w.add(now, c.cost())
	return nil
}

// takeFree counts c in the free windows of its owner and of its address, and in b.
func (m *Meter) takeFree(ctx context.Context, c Call, now time.Time, b *batch) (left Left, err error) {
	whose := cmp.Or(c.Window, c.OwnerID)
	w, err := remembered(m.free, whose, time.Millisecond, api.FreeWindow, func(length time.Duration) ([]Stamp, error) {
		return m.cfg.Store.FreeCalls(ctx, whose, now.Add(-length))
	})
	if err != nil {
		return left, fmt.Errorf("read free calls of %s: %w", whose, err)
	}
	if wait, ok := w.wait(now, int64(m.cfg.FreeCalls), c.cost()); wait > 0 || !ok {
		used := "the owner of key %s has no credits and has used the %d free calls of 24 hours, which all of the owner's keys share"
		if whose == c.KeyID {
			used = "key %s has no credits and has used its %d free calls of 24 hours"
		}
		return left, exhausted(wait, ok, m.askForCredits(c), used, c.KeyID, m.cfg.FreeCalls)
	}
	client := m.client(c.Client, now)
	if client != nil {
		if wait, ok := client.wait(now, int64(m.cfg.PerClient), c.cost()); wait > 0 || !ok {
			return left, exhausted(wait, ok, m.askForCredits(c),
				"keys without credits have used the %d free calls of 24 hours from your network", m.cfg.PerClient)
		}
		client.add(now, c.cost())
		b.clients[c.Client] += c.cost()
	}
	stamp := b.Free[c.KeyID]
	if after := now.Add(-api.FreeWindow); b.FreeAfter.IsZero() || after.Before(b.FreeAfter) {
		b.FreeAfter = after // as the first of them, or the last would let in what the first must not
	}
	b.Windows[c.KeyID], b.FreeLimit = whose, int64(m.cfg.FreeCalls)
	b.Free[c.KeyID] = Stamp{At: w.add(now, c.cost()), Calls: stamp.Calls + c.cost()}
	left = Left{Known: true, Free: true, Calls: int64(m.cfg.FreeCalls) - w.sum, Reset: w.reset(now)}
	if client != nil && int64(m.cfg.PerClient)-client.sum < left.Calls {
		left.Calls, left.Reset = int64(m.cfg.PerClient)-client.sum, client.reset(now)
	}
	return left, nil
}

// client is the free window of an address, nil where it does not count or there is no room for it: the owner's window holds even so.
func (m *Meter) client(address string, now time.Time) *window {
	if address == "" {
		return nil
	}
	w := m.clients[address]
	if w == nil {
		if len(m.clients) >= maxClient && now.Sub(m.swept) >= time.Minute { // looking takes a while
			m.swept = now
			for other, w := range m.clients {
				if w.expire(now); w.sum == 0 {
					delete(m.clients, other)
				}
			}
		}
		if len(m.clients) >= maxClient {
			return nil
		}
		w = newWindow(api.FreeWindow, time.Millisecond, nil)
		m.clients[address] = w
	}
	return w
}

// remembered is the window of id in windows, read first if it is not there.
func remembered(windows map[string]*window, id string, grain, length time.Duration,
	read func(length time.Duration) ([]Stamp, error)) (*window, error) {
	if w := windows[id]; w != nil {
		return w, nil
	}
	past, err := read(length)
	if err != nil {
		return nil, err
	}
	w := newWindow(length, grain, past)
	windows[id] = w
	return w, nil
}

// Access says whether c may read its pack, before anything is resolved or charged: nil, or the *api.Error.
func (m *Meter) Access(ctx context.Context, c Call) error {
	if c.Pack == api.PackCrypto || c.Unmetered {
		return nil // credits or not
	}
	pool, err := m.pool(ctx, c.OwnerID)
	if err != nil {
		return err
	}
	if err = access(c, pool, m.askForCredits(c)); !m.poor(err) {
		return err
	}
	if err = m.cfg.CatchUp(); err == nil {
		pool, err = m.pool(ctx, c.OwnerID)
	}
	if err != nil {
		return err
	}
	return access(c, pool, m.askForCredits(c))
}

// HasCredits reports whether a call c would be paid with credits.
func (m *Meter) HasCredits(ctx context.Context, c Call) (bool, error) {
	pool, err := m.pool(ctx, c.OwnerID)
	return pool > 0 || c.Unmetered, err
}

func (m *Meter) pool(ctx context.Context, ownerID string) (pool int64, err error) {
	m.mu.Lock()
	account := m.books[ownerID]
	if account != nil {
		pool = account.pool
	}
	m.mu.Unlock()
	if account != nil {
		return pool, nil
	}
	records, err := m.cfg.Store.Records(ctx, ownerID)
	if err != nil {
		return 0, fmt.Errorf("read credits of owner %s: %w", ownerID, err)
	}
	for _, r := range records {
		pool += r.Credits
	}
	return pool, nil
}

// access says whether c, whose owner has pool credits, may read its pack: nil, or the *api.Error with a hint.
func access(c Call, pool int64, hint string) error {
	switch {
	case pool > 0 || c.Pack == api.PackCrypto || c.Unmetered:
		return nil
	case c.Tier == api.TierFree:
		return api.Errorf(api.ReasonPackAccessDenied, "a free key without credits reads pack %s only", api.PackCrypto).
			WithHint("%s", hint)
	}
	return api.Errorf(api.ReasonInsufficient, "no credits are left; pack %s needs them", c.Pack).WithHint("%s", hint)
}

// askForCredits is the hint for getting credits: buying them where they are sold, or paying by call without a key.
func (m *Meter) askForCredits(c Call) string {
	if m.cfg.Sells && c.OwnerID != m.cfg.Operator {
		return "buy credits: ctx credits buy starter; or call without a key and pay for each call: ctx --pay"
	}
	return "ask the operator for credits: contextd credits grant KEYID CREDITS --reason TEXT"
}

// exhausted is the answer to a call that has to wait, or that costs more than there ever is; hint is what else its caller can do.
func exhausted(wait time.Duration, ever bool, hint, format string, args ...any) error {
	if !ever {
		return api.Errorf(api.ReasonInsufficient, "the call costs more than the whole allowance").WithHint("ask for less, or %s", hint)
	}
	return api.Errorf(api.ReasonQuotaExhausted, format, args...).WithHint("wait for Retry-After, or %s", hint).WithRetryAfter(wait)
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
		return nil, 0, api.Errorf(api.ReasonKeyRevoked, "key %s was revoked", c.KeyID).WithHint("use another key: ctx keys create NAME")
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
