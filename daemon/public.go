package daemon

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"path/filepath"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/web"
)

// acmeDir is the name, in the data directory, of the directory of certificates by ACME and their keys.
const acmeDir = "acme"

// openPublic begins to listen on the public address, and reads the certificate.
func (d *Daemon) openPublic(context.Context) (err error) {
	d.proxies = web.NewProxies(d.cfg.TrustedProxies)
	if d.listener = d.cfg.Listener; d.listener == nil {
		if d.listener, err = web.Listen(d.cfg.Listen); err != nil {
			return err
		}
	}
	if d.cfg.TLS == nil {
		return nil
	}
	c := *d.cfg.TLS
	c.Now, c.Logger, c.Cache = d.cfg.Now, d.cfg.Logger, filepath.Join(d.cfg.DataDir, acmeDir)
	d.tls, err = c.Open()
	return err
}

// URL is the base URL of the public address, as a client on this machine reaches it, or unix: and a path.
func (d *Daemon) URL() string {
	if socket, ok := d.listener.Addr().(*net.UnixAddr); ok {
		return "unix:" + socket.Name
	}
	if d.tls != nil {
		return reachable("https", d.listener, d.cfg.Listen)
	}
	return reachable("http", d.listener, d.cfg.Listen)
}

// reachable is the URL at which a client on this machine reaches l, which was asked to listen on listen.
func reachable(scheme string, l net.Listener, listen string) string {
	addr := l.Addr().String()
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return scheme + "://" + addr
	}
	if asked, _, err := net.SplitHostPort(listen); err == nil && net.ParseIP(host).IsUnspecified() {
		host = "127.0.0.1" // also where every address is listened on
		if asked == "::" {
			host = "::1"
		}
	}
	return scheme + "://" + net.JoinHostPort(host, port)
}

// Live is the part of a Config that can change while a daemon runs. Its fields are as there.
type Live struct {
	TrustedProxies []netip.Prefix
	Plans          billing.Plans
	FreeCalls      int
	MaxKeys        int
	Limits         web.ConsoleLimits
	Disabled       []string
	TLS            *web.Certificates // read again where the files have the names that the daemon was opened with
}

// Live is the part of cfg that Apply takes.
func (cfg Config) Live() Live {
	return Live{
		TrustedProxies: cfg.TrustedProxies, Plans: cfg.Plans, FreeCalls: cfg.FreeCalls, MaxKeys: cfg.MaxKeys, Limits: cfg.Limits, Disabled: cfg.Disabled,
		TLS: cfg.TLS,
	}
}

// Apply puts l in effect and reads the certificate again, or says what is wrong and changes nothing. What is under way ends as it began.
// A certificate in other files needs a restart: those it came from may be gone by now.
func (d *Daemon) Apply(l Live) error {
	if err := checkSources(d.cfg.packs(), l.Disabled); err != nil {
		return err
	}
	if is, now := d.cfg.TLS, l.TLS; d.tls != nil && now != nil && is.CertFile == now.CertFile && is.KeyFile == now.KeyFile {
		if err := d.tls.Reload(); err != nil {
			return err
		}
	}
	d.proxies.Set(l.TrustedProxies)
	d.meter.SetPlans(l.Plans, l.FreeCalls)
	d.gate.SetPlans(l.Plans)
	d.keys.SetMaxKeys(l.MaxKeys)
	d.console.SetLimits(l.Limits)
	for _, line := range d.pipelines {
		line.SetDisabled(l.Disabled)
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

// Alive says why the daemon cannot work, nil if it can: whether its databases answer and can be written to. It is true of a daemon that has
// nothing to serve yet, or that is stopping.
func (d *Daemon) Alive(ctx context.Context) error {
	return errors.Join(d.store.CheckWrite(ctx), d.history.CheckWrite(ctx))
}
