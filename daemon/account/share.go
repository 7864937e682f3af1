package account

import (
	"context"
	"fmt"
)

// Reload reads keys, tiers and standing of owners again, or of all for nil, which others may have changed, and ends what is open with keys
// that have ended. It returns whom it has read, and those who were forgotten. Nobody may change them meanwhile.
func (k *Keys) Reload(ctx context.Context, owners []string) (read []string, err error) {
	keys, err := k.cfg.Store.Keys(ctx, owners)
	if err != nil {
		return nil, fmt.Errorf("load keys: %w", err)
	}
	list, err := k.cfg.Store.Standings(ctx, owners)
	if err != nil {
		return nil, fmt.Errorf("load owners: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	was := map[string]*Key{}
	if read = owners; read == nil {
		for id := range k.owners {
			read = append(read, id)
		}
	}
	for _, owner := range read {
		for id, key := range k.byOwner[owner] {
			was[id] = key
			k.drop(key)
		}
	}
	for _, o := range list {
		if _, known := k.owners[o.ID]; !known && owners == nil {
			read = append(read, o.ID)
		}
		k.owners[o.ID] = standing{o.Tier, o.DisabledAt != nil}
	}
	k.renew(keys, was)
	return read, nil
}

// drop forgets a key. The caller holds mu.
func (k *Keys) drop(key *Key) {
	delete(k.byID, key.ID)
	delete(k.byHash, key.Hash)
	delete(k.byOwner[key.OwnerID], key.ID)
}

// renew remembers keys in place of those that there were, by id, and ends or opens again what is open with them. The caller holds mu.
func (k *Keys) renew(keys []Key, was map[string]*Key) {
	now := k.cfg.Now()
	for i := range keys {
		key := &keys[i]
		if old := was[key.ID]; old != nil && old.LastUsedAt.After(key.LastUsedAt) {
			key.LastUsedAt = old.LastUsedAt // not written down yet
		}
		k.remember(key)
		if key.active(now) && !k.owners[key.OwnerID].disabled {
			k.ends.open(key.ID)
		} else if old := was[key.ID]; old != nil {
			k.ends.close(key.ID)
		}
		delete(was, key.ID)
	}
	for id := range was { // they were pruned long after their end
		k.ends.forget(id)
	}
}
