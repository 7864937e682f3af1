package daemon

import (
	"context"
	"net/url"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/chain"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/web"
)

var (
	_ account.SignInStore = (*store.Store)(nil)
	_ account.InviteStore = (*store.Store)(nil)
	_ account.PromptStore = (*store.Store)(nil)
	_ account.Mailer      = (*mail.Outbox)(nil)
	_ account.Mailer      = (*mail.SMTP)(nil)
	_ web.Books           = (*billing.Credits)(nil)
)

// OutboxDir is the name, in the data directory, of the directory for mail where no SMTP server is configured.
const OutboxDir = "outbox"

func (d *Daemon) openConsole(ctx context.Context, public *url.URL) (_ *web.Console, err error) {
	outbox := &mail.Outbox{Dir: filepath.Join(d.cfg.DataDir, OutboxDir), Now: d.cfg.Now, Logger: d.cfg.Logger}
	var mailer account.Mailer = outbox
	d.mailer = outbox
	if d.cfg.SMTP != nil {
		smtp := *d.cfg.SMTP
		smtp.Now, smtp.Logger = d.cfg.Now, d.cfg.Logger
		if d.smtp, err = mail.NewSMTP(smtp); err != nil {
			return nil, err
		}
		mailer, d.mailer = d.smtp, d.smtp
	}
	var key []byte // one of this process alone
	if d.cfg.StoreURL != "" {
		if key, err = d.store.Secret(ctx, "signin", newSecretKey); err != nil {
			return nil, err
		}
	}
	d.signIn, err = account.NewSignIn(account.SignInConfig{
		Store: d.store, Mailer: mailer, Signup: d.cfg.Signup, PublicURL: public, ChainID: d.cfg.chainID(),
		Recover: chain.Recover, Checksum: chain.Checksum, NewID: uuid.NewString, Key: key, Now: d.cfg.Now,
	})
	if err != nil {
		return nil, err
	}
	made, err := d.store.SignedUp(ctx, d.cfg.Now().Add(-24*time.Hour))
	if err != nil {
		return nil, err
	}
	return web.NewConsole(web.ConsoleConfig{
		SignedUp: made,
		Sale:     d.sale(), Pages: d.cfg.Page != web.PageOff,
		SignIn: d.signIn, Keys: d.keys, Books: d.credits, Packs: d.packs.ids,
		Prompts:   &account.Prompts{Store: d.store, NoModel: d.cfg.Briefs.Model == nil, Now: d.cfg.Now},
		PublicURL: public, Hosts: d.origins(public), TrustedProxies: d.proxies, Limits: d.cfg.Limits, Now: d.cfg.Now,
	})
}

func (d *Daemon) publicURL() (*url.URL, error) {
	text := d.cfg.PublicURL
	if text == "" {
		text = d.URL()
	}
	if _, unix := web.UnixPath(text); unix {
		return nil, noPublicURL(d.listener.Addr().String())
	}
	return ParsePublicURL(text)
}
