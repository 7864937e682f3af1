package daemon

import (
	"net/url"
	"slices"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/web"
)

var _ mcp.Gate = (*gate.Gate)(nil)

// origins are where browsers may come from, and what they may call the daemon.
func (d *Daemon) origins(public *url.URL) web.OriginCheck {
	names := d.cfg.Hosts
	if d.cfg.TLS != nil {
		names = append(slices.Clone(names), d.cfg.TLS.Hosts...)
	}
	return web.OriginCheck{PublicURL: public, Names: names, Origins: d.cfg.MCP.Origins}
}

// openMCP makes the MCP transport beside an HTTP server that is configured by web, and adds its routes to that.
func (d *Daemon) openMCP(cfg *web.Config, admission *gate.Gate, public *url.URL) (err error) {
	d.mcp, err = mcp.New(mcp.Config{
		Reader: cfg.Reader, Proofs: cfg.Proofs, Gate: admission, Streams: cfg.Streams, Payers: cfg.Payers, Standard: cfg.Standard,
		Packs: d.packs.ids(), Every: d.cfg.Every,
		Tells:  d.packs.description,
		Prefix: d.cfg.MCP.Prefix, PublicDiscovery: d.cfg.MCP.PublicDiscovery,
		Origin: d.origins(public),
		Now:    d.cfg.Now, Logger: d.cfg.Logger, Away: cfg.Away,
	})
	if err != nil {
		return err
	}
	cfg.More.Add(d.mcp.Routes())
	return nil
}
