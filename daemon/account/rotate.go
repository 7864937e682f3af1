package account

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Rotation says how a key is replaced by another.
type Rotation struct {
	Name  string        // of the new key; "" means that of the old one
	Grace time.Duration // for which the old key works on; at most api.MaxRotationGrace
}

// Rotate makes a key in place of the one with the given id, with tier, consent and bound of that. All credits of the old key are on the new
// one when Rotate returns; the old one ends after the grace, by the clock of k.
func (k *Keys) Rotate(ctx context.Context, id string, r Rotation) (issued api.IssuedKey, err error) {
	old, err := k.Lookup(id)
	if err != nil {
		return issued, err
	}
	if old.Grant != nil {
		return issued, api.Errorf(api.ReasonInvalidRequest, "key %s is of an agent that has signed in: it has no plaintext to replace", id).
			WithHint("revoke it, and sign in again with the agent")
	}
	n := NewKey{OwnerID: old.OwnerID, Name: cmp.Or(strings.TrimSpace(r.Name), old.Name), Consent: old.Consent}
	if err := n.check(); err != nil {
		return issued, err
	}
	if r.Grace < 0 || r.Grace > api.MaxRotationGrace {
		return issued, api.Errorf(api.ReasonInvalidRequest, "graceSeconds is %d, not a number from 0 to %d",
			int64(r.Grace.Seconds()), int64(api.MaxRotationGrace.Seconds())).WithHint("leave it out to end the old key at once")
	}
	err = k.cfg.WithLock(ctx, old.OwnerID, func() (err error) {
		if old, err = k.Lookup(id); err != nil { // its tier may have been raised
			return err
		}
		if err := k.mayMakeToday(ctx, n.OwnerID); err != nil {
			return err
		}
		n.Tier, n.unmetered, n.Daily = old.Tier, old.Unmetered, bound(old.Daily)
		var moved int64
		ends := k.cfg.Now().UTC().Truncate(time.Millisecond).Add(r.Grace)
		issued, err = k.make(n, func(next Key) (err error) {
			moved, err = k.cfg.Store.RotateKey(ctx, id, next, ends)
			return err
		})
		if err != nil {
			return fmt.Errorf("rotate key %s: %w", id, err)
		}
		issued.CreditBalance, issued.RevokesAt = &moved, &ends
		k.mu.Lock()
		defer k.mu.Unlock()
		k.change(id, func(key *Key) { key.RevokesAt = ends })
		if r.Grace == 0 {
			k.change(id, func(key *Key) { key.RevokedAt = ends })
			k.ends.close(id)
		}
		return nil
	})
	if err != nil {
		return api.IssuedKey{}, err
	}
	return issued, nil
}

// Retire revokes the keys that were replaced and whose time is over, and ends what they have open.
func (k *Keys) Retire(ctx context.Context) error {
	now := k.cfg.Now()
	var over []string
	k.mu.RLock()
	for id, key := range k.byID {
		if key.RevokedAt.IsZero() && key.over(now) {
			over = append(over, id)
		}
	}
	k.mu.RUnlock()
	if len(over) == 0 {
		return nil
	}
	if err := k.cfg.Store.EndKeys(ctx, now); err != nil {
		return fmt.Errorf("end replaced keys: %w", err)
	}
	for _, id := range over {
		k.mu.Lock()
		k.change(id, func(key *Key) { key.RevokedAt = key.RevokesAt })
		k.mu.Unlock()
		k.ends.close(id)
	}
	return nil
}

// Prune forgets the keys without credits that were revoked api.KeyRetention ago or earlier, and of an owner all but the newest
// api.MaxRevokedKeys of them.
func (k *Keys) Prune(ctx context.Context) error {
	now := k.cfg.Now()
	ids, err := k.cfg.Store.PruneKeys(ctx, now.Add(-api.KeyRetention), now, api.MaxRevokedKeys)
	if err != nil {
		return fmt.Errorf("prune keys: %w", err)
	}
	for _, id := range ids {
		k.mu.Lock()
		if key := k.byID[id]; key != nil {
			k.drop(key)
		}
		k.mu.Unlock()
		k.ends.forget(id)
	}
	return nil
}

// Edit changes name and bound of the key with the given id. The bound holds for every call that is admitted after Edit has returned.
func (k *Keys) Edit(ctx context.Context, id string, e api.EditKeyRequest) (Key, error) {
	if e == (api.EditKeyRequest{}) {
		return Key{}, api.Errorf(api.ReasonInvalidRequest, "nothing of the key is to be changed").
			WithHint("send name, dailyCredits or both")
	}
	known, err := k.Lookup(id)
	if err != nil {
		return Key{}, err
	}
	err = k.cfg.WithLock(ctx, known.OwnerID, func() error {
		if known, err = k.Lookup(id); err != nil {
			return err
		}
		if !known.RevokedAt.IsZero() {
			return api.Errorf(api.ReasonInvalidRequest, "key %s was revoked and cannot be changed", id).WithHint("create a new key")
		}
		next := NewKey{Name: strings.TrimSpace(cmp.Or(e.Name, known.Name)), Consent: known.Consent, Daily: bound(known.Daily),
			unmetered: known.Unmetered}
		if e.DailyCredits.Set {
			next.Daily = e.DailyCredits.To
		}
		if err := cmp.Or(next.check(), next.checkBound()); err != nil {
			return err
		}
		known.Name, known.Daily = next.Name, 0
		if next.Daily != nil {
			known.Daily = *next.Daily
		}
		if err := k.cfg.Store.EditKey(ctx, id, known.Name, known.Daily); err != nil {
			return fmt.Errorf("edit key %s: %w", id, err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.change(id, func(key *Key) { key.Name, key.Daily = known.Name, known.Daily })
		return nil
	})
	return known, err
}

// SetKeyTier sets the tier of a key that the operator has made. With enterprise it is as a new one, not charged unless Config says
// otherwise; with another tier it is charged. That holds for every call that is admitted after SetKeyTier has returned.
func (k *Keys) SetKeyTier(ctx context.Context, id string, tier api.Tier) error {
	if !tier.Valid() {
		return api.Errorf(api.ReasonInvalidRequest, "tier %q does not exist", tier).WithHint("tiers: %s", api.List(api.Tiers()))
	}
	key, err := k.Lookup(id)
	if err != nil {
		return err
	}
	if key.OwnerID != OperatorID {
		return api.Errorf(api.ReasonInvalidRequest, "key %s takes the tier of its owner", id).
			WithHint("contextd owners tier %s %s", key.OwnerID, tier)
	}
	unmetered := tier == api.TierEnterprise && !k.cfg.Metered
	return k.cfg.WithLock(ctx, key.OwnerID, func() error {
		if err := k.cfg.Store.SetKeyTier(ctx, id, tier, unmetered); err != nil {
			return fmt.Errorf("set tier of key %s: %w", id, err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.change(id, func(key *Key) { key.Tier, key.Unmetered = tier, unmetered })
		return nil
	})
}
