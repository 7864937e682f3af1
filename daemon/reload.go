package daemon

import (
	"context"

	"github.com/contextd/contextd/daemon/admin"
)

// Apply puts next in effect and reads the certificate again, or says what is wrong and changes nothing. What is under way ends as it began,
// but for what concerns a pack that is removed or replaced. A pack that is the Same as before is not touched.
// A certificate in other files needs a restart: those it came from may be gone by now.
func (d *Daemon) Apply(ctx context.Context, next Reloadable) error {
	if err := next.check(); err != nil {
		return err
	}
	d.packs.changing.Lock()
	defer d.packs.changing.Unlock()
	packs, err := d.packs.prepare(ctx, next.packList(), next.Disabled)
	if err != nil {
		return err
	}
	if was, now := d.cfg.TLS, next.TLS; d.tls != nil && now != nil && was.CertFile == now.CertFile && was.KeyFile == now.KeyFile {
		if err := d.tls.Reload(); err != nil {
			d.packs.abandon(ctx, packs)
			return err
		}
	}
	d.proxies.Set(next.TrustedProxies)
	d.connections.SetPerClient(next.Limits.ConnectionsPerClient)
	d.meter.SetPlans(next.Plans, next.Limits.FreeCalls, next.Limits.FreeCallsPerClient)
	d.gate.SetPlans(next.Plans)
	d.keys.SetMaxKeys(next.Limits.ActiveKeys)
	d.console.SetLimits(next.console())
	d.signIn.SetSignup(next.Accounts.Signup)
	d.packs.swap(ctx, packs)
	d.reader.SetPacks(d.packs.readable())
	d.mcp.SetPacks(d.packs.ids())
	d.packs.finish(packs)
	d.tellSources()
	d.alerts.Set(next.served(), next.Alerts)
	for _, id := range d.packs.ids() {
		if d.node.Leads() { // who else notifies nobody
			d.alerts.Observe(ctx, id)
		}
	}
	for _, p := range d.packs.all() {
		p.line.SetDisabled(next.Disabled)
	}
	return nil
}

// Reload reads the settings again, or fails with admin.ErrNoSettings.
func (d *Daemon) Reload(ctx context.Context) (admin.ReloadResponse, error) {
	if d.cfg.Reload == nil {
		return admin.ReloadResponse{}, admin.ErrNoSettings
	}
	return d.cfg.Reload(ctx)
}
