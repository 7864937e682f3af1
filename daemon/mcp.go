package daemon

import (
	"maps"
	"net/url"

	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/web"
)

var _ mcp.Gate = (*gate.Gate)(nil)

// MCP says how the Model Context Protocol is served.
type MCP struct {
	Prefix          string   // of tools and resources; "" means mcp.DefaultPrefix
	Origins         []string // whose scripts may call, beside those of the public URL and of this machine
	PublicDiscovery bool     // handshake and lists are free for callers without a key
}

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
	maps.Copy(cfg.More, d.mcp.Routes())
	return nil
}
