package account

import (
	"context"
	"fmt"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// Owner is who holds keys, as the operator sees him.
type Owner struct {
	ID        string    `json:"id"`
	Tier      api.Tier  `json:"tier"` // of new keys
	CreatedAt time.Time `json:"createdAt"`
	Keys      int       `json:"keys"`    // that are not revoked
	Credits   int64     `json:"credits"` // on those
}

// Owners returns every owner, oldest first.
func (k *Keys) Owners(ctx context.Context) ([]Owner, error) {
	list, err := k.cfg.Owners.Owners(ctx)
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	return list, nil
}

// SetTier sets the tier of an owner and of all his keys. It holds for every call that is admitted after it has returned.
func (k *Keys) SetTier(ctx context.Context, ownerID string, tier api.Tier) error {
	if !tier.Valid() {
		return api.Errorf(api.ReasonInvalidRequest, "tier %q does not exist", tier).WithHint("tiers: %v", api.Tiers())
	}
	return k.cfg.Alone(ctx, ownerID, func() error {
		known, err := k.cfg.Owners.SetTier(ctx, ownerID, tier)
		if err != nil {
			return fmt.Errorf("set tier of owner %s: %w", ownerID, err)
		}
		if !known {
			return api.Errorf(api.ReasonNotFound, "there is no owner %q", ownerID).WithHint("list them: contextd admin users list")
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, key := range k.byID {
			if key.OwnerID == ownerID {
				next := *key
				next.Tier = tier
				k.remember(&next)
			}
		}
		return nil
	})
}
