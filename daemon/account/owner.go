package account

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Owner is who holds keys, as the operator sees them.
type Owner struct {
	ID         string         `json:"id"`
	Tier       api.Tier       `json:"tier"` // of new keys
	CreatedAt  time.Time      `json:"createdAt"`
	DisabledAt *time.Time     `json:"disabledAt"` // nil unless the operator has disabled them
	Keys       int            `json:"keys"`       // that are not revoked
	Credits    int64          `json:"credits"`    // on those
	Identities []api.Identity `json:"identities"` // to sign in with, oldest first; the operator has none
}

type standing struct {
	tier     api.Tier // "" means free
	disabled bool
}

func (k *Keys) tierOf(ownerID string) api.Tier {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.tier(ownerID)
}

// tier is that of an owner. The caller holds mu.
func (k *Keys) tier(ownerID string) api.Tier {
	if tier := k.owners[ownerID].tier; tier != "" {
		return tier
	}
	return api.TierFree
}

// Owners returns every owner, oldest first.
func (k *Keys) Owners(ctx context.Context) ([]Owner, error) {
	list, err := k.cfg.Store.Owners(ctx)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	return list, nil
}

// Owner returns one owner, or the error not_found.
func (k *Keys) Owner(ctx context.Context, id string) (Owner, error) {
	list, err := k.Owners(ctx)
	if err != nil {
		return Owner{}, err
	}
	for _, o := range list {
		if o.ID == id {
			return o, nil
		}
	}
	return Owner{}, noOwner(id)
}

// SetTier sets the tier of an owner and of all their keys. It holds for every call that is admitted after it has returned.
func (k *Keys) SetTier(ctx context.Context, ownerID string, tier api.Tier) error {
	if !tier.Valid() {
		return api.Errorf(api.ReasonInvalidRequest, "tier %q does not exist", tier).WithHint("tiers: %s", api.List(api.Tiers()))
	}
	return k.cfg.WithLock(ctx, ownerID, func() error {
		known, err := k.cfg.Store.SetTier(ctx, ownerID, tier)
		if err != nil {
			return fmt.Errorf("set tier of owner %s: %w", ownerID, err)
		}
		if !known {
			return noOwner(ownerID)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.owners[ownerID] = standing{tier, k.owners[ownerID].disabled}
		for id := range k.byOwner[ownerID] {
			k.change(id, func(key *Key) { key.Tier = tier })
		}
		return nil
	})
}

// TierRaised notes that the store has raised the tier of an owner and their keys to at least the given one.
func (k *Keys) TierRaised(ownerID string, tier api.Tier) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if was := k.owners[ownerID]; !was.tier.AtLeast(tier) {
		k.owners[ownerID] = standing{tier, was.disabled}
	}
	for id, key := range k.byOwner[ownerID] {
		if !key.Tier.AtLeast(tier) {
			k.change(id, func(key *Key) { key.Tier = tier })
		}
	}
}

func noOwner(id string) *api.Error {
	return api.Errorf(api.ReasonNotFound, "there is no owner %q", id).WithHint("list them: contextd owners list")
}

// Unlink takes the identity with the given id from an owner and ends their sessions. The last one stays: to keep its owner out, disable
// them.
func (k *Keys) Unlink(ctx context.Context, ownerID, id string) error {
	owner, err := k.Owner(ctx, ownerID)
	if err != nil {
		return err
	}
	gone, err := pick(owner.Identities, id)
	if err != nil {
		return err
	}
	return unlinked(id, k.cfg.Store.RemoveIdentity(ctx, ownerID, gone, [sha256.Size]byte{}))
}

// Disable refuses an owner, from when it returns: their keys, their sessions, which end, and their streams, until Enable.
func (k *Keys) Disable(ctx context.Context, ownerID string) error {
	if ownerID == OperatorID {
		return api.Errorf(api.ReasonInvalidRequest, "the operator cannot be disabled").
			WithHint("revoke their keys: contextd keys revoke KEYID")
	}
	return k.setDisabled(ctx, ownerID, k.cfg.Now().UTC().Truncate(time.Millisecond))
}

// Enable lets an owner in again who was disabled. They have to sign in again; their keys work as before.
func (k *Keys) Enable(ctx context.Context, ownerID string) error {
	return k.setDisabled(ctx, ownerID, time.Time{})
}

// setDisabled disables an owner at the given time, or enables them where it is zero.
func (k *Keys) setDisabled(ctx context.Context, ownerID string, at time.Time) error {
	return k.cfg.WithLock(ctx, ownerID, func() error {
		known, err := k.cfg.Store.SetDisabled(ctx, ownerID, at)
		if err != nil {
			return fmt.Errorf("disable or enable owner %s: %w", ownerID, err)
		}
		if !known {
			return noOwner(ownerID)
		}
		k.mu.Lock()
		k.owners[ownerID] = standing{k.owners[ownerID].tier, !at.IsZero()}
		k.mu.Unlock()
		for _, key := range k.List(ownerID) {
			if at.IsZero() {
				k.ends.forget(key.ID)
			} else {
				k.ends.close(key.ID)
			}
		}
		return nil
	})
}
