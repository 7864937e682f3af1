package daemon

import (
	"context"

	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/oauth"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/sdk/api"
)

// OAuth says whether agents sign in. Its fields are settings, by their tags.
type OAuth struct {
	Enabled bool     `key:"enabled" doc:"Whether agents such as Claude and ChatGPT may sign in at /mcp for an owner, who"`
	_       struct{} `doc:"says what they may do. It needs public_url, with https and without a path; a demo has it on."`

	Clients []oauth.Client `key:"clients" doc:"Programs that are known by the address of their document, which is not read:"`
	_       struct{}       `doc:"for those whose host does not answer here, beside the usual ones, which are built in."`
}

// agentsKeyFile is the name, in the data directory, of the file with the key by which registrations of agents and consent forms are known
// again: as quoteKeyFile.
const agentsKeyFile = "agent.keys"

// checkAgents says why agents cannot sign in, as far as that can be told without listening; nil if they can, or need not.
func (c Config) checkAgents() error {
	if err := oauth.CheckClients(c.OAuth.Clients); err != nil {
		return err
	}
	if !c.OAuth.Enabled || c.PublicURL == "" && c.Recording != nil { // a demo is where it listens
		return nil
	}
	if c.PublicURL == "" {
		return api.Errorf(api.ReasonInvalidRequest, "agents cannot sign in (oauth.enabled): public_url is not set").
			WithHint("set public_url to the address that users have, or oauth.enabled to false")
	}
	public, err := ParsePublicURL(c.PublicURL)
	if err != nil {
		return err
	}
	return oauth.CheckURL(public)
}

// openAgents makes what lets agents sign in, where that is switched on.
func (d *Daemon) openAgents(ctx context.Context) error {
	if !d.cfg.OAuth.Enabled {
		return nil
	}
	if err := oauth.CheckURL(d.publicURL); err != nil && d.cfg.PublicURL == "" { // a demo for other machines
		d.cfg.Logger.Warn("agents cannot sign in", "error", err)
		return nil
	}
	keys, err := d.secrets.keys(ctx, agentsKeyFile, "agents", nil)
	if err != nil {
		return err
	}
	d.agents, err = oauth.New(oauth.Config{
		Tokens: d.tokens, Keys: d.keys, Documents: d.store, Console: d.console, Packs: d.packs.ids, PublicURL: d.publicURL,
		Clients: d.cfg.OAuth.Clients, Counted: d.metrics.AgentStep,
		Secret: keys[0], Proxies: d.proxies, Transport: d.cfg.AgentDocuments, Now: d.cfg.Now, Logger: d.cfg.Logger,
	})
	return err
}

// account tells s how the MCP endpoint that asks for an account is connected to.
func (d *Daemon) account(s *mcp.Config) (err error) {
	if d.agents != nil {
		s.Metadata = oauth.Metadata(d.publicURL)
	}
	s.Connect, err = web.ConnectPage(d.publicURL.String(), d.agents != nil)
	return err
}
