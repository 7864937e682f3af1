package operate

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
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
	"github.com/contextd/contextd/internal/state"
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

// Alert says of what in a pack the operator is notified, and how.
type Alert struct {
	Name      string          // letters, digits and -; one of its own
	Pack      string          // "" means api.DefaultPack
	Type      api.WatchType   // "" means api.WatchFlagChanged
	Severity  api.Severity    // the least of a flag; "" means api.SeverityWarning
	Kinds     []string        // of flags; none means all
	Arguments json.RawMessage // of the other types, as a watch has them, without pack
	Hook      alert.Hook      // where it is posted; without a URL, nowhere
	Mail      []string        // addresses
	Cooldown  time.Duration   // between two events of a condition; one that stands after it is sent again. 0 means once
	Ended     bool            // ends are sent too
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
	if _, err := a.rule(packs); err != nil {
		return err
	}
	return a.checkTargets()
}

// rule is what a looks for where packs are served, one of which is a's.
func (a Alert) rule(packs []*pack.Pack) (alert.Rule, error) {
	r := alert.Rule{Name: a.Name, Pack: cmp.Or(a.Pack, api.DefaultPack), Cooldown: a.Cooldown, Ended: a.Ended}
	switch a.Type {
	case "", api.WatchFlagChanged:
		if len(a.Arguments) > 0 {
			return r, fmt.Errorf("arguments are for other types: use severity, kinds and ended")
		}
		r.Find = alert.Flags(cmp.Or(a.Severity, api.SeverityWarning), a.Kinds)
		return r, nil
	case api.WatchConditionMet, api.WatchChangeMoved:
	default:
		types := []api.WatchType{api.WatchFlagChanged, api.WatchConditionMet, api.WatchChangeMoved}
		return r, fmt.Errorf("type %q is none of %s", a.Type, api.List(types))
	}
	if a.Severity != "" || len(a.Kinds) > 0 {
		return r, fmt.Errorf("severity and kinds are of flags, not of %s", a.Type)
	}
	arguments, err := api.ParseWatch(a.Type, a.Arguments)
	if err != nil {
		return r, withHint(err)
	}
	if arguments.Pack != api.DefaultPack {
		return r, fmt.Errorf("arguments name a pack: it stands beside them")
	}
	arguments.Pack = r.Pack
	i := slices.IndexFunc(packs, func(p *pack.Pack) bool { return p.ID == r.Pack })
	condition, err := alert.Watch(a.Type, arguments, packs[i].Shown)
	r.Find = condition.Find
	return r, withHint(err)
}

// withHint is err with its hint in the text.
func withHint(err error) error {
	if e, ok := errors.AsType[*api.Error](err); ok && e.Hint != "" {
		return fmt.Errorf("%s; %s", e.Message, e.Hint)
	}
	return err
}

// checkTargets reports what is wrong with where a is sent.
func (a Alert) checkTargets() error {
	for _, address := range a.Mail {
		if parsed, err := netmail.ParseAddress(address); err != nil || parsed.Address != address {
			return fmt.Errorf("%q is not an address of mail", address)
		}
	}
	switch {
	case a.Hook.URL == "" && len(a.Mail) == 0:
		return fmt.Errorf("nobody is told: it has neither url nor mail")
	case a.Hook.Secret != nil && a.Hook.URL == "":
		return fmt.Errorf("there is a secret to sign with, and no url")
	case a.Hook.Secret != nil && a.Hook.Format != alert.FormatNtfy && len(a.Hook.Secret) < minAlertSecret:
		return fmt.Errorf("the secret has %d bytes, fewer than %d: make one with openssl rand -hex 32", len(a.Hook.Secret), minAlertSecret)
	case a.Cooldown < 0:
		return fmt.Errorf("the cool-down is negative")
	case a.Hook.URL == "" && (cmp.Or(a.Hook.Format, alert.FormatJSON) != alert.FormatJSON || a.Hook.Text != ""):
		return fmt.Errorf("format and text are of a webhook, and there is no url")
	case a.Hook.URL == "":
		return nil
	}
	_, err := alert.NewWebhook(a.Hook)
	return err
}

// AlertsConfig is what Alerts needs.
type AlertsConfig struct {
	Journal   string // path of what the operator was notified of
	Mailer    Mailer
	Feed      *feed.Feed
	Past      func(ctx context.Context, pack string, t time.Time) (state.Pulse, error) // the newest before t, or state.ErrNoPulse
	Delivered func(alert, by string, err error)                                        // counts deliveries
	Synthetic bool                                                                     // states are those of a demo
	Now       func() time.Time
	Logger    *slog.Logger
}

// Alerts notifies the operator. Make one with OpenAlerts, and Close it.
type Alerts struct {
	cfg    AlertsConfig
	teller *alert.Teller
}

// OpenAlerts takes the journal of what the operator was notified of, and goes on by alerts, which were checked with packs.
func OpenAlerts(cfg AlertsConfig, packs []*pack.Pack, alerts []Alert) (*Alerts, error) {
	a := &Alerts{cfg: cfg}
	var err error
	a.teller, err = alert.Open(alert.Config{Path: cfg.Journal, Rules: a.rules(packs, alerts), Notify: a.report, Grace: alertGrace})
	return a, err
}

// Set puts other alerts, which were checked with packs, in effect.
func (a *Alerts) Set(packs []*pack.Pack, alerts []Alert) { a.teller.SetRules(a.rules(packs, alerts)) }

// Run delivers until ctx is done.
func (a *Alerts) Run(ctx context.Context) { a.teller.Run(ctx) }

// Waiting is how many events wait to be delivered.
func (a *Alerts) Waiting() int {
	n, _ := a.teller.Pending()
	return n
}

// Close frees the journal.
func (a *Alerts) Close() error { return a.teller.Close() }

// rules are alerts, which were checked with packs, as rules.
func (a *Alerts) rules(packs []*pack.Pack, alerts []Alert) (rules []alert.Rule) {
	for _, one := range alerts {
		r, err := one.rule(packs)
		if err != nil {
			a.cfg.Logger.Error("alert cannot be watched for", "alert", one.Name, "error", err)
			continue
		}
		one.Hook.Now = a.cfg.Now
		if hook, err := alert.NewWebhook(one.Hook); err == nil { // else there is none
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
	text := fmt.Sprintf("%s\n\npack      %s\nkind      %s\nseverity  %s\nchange    %s\nstate of  %s\nalert     %s\nevent     %s\n",
		e.Message, e.Pack, e.Kind, cmp.Or(e.Severity, "-"), e.Change, e.At.Format(time.RFC3339), e.Alert, e.ID)
	if e.Demo {
		text += "\nThis is synthetic data.\n"
	}
	return a.cfg.Mailer.Deliver(ctx, to, e.Title(), text)
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

// Observe notes what holds in the newest state of a pack.
func (a *Alerts) Observe(ctx context.Context, pack string) {
	edition, _ := a.cfg.Feed.Latest(pack)
	if edition == nil {
		return
	}
	s := a.state(pack, edition.GeneratedAt, edition.Doc).As(edition.Freshness(a.cfg.Now()))
	if _, err := a.teller.Observe(ctx, s); err != nil {
		level := slog.LevelError
		if errors.Is(err, alert.ErrNoState) { // the window of a move begins before there were states
			level = slog.LevelDebug
		}
		a.cfg.Logger.Log(ctx, level, "state not checked for alerts", "pack", pack, "error", err)
	}
}

// state is a state of a pack with those before it.
func (a *Alerts) state(pack string, at time.Time, doc *state.Document) alert.State {
	return alert.State{Pack: pack, At: at, Doc: doc, Demo: a.cfg.Synthetic,
		Before: func(ctx context.Context, t time.Time) (alert.State, error) {
			pulse, err := a.cfg.Past(ctx, pack, t)
			if errors.Is(err, state.ErrNoPulse) {
				err = alert.ErrNoState
			}
			if err != nil {
				return alert.State{}, err
			}
			return a.state(pack, pulse.GeneratedAt, pulse.Read()), nil
		}}
}
