package daemon

import (
	"cmp"
	"context"
	"fmt"
	netmail "net/mail"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/mail"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/sdk/api"
)

var (
	_ mailer = (*mail.Outbox)(nil)
	_ mailer = (*mail.SMTP)(nil)
)

// mailer sends a mail and knows whether it was sent.
type mailer interface {
	Deliver(ctx context.Context, to, subject, text string) error
}

// Alert is what the operator is told of: the flags of a pack that go up, and where that is told.
type Alert struct {
	Name     string        // letters, digits and -; one of its own
	Pack     string        // "" means api.DefaultPack
	Severity api.Severity  // the least; "" means api.SeverityWarning
	Kinds    []string      // of flags; none means all
	URL      string        // of a webhook, which may be a secret; "" means none
	Secret   []byte        // that its posts are signed with; nil means that they are not
	Mail     []string      // addresses
	Cooldown time.Duration // between two events of a flag; one that stands after it is told again. 0 means once
	Ended    bool          // ends are told too
}

// minAlertSecret is the least length of what posts are signed with, in bytes.
const minAlertSecret = 16

// alertGrace is for a delivery under way at a stop, which is to take less than a second.
const alertGrace = 200 * time.Millisecond

// checkAlerts reports what is wrong with alerts on packs.
func checkAlerts(packs []Pack, alerts []Alert) error {
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

// check reports what is wrong with a.
func (a Alert) check(packs []Pack) error {
	id := cmp.Or(a.Pack, api.DefaultPack)
	i := slices.IndexFunc(packs, func(p Pack) bool { return p.ID == id })
	if i < 0 {
		return fmt.Errorf("pack %q is not served; there are %s", id, strings.Join(idsOf(packs), ", "))
	}
	if a.Severity != "" && a.Severity.Rank() == 0 {
		return fmt.Errorf("severity %q is none of notice, warning, critical", a.Severity)
	}
	for _, kind := range a.Kinds {
		if known := packs[i].FlagKinds; known != nil && !slices.Contains(known, kind) {
			return fmt.Errorf("no flag is of kind %q; there are %s", kind, strings.Join(known, ", "))
		}
	}
	return a.checkWays()
}

// checkWays reports what is wrong with where a is told.
func (a Alert) checkWays() error {
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

// openAlerts takes the journal of what the operator was told of.
func (d *Daemon) openAlerts(context.Context) (err error) {
	d.alerts, err = alert.Open(alert.Config{
		Path: filepath.Join(d.cfg.DataDir, backup.AlertJournal), Rules: d.alertRules(d.cfg.Alerts), Tell: d.tellAlert, Grace: alertGrace,
	})
	return err
}

// setAlerts puts other alerts, which were checked, in effect.
func (d *Daemon) setAlerts(ctx context.Context, alerts []Alert) {
	d.alerts.SetRules(d.alertRules(alerts))
	for _, id := range d.packs.ids() {
		if !d.node.Leads() {
			break // which tells
		}
		d.lookForAlerts(ctx, id)
	}
}

// alertRules are alerts, which were checked, as rules.
func (d *Daemon) alertRules(alerts []Alert) (rules []alert.Rule) {
	for _, a := range alerts {
		if a.Severity == "" {
			a.Severity = api.SeverityWarning
		}
		if a.Pack == "" {
			a.Pack = api.DefaultPack
		}
		r := alert.Rule{Name: a.Name, Pack: a.Pack, Find: alert.Flags(a.Severity, a.Kinds), Cooldown: a.Cooldown, Ended: a.Ended}
		if hook, err := alert.NewWebhook(a.URL, a.Secret, d.cfg.Now); err == nil { // else there is none
			r.Targets = append(r.Targets, alert.Target{Name: a.Name + "/webhook", Deliver: hook.Deliver})
		}
		for i, to := range a.Mail {
			r.Targets = append(r.Targets, alert.Target{
				Name:    fmt.Sprintf("%s/mail-%d", a.Name, i+1), // the address is nobody's business who reads the log
				Deliver: func(ctx context.Context, e alert.Event) error { return d.mailAlert(ctx, to, e) },
			})
		}
		rules = append(rules, r)
	}
	return rules
}

// mailAlert mails an event.
func (d *Daemon) mailAlert(ctx context.Context, to string, e alert.Event) error {
	what := string(e.Severity)
	if e.Change != alert.Appeared {
		what += ", " + string(e.Change)
	}
	text := fmt.Sprintf("%s\n\npack      %s\nkind      %s\nseverity  %s\nchange    %s\nstate of  %s\nalert     %s\nevent     %s\n",
		e.Message, e.Pack, e.Kind, e.Severity, e.Change, e.At.Format(time.RFC3339), e.Alert, e.ID)
	if e.Demo {
		text += "\nThis is synthetic data.\n"
	}
	return d.mailer.Deliver(ctx, to, fmt.Sprintf("[%s] %s", what, e.Message), text)
}

// tellAlert logs and counts what became of events.
func (d *Daemon) tellAlert(r alert.Report) {
	log := d.cfg.Logger
	if r.Target != "" {
		name, by, _ := strings.Cut(r.Target, "/")
		by, _, _ = strings.Cut(by, "-")
		d.metrics.Alerted(name, by, r.Err)
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

// watchForAlerts looks at every state of a pack until ctx is done.
func (d *Daemon) watchForAlerts(ctx context.Context, id string) {
	w := d.feed.Watch(id)
	defer w.Close()
	for {
		d.lookForAlerts(ctx, id)
		select {
		case <-ctx.Done():
			return
		case <-w.Wake():
		}
	}
}

// lookForAlerts looks at the newest state of a pack.
func (d *Daemon) lookForAlerts(ctx context.Context, pack string) {
	edition, _ := d.feed.Latest(pack)
	if edition == nil {
		return
	}
	s := alert.State{Pack: pack, At: edition.GeneratedAt, Doc: edition.Doc, Demo: d.cfg.Recording != nil}
	if _, err := d.alerts.Observe(ctx, s); err != nil {
		d.cfg.Logger.Error("state not checked for alerts", "pack", pack, "error", err)
	}
}

// waitingAlerts is how many events wait to be delivered.
func (d *Daemon) waitingAlerts() int {
	n, _ := d.alerts.Pending()
	return n
}
