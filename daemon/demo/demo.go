// Package demo is what a daemon plays for who tries it out: a synthetic market, with a chain of its own to be paid on.
//
// Everything is real but the world outside: the connectors read a recording that goes on by itself, in place of the network, and the chain
// runs in this process. What a demo makes is marked for good, and kept apart from real data in both directions.
package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// File is the name, in the data directory, of the file that tells scripts how to reach a demo.
const File = "demo.json"

// marketFile is the name, there, of the file that tells where its market stands.
const marketFile = "market.gob"

// Info is what File holds.
type Info struct {
	BaseURL  string `json:"baseUrl"`
	AdminURL string `json:"adminUrl,omitempty"` // of metrics and profiles
	APIKey   string `json:"apiKey"`
	Outbox   string `json:"outbox"` // directory of the mails that were sent

	Chain  *Chain            `json:"chain,omitempty"`  // absent where the program was built without one, as Wallet
	Wallet *devchain.Account `json:"wallet,omitempty"` // with money to pay with
}

// Chain is the chain of a demo.
type Chain struct {
	RPCURL   string `json:"rpcUrl"`
	ChainID  int64  `json:"chainId"`
	Token    string `json:"token"`
	Treasury string `json:"treasury"`
}

const (
	defaultEvery = 15 * time.Second // from refresh to refresh
	marketSeed   = 1

	past   = 24 * time.Hour // of a new demo, unless it is told otherwise
	near   = time.Hour      // of its history with a state every step
	step   = 5 * time.Minute
	others = 6 // steps of the other packs in one of theirs: most of what they read moves slowly

	keyCredits = 10_000 // on the demo's key at every start
)

// heldClock is a clock that can be held in the past.
type heldClock struct {
	now  func() time.Time
	back atomic.Int64 // nanoseconds
}

// Now is the time of the clock.
func (c *heldClock) Now() time.Time { return c.now().Add(-time.Duration(c.back.Load())) }

// Play is what a user chooses of a demo.
type Play struct {
	ChainListen string                // where its chain answers
	History     time.Duration         // how far it goes back, at most a day; 0 means a day
	Sparse      time.Duration         // from state to state in all but the last hour of it; 0 means two hours
	Progress    func(made, total int) // hears of each state of the past; nil for nobody
}

// Config is what a Demo needs.
type Config struct {
	Play
	DataDir  string
	StoreURL string           // of the PostgreSQL database that its nodes share; "" means SQLite in DataDir
	Every    time.Duration    // from refresh to refresh; 0 means 15 s
	Outbox   string           // directory of the mails that are sent
	Now      func() time.Time // nil means time.Now
}

// Demo is what a daemon plays. Make one with Prepare, Start it once the daemon is open, and Close it after the daemon.
type Demo struct {
	Every  time.Duration // from refresh to refresh
	Market *replay.Living
	Money  // what is paid with; without a Chain in a program that was built without one

	cfg   Config
	clock *heldClock
}

// Daemon is the daemon that plays a demo; *daemon.Daemon is one.
type Daemon interface {
	// URL is where it serves, and AdminURL where its metrics are.
	URL() string
	AdminURL() string
	// Keys are those that it admits, and Credits what those have.
	Keys() *account.Keys
	Credits() *billing.Credits
	// PacksWithoutState are the ids of the packs that have no state yet, in the order of the configuration.
	PacksWithoutState() []string
	// Refresh makes a state of a pack.
	Refresh(ctx context.Context, pack string) error
}

// Prepare makes the market of a demo, and makes or finds its chain. It refuses real data, and leaves nothing there.
func Prepare(ctx context.Context, cfg Config) (*Demo, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	d := &Demo{cfg: cfg, Every: cmp.Or(cfg.Every, defaultEvery), clock: &heldClock{now: cfg.Now}}
	var err error
	held, err := datadir.Lock(cfg.DataDir) // before anything is made in it
	if err != nil {
		return nil, err
	}
	var found *Money
	if err = refuseReal(ctx, cfg); err == nil {
		found, err = findChain(ctx, cfg)
	}
	if err == nil {
		d.Market, err = replay.NewLiving(replay.LivingConfig{
			Seed: marketSeed, Past: cmp.Or(cfg.History, past), Every: d.Every, Now: d.Now, Path: filepath.Join(cfg.DataDir, marketFile),
		})
	}
	if err := errors.Join(err, held.Close()); err != nil {
		return nil, errors.Join(err, found.Close())
	}
	d.Money = *found
	return d, nil
}

// Now is the time of the demo, which is held in the past while its history is made.
func (d *Demo) Now() time.Time { return d.clock.Now() }

// refuseReal reports a data directory whose states no demo has made. Before demos marked theirs, they left File there all the same.
func refuseReal(ctx context.Context, cfg Config) error {
	dir := cfg.DataDir
	origin, err := history.OriginOf(ctx, cmp.Or(cfg.StoreURL, dir))
	if err != nil || origin.Demo || !origin.States {
		return err
	}
	if cfg.StoreURL != "" {
		return errors.New("the database holds real data, which must not mix with the synthetic data of a demo: name another, or another " +
			"schema: postgres://…?schema=NAME")
	}
	if _, err := os.Stat(filepath.Join(dir, File)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%s holds real data, which must not mix with the synthetic data of a demo: give another --data-dir, or none for one "+
		"that is removed at the end", dir)
}

// Start makes the history and the key of the demo, where no other node does, and writes File. A new data directory gets a day of history,
// made by the same pipeline, so that every operation has something to answer at once.
func (d *Demo) Start(ctx context.Context, on Daemon) (Info, error) {
	if err := d.makePast(ctx, on); err != nil {
		return Info{}, err
	}
	outbox, err := filepath.Abs(d.cfg.Outbox)
	if err != nil {
		return Info{}, fmt.Errorf("name outbox: %w", err)
	}
	info := Info{BaseURL: on.URL(), AdminURL: on.AdminURL(), Outbox: outbox, Chain: d.Chain, Wallet: d.Wallet}
	if info.APIKey, err = d.key(ctx, on.Keys()); err != nil {
		return Info{}, err
	}
	if d.first() {
		if err := topUp(ctx, on.Credits(), info.APIKey[:api.KeyIDLength]); err != nil {
			return Info{}, err
		}
	}
	return info, writePrivate(filepath.Join(d.cfg.DataDir, File), info)
}

// key is the key of the demo: that of all nodes on PostgreSQL, else that in its file, or a new one.
func (d *Demo) key(ctx context.Context, keys *account.Keys) (key string, err error) {
	known := func() (key string, err error) {
		if old, ok := Read(d.cfg.DataDir); ok {
			if _, err := keys.Resolve(old.APIKey); err == nil {
				return old.APIKey, nil
			}
		}
		issued, err := keys.Issue(ctx, account.NewKey{OwnerID: account.OperatorID, Name: "demo", Tier: api.TierPro})
		return issued.Key, err
	}
	if d.cfg.StoreURL == "" {
		return known()
	}
	s, err := store.Open(ctx, d.cfg.StoreURL, d.cfg.Now())
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	text, err := s.Secret(ctx, secretKey, func() ([]byte, error) {
		key, err := known()
		return []byte(key), err
	})
	if err != nil {
		return "", fmt.Errorf("read key of the demo: %w", err)
	}
	if _, err := keys.Resolve(string(text)); err != nil { // it was revoked
		if key, err = known(); err == nil {
			err = s.SetSecret(ctx, secretKey, []byte(key))
		}
		return key, err
	}
	return string(text), nil
}

// makePast makes the history of the packs that have none.
func (d *Demo) makePast(ctx context.Context, on Daemon) error {
	fresh := on.PacksWithoutState()
	if !d.first() || len(fresh) == 0 {
		d.Market.Advance() // it stands where the history of another began
		return nil
	}
	defer d.clock.back.Store(0)
	sparse := cmp.Or(d.cfg.Sparse, 2*time.Hour)
	at := func(back, times time.Duration) bool {
		return back%(sparse*times) == 0 || back <= near && back%(step*times) == 0
	}
	var moments []time.Duration // before now
	for back := cmp.Or(d.cfg.History, past); back >= 0; back -= step {
		if at(back, 1) {
			moments = append(moments, back)
		}
	}
	for made, back := range moments {
		if d.cfg.Progress != nil {
			d.cfg.Progress(made, len(moments))
		}
		d.clock.back.Store(int64(back))
		var all sync.WaitGroup
		errs := make([]error, len(fresh))
		for i, id := range fresh {
			if i > 0 && !at(back, others) {
				continue
			}
			all.Go(func() { errs[i] = on.Refresh(ctx, id) })
			if i == 0 {
				all.Wait() // it plays the recording on
			}
		}
		all.Wait()
		if err := errors.Join(errs...); err != nil {
			return fmt.Errorf("make history: %w", err)
		}
	}
	return nil
}

// Close writes down where the market stands, and ends the chain, if it is in this process.
func (d *Demo) Close() error { return errors.Join(d.Market.Close(), d.Money.Close()) }

// topUp gives the demo's key its credits back, so that nobody waits in the middle of a demo.
func topUp(ctx context.Context, credits *billing.Credits, keyID string) error {
	have, err := credits.Balance(ctx, account.OperatorID, keyID)
	if err != nil || have.Balance >= keyCredits {
		return err
	}
	_, err = credits.Move(ctx, account.OperatorID, billing.Entry{
		KeyID: keyID, Amount: keyCredits - have.Balance, Kind: billing.KindGrant, Reason: "demo",
	})
	return err
}

// Read reads what the last demo on a data directory has left there for scripts; ok is false where none was.
func Read(dir string) (info Info, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, File))
	return info, err == nil && json.Unmarshal(text, &info) == nil
}

// writePrivate writes v as JSON to path, whole or not at all, readable by the user alone.
func writePrivate(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	return atomicfile.Write(path, append(text, '\n'), 0o600)
}
