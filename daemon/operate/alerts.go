package operate

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	netmail "net/mail"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk/api"
)

// Mailer sends a mail and knows whether it was sent; *mail.SMTP and *mail.Outbox are such.
type Mailer interface {
	Deliver(ctx context.Context, to, subject, text string) error
}

var (
	_ Mailer = (*mail.Outbox)(nil)
	_ Mailer = (*mail.SMTP)(nil)
)

// Alert says of which flags of a pack the operator is notified, and how.
type Alert struct {
	Name     string        // letters, digits and -; one of its own
	Pack     string        // "" means api.DefaultPack
	Severity api.Severity  // the least; "" means api.SeverityWarning
	Kinds    []string      // of flags; none means all
	URL      string        // of a webhook, which may be a secret; "" means none
	Secret   []byte        // that its posts are signed with; nil means that they are not
	Mail     []string      // addresses
	Cooldown time.Duration // between two events of a flag; one that stands after it is sent again. 0 means once
	Ended    bool          // ends are sent too
}

// minAlertSecret is the least length of what posts are signed with, in bytes.
const minAlertSecret = 16

// alertGrace is for a delivery under way at a stop, which is to take less than a second.
const alertGrace = 200 * time.Millisecond

// CheckAlerts reports what is wrong with alerts where packs are served.
func CheckAlerts(packs []*pack.Pack, alerts []Alert) error {
	names := map[string]bool{}
	for i, a := range alerts {
		if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,31}$`).MatchString(a.Name) {
			return fmt.Errorf("alerts[%d]: name %q is not 1 to 32 letters, digits and -", i, a.Name)
		}
		if names[a.Name] {
			return fmt.Errorf("two alerts have the name %s", a.Name)
		}
		names[a.Name] = true
		if err := a.check(packs); err != nil {
			return fmt.Errorf("alert %s: %w", a.Name, err)
		}
	}
	return nil
}

func (a Alert) check(packs []*pack.Pack) error {
	id := cmp.Or(a.Pack, api.DefaultPack)
	i := slices.IndexFunc(packs, func(p *pack.Pack) bool { return p.ID == id })
	if i < 0 {
		var ids []string
		for _, p := range packs {
			ids = append(ids, p.ID)
		}
		return fmt.Errorf("pack %q is not served; there are %s", id, strings.Join(ids, ", "))
	}
	if a.Severity != "" && a.Severity.Rank() == 0 {
		return fmt.Errorf("severity %q is none of notice, warning, critical", a.Severity)
	}
	for _, kind := range a.Kinds {
		if known := packs[i].FlagKinds; known != nil && !slices.Contains(known, kind) {
			return fmt.Errorf("no flag is of kind %q; there are %s", kind, strings.Join(known, ", "))
		}
	}
	return a.checkTargets()
}

// checkTargets reports what is wrong with where a is sent.
func (a Alert) checkTargets() error {
	for _, address := range a.Mail {
		if parsed, err := netmail.ParseAddress(address); err != nil || parsed.Address != address {
			return fmt.Errorf("%q is not an address of mail", address)
		}
	}
	switch {
	case a.URL == "" && len(a.Mail) == 0:
		return fmt.Errorf("nobody is told: it has neither url nor mail")
	case a.Secret != nil && a.URL == "":
		return fmt.Errorf("there is a secret to sign with, and no url")
	case a.Secret != nil && len(a.Secret) < minAlertSecret:
		return fmt.Errorf("the secret has %d bytes, fewer than %d: make one with openssl rand -hex 32", len(a.Secret), minAlertSecret)
	case a.Cooldown < 0:
		return fmt.Errorf("the cool-down is negative")
	case a.URL == "":
		return nil
	}
	_, err := alert.NewWebhook(a.URL, a.Secret, nil)
	return err
}

// AlertsConfig is what Alerts needs.
type AlertsConfig struct {
	Journal   string // path of what the operator was notified of
	Mailer    Mailer
	Feed      *feed.Feed
	Delivered func(alert, by string, err error) // counts deliveries
	Synthetic bool                              // states are those of a demo
	Now       func() time.Time
	Logger    *slog.Logger
}

// Alerts notifies the operator of flags. Make one with OpenAlerts, and Close it.
type Alerts struct {
	cfg    AlertsConfig
	teller *alert.Teller
}

// OpenAlerts takes the journal of what the operator was notified of, and goes on by alerts, which were checked.
func OpenAlerts(cfg AlertsConfig, alerts []Alert) (*Alerts, error) {
	a := &Alerts{cfg: cfg}
	var err error
	a.teller, err = alert.Open(alert.Config{Path: cfg.Journal, Rules: a.rules(alerts), Notify: a.report, Grace: alertGrace})
	return a, err
}

// Set puts other alerts, which were checked, in effect.
func (a *Alerts) Set(alerts []Alert) { a.teller.SetRules(a.rules(alerts)) }

// Run delivers until ctx is done.
func (a *Alerts) Run(ctx context.Context) { a.teller.Run(ctx) }

// Waiting is how many events wait to be delivered.
func (a *Alerts) Waiting() int {
	n, _ := a.teller.Pending()
	return n
}

// Close frees the journal.
func (a *Alerts) Close() error { return a.teller.Close() }

// rules are alerts, which were checked, as rules.
func (a *Alerts) rules(alerts []Alert) (rules []alert.Rule) {
	for _, one := range alerts {
		severity, pack := cmp.Or(one.Severity, api.SeverityWarning), cmp.Or(one.Pack, api.DefaultPack)
		r := alert.Rule{Name: one.Name, Pack: pack, Find: alert.Flags(severity, one.Kinds), Cooldown: one.Cooldown, Ended: one.Ended}
		if hook, err := alert.NewWebhook(one.URL, one.Secret, a.cfg.Now); err == nil { // else there is none
			r.Targets = append(r.Targets, alert.Target{Name: one.Name + "/webhook", Deliver: hook.Deliver})
		}
		for i, to := range one.Mail {
			r.Targets = append(r.Targets, alert.Target{
				Name:    fmt.Sprintf("%s/mail-%d", one.Name, i+1), // the address is nobody's business who reads the log
				Deliver: func(ctx context.Context, e alert.Event) error { return a.mail(ctx, to, e) },
			})
		}
		rules = append(rules, r)
	}
	return rules
}

func (a *Alerts) mail(ctx context.Context, to string, e alert.Event) error {
	what := string(e.Severity)
	if e.Change != alert.Appeared {
		what += ", " + string(e.Change)
	}
	text := fmt.Sprintf("%s\n\npack      %s\nkind      %s\nseverity  %s\nchange    %s\nstate of  %s\nalert     %s\nevent     %s\n",
		e.Message, e.Pack, e.Kind, e.Severity, e.Change, e.At.Format(time.RFC3339), e.Alert, e.ID)
	if e.Demo {
		text += "\nThis is synthetic data.\n"
	}
	return a.cfg.Mailer.Deliver(ctx, to, fmt.Sprintf("[%s] %s", what, e.Message), text)
}

// report logs and counts what became of events.
func (a *Alerts) report(r alert.Report) {
	log := a.cfg.Logger
	if r.Target != "" {
		name, by, _ := strings.Cut(r.Target, "/")
		by, _, _ = strings.Cut(by, "-")
		a.cfg.Delivered(name, by, r.Err)
		log = log.With("alert", name, "by", by, "event", r.Event.ID)
	}
	switch {
	case r.Target != "" && r.Err == nil:
		log.Info("alert delivered", "kind", r.Event.Kind, "change", r.Event.Change)
	case r.Target != "":
		log.Warn("alert not delivered", "error", r.Err, "again_in", r.Wait.Round(time.Millisecond))
	default:
		log.Error("alerts", "error", r.Err)
	}
}

// Watch observes every state of a pack until ctx is done.
func (a *Alerts) Watch(ctx context.Context, pack string) {
	w := a.cfg.Feed.Watch(pack)
	defer w.Close()
	for {
		a.Observe(ctx, pack)
		select {
		case <-ctx.Done():
			return
		case <-w.Wake():
		}
	}
}

// Observe notes which flags are up in the newest state of a pack.
func (a *Alerts) Observe(ctx context.Context, pack string) {
	edition, _ := a.cfg.Feed.Latest(pack)
	if edition == nil {
		return
	}
	s := alert.State{Pack: pack, At: edition.GeneratedAt, Doc: edition.Doc, Demo: a.cfg.Synthetic}.As(edition.Freshness(a.cfg.Now()))
	if _, err := a.teller.Observe(ctx, s); err != nil {
		a.cfg.Logger.Error("state not checked for alerts", "pack", pack, "error", err)
	}
}
