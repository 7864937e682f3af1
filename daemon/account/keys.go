package account

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/sdk/api"
)

// ErrDuplicate is what a Store answers when a key id or hash exists already.
var ErrDuplicate = errors.New("key exists already")

// Store keeps keys and their owners. Each method is one transaction.
type Store interface {
	// Keys returns the keys of owners, or every key for nil, in no order.
	Keys(ctx context.Context, owners []string) ([]Key, error)
	// Standings returns id, tier and standing of owners, or of all for nil, in no order.
	Standings(ctx context.Context, owners []string) ([]Owner, error)
	// CreateKey adds k, and its owner where that is new, or fails with ErrDuplicate.
	CreateKey(ctx context.Context, k Key) error
	// RotateKey adds next in place of the key with the given id, which ends at revokesAt, and moves the credits of that to next. It
	// returns how many they were. A key that ended or is replaced already is an *api.Error, with nothing changed; a taken id of next is
	// ErrDuplicate.
	RotateKey(ctx context.Context, id string, next Key, revokesAt time.Time) (moved int64, err error)
	// BeingBought counts the keys that purchases of an owner are to make, or may yet.
	BeingBought(ctx context.Context, ownerID string, now time.Time) (int, error)
	// HasPaid reports whether an owner has ever bought credits.
	HasPaid(ctx context.Context, ownerID string) (bool, error)
	// EndKeys revokes the keys that were replaced and whose time is over at now, as of when it was over.
	EndKeys(ctx context.Context, now time.Time) error
	// PruneKeys drops the keys without credits that were revoked before the given time, or that are not among the newest so many that an
	// owner but the operator has revoked, and returns their ids.
	PruneKeys(ctx context.Context, before, now time.Time, most int) (ids []string, err error)
	// RevokeKey revokes the key at the given time, or leaves an earlier revocation as it is, and returns the one that holds and
	// the credits that are left on the key.
	RevokeKey(ctx context.Context, id string, at time.Time) (holds time.Time, stranded int64, err error)
	// TouchKeys records when keys were last used, by key id.
	TouchKeys(ctx context.Context, used map[string]time.Time) error
	// SetKeyTier sets the tier of one key, and whether its calls are charged.
	SetKeyTier(ctx context.Context, id string, tier api.Tier, unmetered bool) error
	// EditKey sets the name of a key, and its bound of credits a day, 0 for none.
	EditKey(ctx context.Context, id, name string, daily int64) error

	// Owners returns every owner, oldest first.
	Owners(ctx context.Context) ([]Owner, error)
	// SetTier sets the tier of an owner and of all their keys, and reports whether there is such an owner.
	SetTier(ctx context.Context, ownerID string, tier api.Tier) (known bool, err error)
	// RemoveIdentity takes id from its owner and ends their sessions but the one with the hash keep. It fails with ErrNoIdentity or
	// ErrLastIdentity.
	RemoveIdentity(ctx context.Context, ownerID string, id Identity, keep [sha256.Size]byte) error
	// SetDisabled disables an owner at the given time, which ends their sessions, or enables them again where it is zero, and reports
	// whether there is such an owner.
	SetDisabled(ctx context.Context, ownerID string, at time.Time) (known bool, err error)
}

// Config is what Keys needs.
type Config struct {
	Store    Store
	Env      api.KeyEnv       // of new keys; "" means test
	Metered  bool             // new keys of the operator are charged, as those of owners are
	MaxKeys  int              // active keys that an owner but the operator may have; 0 means api.MaxActiveKeys
	Random   io.Reader        // nil means crypto/rand
	WithLock WithLock         // nil means that nobody else is at an owner's keys
	Others   Others           // nil means that no other Keys change the Store
	Now      func() time.Time // nil means time.Now
}

// WithLock runs act, which changes keys of an owner, while nobody charges calls to them; *billing.Meter's WithLock is one.
type WithLock func(ctx context.Context, ownerID string, act func() error) error

// Others are the Keys of other nodes on the same Store, of whose acts Reload is told.
type Others interface {
	// Lost says why what is remembered may be out of date by more than keys may be: nobody is admitted then.
	Lost() error
	// CatchUp returns when Reload was told of all that was done before.
	CatchUp() error
}

// Keys issues, recognises and revokes keys. It is safe for concurrent use; only one Keys may run on a Store, unless each has the others as
// its Others.
type Keys struct {
	cfg     Config
	maxKeys atomic.Int64 // active keys per owner

	mu      sync.RWMutex // guards what follows; the keys in the maps are replaced, never changed in place
	byHash  map[[sha256.Size]byte]*Key
	byID    map[string]*Key
	byOwner map[string]map[string]*Key // by id
	owners  map[string]standing        // by id; the zero standing where there is no entry

	ends ends

	usedMu sync.Mutex // guards used
	used   map[string]time.Time
}

// OpenKeys loads every key of the store.
func OpenKeys(ctx context.Context, cfg Config) (*Keys, error) {
	if cfg.Random == nil {
		cfg.Random = rand.Reader
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Env == "" {
		cfg.Env = api.EnvTest
	}
	if cfg.WithLock == nil {
		cfg.WithLock = func(_ context.Context, _ string, act func() error) error { return act() }
	}
	k := &Keys{cfg: cfg, byHash: map[[sha256.Size]byte]*Key{}, byID: map[string]*Key{}, byOwner: map[string]map[string]*Key{},
		owners: map[string]standing{}, used: map[string]time.Time{}}
	k.SetMaxKeys(cfg.MaxKeys)
	_, err := k.Reload(ctx, nil)
	return k, err
}

// remember puts key into the maps, in place of what was there. The caller holds mu, or is alone.
func (k *Keys) remember(key *Key) {
	k.byHash[key.Hash] = key
	k.byID[key.ID] = key
	of := k.byOwner[key.OwnerID]
	if of == nil {
		of = map[string]*Key{}
		k.byOwner[key.OwnerID] = of
	}
	of[key.ID] = key
}

// change replaces the key with the given id by what act makes of it. The caller holds mu.
func (k *Keys) change(id string, act func(*Key)) {
	if known := k.byID[id]; known != nil {
		next := *known
		act(&next)
		k.remember(&next)
	}
}

// NewKey is what a key is issued for.
type NewKey struct {
	OwnerID string
	Name    string
	Tier    api.Tier         // "" means that of the owner; for the operator enterprise, not charged, unless Config says otherwise
	Consent api.TraceConsent // "" means aggregated
	Daily   *int64           // credits that it may spend in a UTC day; nil means no bound
	Grant   *api.Grant       // what an agent may do, for Tokens.Agree; nil for a key that is a secret
	Ends    time.Time        // of an agent's, when it ends; zero means never

	unmetered bool // its calls are counted and not charged
}

// SetMaxKeys changes how many active keys an owner but the operator may have; 0 means api.MaxActiveKeys.
func (k *Keys) SetMaxKeys(n int) { k.maxKeys.Store(int64(cmp.Or(n, api.MaxActiveKeys))) }

// Issue makes a key. The answer holds the plaintext, which exists nowhere else.
func (k *Keys) Issue(ctx context.Context, n NewKey) (issued api.IssuedKey, err error) {
	if n.Consent == "" {
		n.Consent = api.ConsentAggregated
	}
	n.Name = strings.TrimSpace(n.Name)
	if err := n.check(); err != nil {
		return api.IssuedKey{}, err
	}
	err = k.cfg.WithLock(ctx, n.OwnerID, func() (err error) {
		if err := k.mayMake(ctx, n.OwnerID, 0); err != nil {
			return err
		}
		switch {
		case n.Tier != "":
		case n.OwnerID == OperatorID && !k.cfg.Metered:
			n.Tier, n.unmetered = api.TierEnterprise, true
		default:
			n.Tier = k.tierOf(n.OwnerID)
		}
		if err := n.checkBound(); err != nil {
			return err
		}
		issued, err = k.make(n, func(key Key) error { return k.cfg.Store.CreateKey(ctx, key) })
		return err
	})
	return issued, err
}

// agree makes the key of an agent, which ends those before it, and has save keep it. Nobody learns its plaintext.
func (k *Keys) agree(ctx context.Context, c Consent, save func(Key) error) error {
	var before []Key
	err := k.cfg.WithLock(ctx, c.OwnerID, func() (err error) {
		if before, err = k.before(ctx, c); err != nil {
			return err
		}
		n := c.key()
		n.Tier = k.tierOf(n.OwnerID)
		_, err = k.make(n, save)
		return err
	})
	for _, old := range before {
		if err == nil {
			_, err = k.Revoke(ctx, old.ID)
		}
	}
	return err
}

// before are the keys that end where a consent is given: those of the same agent by the same name. It says why it may not be given. The
// caller is alone with its owner, or asks in advance.
func (k *Keys) before(ctx context.Context, c Consent) (list []Key, err error) {
	others := 0
	for _, key := range k.List(c.OwnerID) {
		switch {
		case key.Grant == nil || !key.RevokedAt.IsZero():
		case key.Grant.ClientID == c.Grant.ClientID && key.Name == c.Name:
			list = append(list, key)
		default:
			others++
		}
	}
	if others >= MaxConsents {
		return nil, api.Errorf(api.ReasonInvalidRequest, "%d agents are signed in; the limit is %d", others, MaxConsents).
			WithHint("revoke one that is no longer used")
	}
	return list, k.mayMake(ctx, c.OwnerID, len(list))
}

// HasPaid reports whether an owner has ever bought credits.
func (k *Keys) HasPaid(ctx context.Context, ownerID string) (bool, error) {
	return k.cfg.Store.HasPaid(ctx, ownerID)
}

// mayMake says why an owner may not have one key more, in place of so many others, nil if they may. The caller is alone with the owner.
func (k *Keys) mayMake(ctx context.Context, ownerID string, replaces int) error {
	if ownerID == OperatorID {
		return nil
	}
	bought, err := k.cfg.Store.BeingBought(ctx, ownerID, k.cfg.Now())
	if err != nil {
		return fmt.Errorf("count keys: %w", err)
	}
	most, active := int(k.maxKeys.Load()), 0
	for _, key := range k.List(ownerID) {
		if key.RevokedAt.IsZero() && (key.RevokesAt.IsZero() || key.Grant != nil) {
			active++
		}
	}
	if active += bought - replaces; active >= most {
		return api.Errorf(api.ReasonInvalidRequest, "you have %d active keys; the limit is %d", active, most).
			WithHint("revoke an unused key")
	}
	return k.mayMakeToday(ctx, ownerID)
}

// mayMakeToday says why an owner may not make a key now, nil if they may. The caller is alone with the owner.
func (k *Keys) mayMakeToday(ctx context.Context, ownerID string) error {
	const day = 24 * time.Hour
	made, now := k.List(ownerID), k.cfg.Now() // newest first
	wait := func(most int) time.Duration {
		if ownerID == OperatorID || len(made) < most {
			return 0
		}
		return made[most-1].CreatedAt.Add(day).Sub(now)
	}
	if wait(api.MaxNewFreeKeys) <= 0 {
		return nil
	}
	paid, err := k.cfg.Store.HasPaid(ctx, ownerID)
	if err != nil {
		return fmt.Errorf("look for purchases: %w", err)
	}
	most, hint := api.MaxNewFreeKeys, fmt.Sprintf("; who has bought credits makes %d", api.MaxNewKeys)
	if paid {
		most, hint = api.MaxNewKeys, ""
	}
	if wait := wait(most); wait > 0 {
		return api.Errorf(api.ReasonRateLimited, "you have created %d keys in 24 hours, the limit", most).
			WithHint("wait for Retry-After, or use an existing key%s", hint).WithRetryAfter(wait)
	}
	return nil
}

// make makes the key n and has save keep it. The caller is alone with its owner.
func (k *Keys) make(n NewKey, save func(Key) error) (api.IssuedKey, error) {
	const attempts = 8 // a key id has 62^8 values; two collisions in a row mean broken randomness
	for range attempts {
		secret, err := newSecret(k.cfg.Env, k.cfg.Random)
		if err != nil {
			return api.IssuedKey{}, err
		}
		key := &Key{
			ID: secret[:api.KeyIDLength], Hash: sha256.Sum256([]byte(secret)), OwnerID: n.OwnerID, Name: n.Name, Tier: n.Tier,
			Consent: n.Consent, CreatedAt: k.cfg.Now().UTC().Truncate(time.Millisecond), Unmetered: n.unmetered,
			Grant: n.Grant, RevokesAt: n.Ends,
		}
		if n.Daily != nil {
			key.Daily = *n.Daily
		}
		err = save(*key)
		if errors.Is(err, ErrDuplicate) {
			continue
		}
		if err != nil {
			return api.IssuedKey{}, fmt.Errorf("store key: %w", err)
		}
		k.mu.Lock()
		k.remember(key)
		k.mu.Unlock()
		return api.IssuedKey{
			Key: secret, KeyID: key.ID, Name: key.Name, Tier: key.Tier, CreatedAt: key.CreatedAt, Unmetered: key.Unmetered,
			DailyCredits: bound(key.Daily),
		}, nil
	}
	return api.IssuedKey{}, errors.New("no unused key id found; is the randomness broken?")
}

func (n NewKey) check() error {
	switch {
	case n.Name == "" || utf8.RuneCountInString(n.Name) > api.MaxKeyName:
		return api.Errorf(api.ReasonInvalidRequest, "a key needs a name of 1 to %d characters", api.MaxKeyName).
			WithHint("name it after the agent or machine that will use it")
	case strings.ContainsFunc(n.Name, unicode.IsControl) || !utf8.ValidString(n.Name):
		return api.Errorf(api.ReasonInvalidRequest, "the name of a key has a control character").
			WithHint("use plain text")
	case n.Tier != "" && !n.Tier.Valid():
		return api.Errorf(api.ReasonInvalidRequest, "tier %q does not exist", n.Tier).WithHint("tiers: %s", api.List(api.Tiers()))
	case n.Daily != nil && (*n.Daily < 1 || *n.Daily > api.MaxDailyCredits):
		return api.Errorf(api.ReasonInvalidRequest, "dailyCredits is %d, not a number from 1 to %d", *n.Daily, api.MaxDailyCredits).
			WithHint("leave it out for a key without a bound of credits a day")
	case !n.Consent.Valid():
		return api.Errorf(api.ReasonInvalidRequest, "trace consent %q does not exist", n.Consent).
			WithHint("use full, aggregated or none")
	}
	return nil
}

// checkBound says why n can have no bound.
func (n NewKey) checkBound() error {
	if n.Daily == nil || !n.unmetered {
		return nil
	}
	return api.Errorf(api.ReasonInvalidRequest, "calls with this key are not charged, so it can have no bound of credits").
		WithHint("give it a tier, and its calls are charged: --tier pro")
}

// Resolve returns the key whose plaintext is secret, or the error invalid_token or key_revoked. Before it refuses what another node may
// have let in, it catches up with that.
func (k *Keys) Resolve(secret string) (Key, error) {
	if !wellFormed(secret) {
		return Key{}, unknownKey()
	}
	hash := sha256.Sum256([]byte(secret))
	return k.admit(func() *Key { return k.byHash[hash] })
}

// Active is Resolve for the key with the given id.
func (k *Keys) Active(id string) (Key, error) { return k.admit(func() *Key { return k.byID[id] }) }

// Spending is the key by which the credits of an owner are spent where they show none: the oldest active one that is no agent's, with a
// bound of credits a day only where all have one.
func (k *Keys) Spending(ownerID string) (Key, error) {
	now := k.cfg.Now()
	return k.admit(func() (best *Key) {
		for _, key := range k.byOwner[ownerID] {
			switch {
			case !key.active(now) || key.Grant != nil:
			case best == nil, (key.Daily == 0) != (best.Daily == 0) && key.Daily == 0,
				(key.Daily == 0) == (best.Daily == 0) && key.before(best):
				best = key
			}
		}
		return best
	})
}

// admit returns the key that find finds, which is called with mu.
func (k *Keys) admit(find func() *Key) (Key, error) {
	if k.cfg.Others == nil {
		return k.working(find)
	}
	if err := k.cfg.Others.Lost(); err != nil {
		return Key{}, err
	}
	key, err := k.working(find)
	if err != nil {
		if err := k.cfg.Others.CatchUp(); err != nil {
			return Key{}, err
		}
		key, err = k.working(find)
	}
	return key, err
}

func (k *Keys) working(find func() *Key) (Key, error) {
	k.mu.RLock()
	key := find()
	disabled := key != nil && k.owners[key.OwnerID].disabled
	k.mu.RUnlock()
	switch now := k.cfg.Now(); {
	case key == nil:
		return Key{}, unknownKey()
	case disabled:
		return Key{}, api.Errorf(api.ReasonKeyRevoked, "the owner of key %s was disabled", key.ID).WithHint("ask the operator")
	case !key.active(now):
		ended := key.at(now)
		return Key{}, api.Errorf(api.ReasonKeyRevoked, "key %s was revoked at %s", key.ID, ended.RevokedAt.Format(time.RFC3339)).
			WithHint("use another key: ctx keys create NAME")
	}
	return *key, nil
}

func unknownKey() *api.Error {
	return api.Errorf(api.ReasonInvalidToken, "the API key is not known to this service").
		WithHint("send Authorization: Bearer cv_… with a key of this service")
}

// Used notes that the key was used now. Flush writes it down.
func (k *Keys) Used(id string) {
	now := k.cfg.Now().Truncate(time.Millisecond) // as it is stored
	k.usedMu.Lock()
	k.used[id] = now
	k.usedMu.Unlock()
}

// Flush writes down when keys were last used. What cannot be written is kept for the next Flush.
func (k *Keys) Flush(ctx context.Context) error {
	k.usedMu.Lock()
	used := k.used
	k.used = map[string]time.Time{}
	k.usedMu.Unlock()
	if len(used) == 0 {
		return nil
	}
	err := k.cfg.Store.TouchKeys(ctx, used)
	k.usedMu.Lock()
	defer k.usedMu.Unlock()
	if err != nil {
		for id, at := range used {
			if k.used[id].Before(at) {
				k.used[id] = at
			}
		}
		return fmt.Errorf("write last use of keys: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id, at := range used {
		k.change(id, func(key *Key) { key.LastUsedAt = at.UTC() })
	}
	return nil
}

// List returns the keys of an owner, or of all owners for "", newest first.
func (k *Keys) List(ownerID string) []Key {
	var list []Key
	now := k.cfg.Now()
	k.mu.RLock()
	of := k.byID
	if ownerID != "" {
		of = k.byOwner[ownerID]
	}
	for _, key := range of {
		list = append(list, key.at(now))
	}
	k.mu.RUnlock()
	k.usedMu.Lock()
	for i, key := range list {
		if at := k.used[key.ID]; at.After(key.LastUsedAt) { // not written down yet
			list[i].LastUsedAt = at.UTC()
		}
	}
	k.usedMu.Unlock()
	slices.SortFunc(list, newestFirst)
	return list
}

// Untraced reports whether nothing may be kept about the calls of the key with the given id.
func (k *Keys) Untraced(id string) bool {
	key, err := k.Lookup(id)
	return err == nil && key.Consent == api.ConsentNone
}

// Lookup returns the key with the given id, or the error key_not_found.
func (k *Keys) Lookup(id string) (Key, error) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if key := k.byID[id]; key != nil {
		return key.at(k.cfg.Now()), nil
	}
	return Key{}, NoKey(id)
}

// NoKey is the answer to a key id that is not there.
func NoKey(id string) *api.Error {
	return api.Errorf(api.ReasonKeyNotFound, "there is no key %q", id).
		WithHint("a key id is the first %d characters of a key: ctx keys list", api.KeyIDLength)
}

// grant changes what is known of what an agent with a key was granted.
func (k *Keys) grant(id string, g *api.Grant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.change(id, func(key *Key) { key.Grant = g })
}

// Revoke ends the key with the given id: no call is admitted with it once Revoke has returned. Revoking again changes nothing.
func (k *Keys) Revoke(ctx context.Context, id string) (api.RevokeResponse, error) {
	known, err := k.Lookup(id)
	if err != nil {
		return api.RevokeResponse{}, err
	}
	done := api.RevokeResponse{OK: true}
	err = k.cfg.WithLock(ctx, known.OwnerID, func() (err error) {
		done.RevokedAt, done.StrandedCredits, err = k.cfg.Store.RevokeKey(ctx, id, k.cfg.Now().UTC().Truncate(time.Millisecond))
		return err
	})
	if err != nil {
		return api.RevokeResponse{}, fmt.Errorf("revoke key %s: %w", id, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.change(id, func(key *Key) { key.RevokedAt = done.RevokedAt })
	k.ends.close(id)
	return done, nil
}
