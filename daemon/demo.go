package daemon

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/devchain"
)

var _ demo.Daemon = (*Daemon)(nil)

// OpenDemo opens a daemon that plays a synthetic market through the real connectors, and pays on a chain of its own that ends
// with the daemon.
func OpenDemo(ctx context.Context, cfg Config, play demo.Play) (*Daemon, demo.Info, error) {
	played, err := demo.Prepare(ctx, demo.Config{
		Play: play, DataDir: cfg.DataDir, StoreURL: cfg.StoreURL, Every: cfg.Every, Outbox: filepath.Join(cfg.DataDir, OutboxDir),
		Now: cfg.Now,
	})
	if err != nil {
		return nil, demo.Info{}, err
	}
	cfg.Now, cfg.Every, cfg.Recording, cfg.demo = played.Now, played.Every, played.Market, true
	if c := played.Chain; c != nil {
		cfg.ChainID, cfg.Chain = c.ChainID, &Chain{
			Rail: x402.Rail{RPCURL: c.RPCURL, Token: c.Token, Treasury: c.Treasury,
				Domain: x402.Domain{Name: devchain.TokenName, Version: devchain.TokenVersion}},
			SettleKey: played.Gas.PrivateKey,
		}
	}
	d, err := Open(ctx, cfg)
	if err != nil {
		return nil, demo.Info{}, errors.Join(err, played.Close())
	}
	d.demo = played
	info, err := played.Start(ctx, d)
	if err != nil {
		return nil, demo.Info{}, errors.Join(err, d.Close())
	}
	return d, info, nil
}
