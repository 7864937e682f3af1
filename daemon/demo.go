package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/datadir"
	"github.com/contextd/contextd/daemon/source/replay"
	"github.com/contextd/contextd/daemon/store/database"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/atomicfile"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// DemoFile is the name, in the data directory, of the file that tells scripts how to reach a demo.
const DemoFile = "demo.json"

// Demo is what DemoFile holds.
type Demo struct {
	BaseURL  string `json:"baseUrl"`
	AdminURL string `json:"adminUrl,omitempty"` // of metrics and profiles
	APIKey   string `json:"apiKey"`
	Outbox   string `json:"outbox"` // directory of the mails that were sent

	Chain  *DemoChain        `json:"chain,omitempty"`  // absent where the program was built without one, as Wallet
	Wallet *devchain.Account `json:"wallet,omitempty"` // with money to pay with
}

// DemoChain is the chain of a demo.
type DemoChain struct {
	RPCURL   string `json:"rpcUrl"`
	ChainID  int64  `json:"chainId"`
	Token    string `json:"token"`
	Treasury string `json:"treasury"`
}

const (
	demoEvery = 15 * time.Second
	demoSeed  = 1

	demoPast   = 24 * time.Hour // of history that a new demo begins with, with a state every demoFar
	demoFar    = 2 * time.Hour
	demoNear   = time.Hour // of it with one every demoStep
	demoStep   = 10 * time.Minute
	othersStep = 6 * time.Hour // between those of the other packs

	demoCredits = 10_000 // on the demo's key at every start
)

// demoClock is a clock that can be held in the past.
type demoClock struct {
	now  func() time.Time
	back atomic.Int64 // nanoseconds
}

// Now is the time of the clock.
func (c *demoClock) Now() time.Time { return c.now().Add(-time.Duration(c.back.Load())) }

// chainDir is the name, in the data directory, of the directory of a demo's chain.
const chainDir = "chain"

// openDemoChain starts the chain of a demo, nil in a program without one: calls are paid with keys alone then.
func openDemoChain(ctx context.Context, dir, listen string) (*devchain.Chain, error) {
	c, err := devchain.Open(ctx, devchain.Config{Dir: filepath.Join(dir, chainDir), Listen: listen})
	if errors.Is(err, devchain.ErrLeftOut) {
		return nil, nil
	}
	return c, err
}

// findChain makes or finds the chain of a demo.
func findChain(ctx context.Context, cfg Config, listen string) (*demoMoney, error) {
	if cfg.StoreURL != "" {
		return shareChain(ctx, cfg, listen)
	}
	c, err := openDemoChain(ctx, cfg.DataDir, listen)
	return moneyOf(c), err
}

// OpenDemo opens a daemon that plays a synthetic market through the real connectors, and pays on a chain of its own, which answers on
// chainListen. A new data directory gets a day of history first, made by the same pipeline, so that every operation has something to
// answer at once.
func OpenDemo(ctx context.Context, cfg Config, chainListen string) (*Daemon, Demo, error) {
	clock := &demoClock{now: cfg.Now}
	if clock.now == nil {
		clock.now = time.Now
	}
	cfg.Now, cfg.demo = clock.Now, true
	cfg.Every = cmp.Or(cfg.Every, demoEvery)
	living, err := replay.NewLiving(replay.LivingConfig{Seed: demoSeed, Past: demoPast, Every: cfg.Every, Now: clock.Now})
	if err != nil {
		return nil, Demo{}, err
	}
	cfg.Recording = living
	held, err := datadir.Lock(cfg.DataDir) // before anything is made in it
	if err != nil {
		return nil, Demo{}, err
	}
	var money *demoMoney
	if err = refuseReal(ctx, cfg); err == nil {
		money, err = findChain(ctx, cfg, chainListen)
	}
	if err := errors.Join(err, held.Close()); err != nil {
		return nil, Demo{}, err
	}
	money.pays(&cfg)
	d, err := Open(ctx, cfg)
	if err != nil {
		return nil, Demo{}, errors.Join(err, money.close())
	}
	d.demoChain = money.hosted
	info, err := d.startDemo(ctx, clock, money)
	if err != nil {
		return nil, Demo{}, errors.Join(err, d.Close())
	}
	return d, info, nil
}

// refuseDemo reports a data directory or database whose states a demo has made: real prices would stand among invented ones.
func refuseDemo(ctx context.Context, place string) error {
	origin, err := history.OriginOf(ctx, place)
	if err == nil && origin.Demo {
		if database.IsURL(place) {
			return errors.New("the database holds the synthetic data of contextd demo, which must not mix with real data: " +
				"name another in store.url, or another schema: postgres://…?schema=NAME")
		}
		err = fmt.Errorf("%s holds the synthetic data of contextd demo, which must not mix with real data: give another --data-dir, "+
			"or go on with: contextd demo --data-dir %[1]s", place)
	}
	return err
}

// refuseReal reports a data directory whose states no demo has made. Before demos marked theirs, they left DemoFile there all the same.
func refuseReal(ctx context.Context, cfg Config) error {
	dir := cfg.DataDir
	origin, err := history.OriginOf(ctx, cfg.place())
	if err != nil || origin.Demo || !origin.States {
		return err
	}
	if cfg.StoreURL != "" {
		return errors.New("the database holds real data, which must not mix with the synthetic data of a demo: name another, or another " +
			"schema: postgres://…?schema=NAME")
	}
	if _, err := os.Stat(filepath.Join(dir, DemoFile)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("%s holds real data, which must not mix with the synthetic data of a demo: give another --data-dir, or none for one "+
		"that is removed at the end", dir)
}

// startDemo makes the history and the key of a demo, where no other node does, and writes DemoFile.
func (d *Daemon) startDemo(ctx context.Context, clock *demoClock, money *demoMoney) (Demo, error) {
	if err := d.makePast(ctx, clock, money.first()); err != nil {
		return Demo{}, err
	}
	outbox, err := filepath.Abs(filepath.Join(d.cfg.DataDir, OutboxDir))
	if err != nil {
		return Demo{}, fmt.Errorf("name outbox: %w", err)
	}
	info := Demo{BaseURL: d.URL(), AdminURL: d.AdminURL(), Outbox: outbox, Chain: money.Chain, Wallet: money.Wallet}
	if info.APIKey, err = d.demoKey(ctx); err != nil {
		return Demo{}, err
	}
	if money.first() {
		if err := d.topUp(ctx, info.APIKey[:api.KeyIDLength]); err != nil {
			return Demo{}, err
		}
	}
	return info, writePrivate(filepath.Join(d.cfg.DataDir, DemoFile), info)
}

// demoKey is the key of the demo: that of all nodes on PostgreSQL, else that in its file, or a new one.
func (d *Daemon) demoKey(ctx context.Context) (string, error) {
	known := func() (key string, err error) {
		if key = d.knownKey(d.cfg.DataDir); key != "" {
			return key, nil
		}
		issued, err := d.keys.Issue(ctx, account.NewKey{OwnerID: account.OperatorID, Name: "demo", Tier: api.TierPro})
		return issued.Key, err
	}
	if d.cfg.StoreURL == "" {
		return known()
	}
	text, err := d.store.Secret(ctx, secretDemoKey, func() ([]byte, error) {
		key, err := known()
		return []byte(key), err
	})
	if err != nil {
		return "", fmt.Errorf("read key of the demo: %w", err)
	}
	if _, err := d.keys.Resolve(string(text)); err != nil { // it was revoked
		var key string
		if key, err = known(); err == nil {
			err = d.store.SetSecret(ctx, secretDemoKey, []byte(key))
		}
		return key, err
	}
	return string(text), nil
}

// makePast makes the history of the packs that have none.
func (d *Daemon) makePast(ctx context.Context, clock *demoClock, first bool) error {
	fresh := slices.DeleteFunc(d.packs.ids(), func(id string) bool {
		edition, _ := d.feed.Latest(id)
		return edition != nil
	})
	if !first || len(fresh) == 0 {
		d.cfg.Recording.Advance() // it stands where the history of another began
		return nil
	}
	defer clock.back.Store(0)
	for back := demoPast; back >= 0; back -= demoStep {
		if back > demoNear && back%demoFar != 0 {
			continue
		}
		clock.back.Store(int64(back))
		var all sync.WaitGroup
		errs := make([]error, len(fresh))
		for i, id := range fresh {
			if i > 0 && back%othersStep != 0 {
				continue
			}
			all.Go(func() { errs[i] = d.packs.refresh(ctx, id, back == 0) })
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

// topUp gives the demo's key its credits back, so that nobody waits in the middle of a demo.
func (d *Daemon) topUp(ctx context.Context, keyID string) error {
	have, err := d.credits.Balance(ctx, account.OperatorID, keyID)
	if err != nil || have.Balance >= demoCredits {
		return err
	}
	_, err = d.credits.Move(ctx, account.OperatorID, billing.Entry{
		KeyID: keyID, Amount: demoCredits - have.Balance, Kind: billing.KindGrant, Reason: "demo",
	})
	return err
}

// knownKey is the key in the demo file at path if it is still good, else "".
func (d *Daemon) knownKey(dir string) string {
	old, ok := ReadDemo(dir)
	if !ok {
		return ""
	}
	if _, err := d.keys.Resolve(old.APIKey); err != nil {
		return ""
	}
	return old.APIKey
}

// ReadDemo reads what the last demo on a data directory has left there for scripts; ok is false where none was.
func ReadDemo(dir string) (info Demo, ok bool) {
	text, err := os.ReadFile(filepath.Join(dir, DemoFile))
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
