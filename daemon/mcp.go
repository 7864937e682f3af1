package daemon

import (
	"net/url"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/web"
)

var _ mcp.Gate = (*gate.Gate)(nil)

// openMCP makes the MCP transport beside an HTTP server that is configured by web, and adds its routes to that.
func (d *Daemon) openMCP(cfg *web.Config, admission *gate.Gate, packs []string, public *url.URL) (err error) {
	d.mcp, err = mcp.New(mcp.Config{
		Reader: cfg.Reader, Gate: admission, Streams: cfg.Streams, Payers: cfg.Payers, Packs: packs, Every: d.cfg.Every,
		Prefix: d.cfg.MCP.Prefix, PublicDiscovery: d.cfg.MCP.PublicDiscovery,
		Origin: web.OriginCheck{PublicURL: public, Origins: d.cfg.MCP.Origins},
		Now:    d.cfg.Now, Logger: d.cfg.Logger,
	})
	if err != nil {
		return err
	}
	cfg.More.Add(d.mcp.Routes())
	return nil
}
