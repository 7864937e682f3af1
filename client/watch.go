package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// minSecret is the least length of what webhooks are signed with, in bytes.
const minSecret = 16

type watchOptions struct {
	*streams
	client func() (*sdk.Client, error)
	config func() (*config.Config, error)

	pack string
	name string

	when, prices, kinds []string
	severity            string
	cooldown            time.Duration
	ended               bool

	exec, webhook, webhookFile, secretFile, format, text string

	count int
	limit time.Duration
	unit  bool

	remotely bool
}

// newWatch makes the command that waits for something to happen.
func newWatch(f *factory) *cobra.Command {
	o := watchOptions{streams: f.streams, client: f.Client, config: f.Config}
	var c *cobra.Command
	c = f.Command(&cobra.Command{
		Use: "watch", Short: "Wait for events and report them",
		SuggestFor: []string{"alert", "alerts", "notify", "monitor"}, ValidArgsFunction: f.CompletePackArgument(),
		Long: "Wait for events in a pack and report each one: a flag goes up, a price crosses a bound, or a jq filter over the\n" +
			"state gives a result. --exec runs a command for each event and --webhook posts it; without them, events are only\n" +
			"shown.\n\n" +
			"An event is the moment at which a condition begins to hold. It is reported again after the condition stopped\n" +
			"holding in between, or after --cooldown. A journal records events and deliveries: across restarts, none is lost,\n" +
			"failed deliveries are tried again, and none is sent again once its delivery is recorded. An event in delivery\n" +
			"when ctx is killed is sent again with the same id: CTX_EVENT_ID, or Idempotency-Key. A command gets the event as\n" +
			"JSON on its input and as CTX_EVENT_… in its environment. The event is delivered if the command exits with 0.\n\n" +
			"Opening the stream costs one credit; its events are free. After a while without ctx or a stream, ctx requests\n" +
			"the missed states, up to a day back: one credit for flags, and one for prices. Such events are reported as late,\n" +
			"with their own time. Missed filter results are not known.\n\n" +
			"--unit prints a systemd unit. With --remote, the service keeps the watch, for a credit per started day, and tells its\n" +
			"webhook, or ctx shows what it tells.",
		Example: "  ctx watch --severity critical --exec 'mail -s \"$CTX_EVENT_MESSAGE\" me@example.com'\n" +
			"  ctx watch --price 'BTC < 90000' --price 'BTC > 100000' --webhook-file ntfy.url --webhook-format ntfy\n" +
			"  ctx watch --when '.top_movers[] | select(.change24hPct > 20) | .symbol'\n" +
			"  ctx watch --flag stablecoin_depeg --webhook https://hooks.example.org/depeg --secret-file hook.key\n" +
			"  ctx watch --name fear --when '.sentiment.fearGreed.value < 20' --exec ./buy.sh --unit > fear.service",
	}, append(cli.FieldsIn(alert.Event{}), cli.OpenFields), func(ctx context.Context, _ []string) (err error) {
		if o.pack, err = f.Pack([]string{o.pack}); err != nil {
			return err
		}
		if o.remotely {
			return o.remote(ctx)
		}
		rules, err := o.rules()
		if err != nil {
			return err
		}
		if o.unit {
			return o.printUnit(c)
		}
		return o.run(ctx, rules)
	})
	o.bind(c)
	c.AddCommand(remoteCommands(f)...)
	return f.Packed(c, &o.pack, "the events of this `pack`", 0, 0)
}

func (o *watchOptions) bind(c *cobra.Command) {
	f := c.Flags()
	f.StringArrayVar(&o.when, "when", nil, "a jq `filter` over the state: each resulting text or row is a condition, and so is true")
	f.StringArrayVar(&o.prices, "price", nil, "a `bound` of a price, such as 'BTC < 90000'")
	f.StringSliceVar(&o.kinds, "flag", nil, "flags of this `kind`, such as stablecoin_depeg; any for all")
	cli.CompleteValues(c, "flag", append(api.FlagKinds(), "any")...)
	f.StringVar(&o.severity, "severity", "", "flags of at least this `severity`: notice, warning, critical")
	f.DurationVar(&o.cooldown, "cooldown", 0, "`time` between two events of a condition; it is reported again if it still holds")
	f.BoolVar(&o.ended, "ended", false, "also report ends")
	f.StringVar(&o.exec, "exec", "", "run this shell `command` for each event")
	f.StringVar(&o.webhook, "webhook", "", "post each event to this `address`")
	f.StringVar(&o.webhookFile, "webhook-file", "", "read the address from this `file`, to keep it out of the process list")
	f.StringVar(&o.secretFile, "secret-file", "", "sign posts with the secret in this `file`, or use it as the access token of ntfy")
	f.StringVar(&o.format, "webhook-format", string(alert.FormatJSON), "`form` of a post: "+api.List(alert.Formats()))
	f.StringVar(&o.text, "webhook-text", "", "`template` of what a chat is told, such as '{{.Subject}}: {{.Message}}'")
	cli.CompleteValues(c, "webhook-format", alert.Formats()...)
	f.StringVar(&o.name, "name", "", "`name` of the journal (default one made of service, pack and conditions)")
	f.IntVar(&o.count, "count", 0, "end when this `number` of events is delivered")
	f.DurationVar(&o.limit, "for", 0, "end after this `time`")
	f.BoolVar(&o.remotely, "remote", false, "have the service watch, also while ctx does not run; a credit a day")
	f.BoolVar(&o.unit, "unit", false, "print a unit of systemd that runs this for good, and do nothing else")
	_ = c.RegisterFlagCompletionFunc("severity", cobra.FixedCompletions(severities(), cobra.ShellCompDirectiveNoFileComp))
}

func severities() []string {
	var names []string
	for _, s := range api.Severities() {
		names = append(names, string(s))
	}
	return names
}

// check reports what is wrong with the flags.
func (o *watchOptions) check() error {
	switch {
	case o.count < 0 || o.limit < 0 || o.cooldown < 0:
		return cli.Invalid("--count, --for and --cooldown must not be negative")
	case o.severity != "" && api.Severity(o.severity).Rank() == 0:
		return cli.Invalid("--severity is %q, which is none of %s", o.severity, strings.Join(severities(), ", "))
	case strings.ContainsAny(o.name, `/\`) || strings.HasPrefix(o.name, ".") || human.Line(o.name) != o.name:
		return cli.Invalid("--name %q cannot be the name of a file", o.name)
	case len(o.prices)+len(o.when)+len(o.kinds) == 0 && o.severity == "":
		return cli.Invalid("there is nothing to watch for: one of --when, --price, --flag and --severity is needed").
			WithHint("ctx watch --severity warning")
	}
	return nil
}

// rules are the conditions of the flags, each a rule that is named as it was written.
func (o *watchOptions) rules() ([]alert.Rule, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var rules []alert.Rule
	for _, text := range o.prices {
		p, err := parsePrice(text)
		if err != nil {
			return nil, err
		}
		rules = append(rules, alert.Rule{Name: p.String(), Find: p.find, Member: "top_movers"})
	}
	for _, text := range o.when {
		filter, err := cli.ParseFilter(text)
		if err != nil {
			return nil, cli.Invalid("--when %q: %w", text, err)
		}
		rules = append(rules, alert.Rule{Name: text, Find: when{filter}.find})
	}
	if len(o.kinds) > 0 || o.severity != "" {
		kinds := o.kinds
		if slices.Contains(kinds, "any") {
			kinds = nil
		}
		name := strings.Join(strings.Fields("flag "+strings.Join(kinds, ",")+" "+o.severity), " ")
		rules = append(rules, alert.Rule{Name: name, Find: alert.Flags(api.Severity(o.severity), kinds), Member: "flags"})
	}
	slices.SortStableFunc(rules, func(a, b alert.Rule) int { return strings.Compare(a.Name, b.Name) })
	rules = slices.CompactFunc(rules, func(a, b alert.Rule) bool { return a.Name == b.Name })
	targets, err := o.targets()
	for i := range rules {
		r := &rules[i]
		r.Pack, r.Targets, r.Cooldown, r.Ended = o.pack, targets, o.cooldown, o.ended
	}
	return rules, err
}

// address is that of the webhook, "" for none.
func (o *watchOptions) address() (string, error) {
	if o.webhookFile == "" {
		return o.webhook, nil
	}
	if o.webhook != "" {
		return "", cli.Invalid("--webhook and --webhook-file exclude each other")
	}
	text, err := os.ReadFile(o.webhookFile)
	if err != nil {
		return "", cli.Invalid("--webhook-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// targets are where events go.
func (o *watchOptions) targets() (list []alert.Target, err error) {
	address, err := o.address()
	if err != nil {
		return nil, err
	}
	var secret []byte
	if o.secretFile != "" {
		if address == "" {
			return nil, cli.Invalid("--secret-file is about a webhook, and there is none")
		}
		if secret, err = os.ReadFile(o.secretFile); err != nil {
			return nil, cli.Invalid("--secret-file: %w", err)
		}
		if secret = bytes.TrimSpace(secret); len(secret) < minSecret && o.format != string(alert.FormatNtfy) {
			return nil, cli.Invalid("the secret of --secret-file has %d bytes, fewer than %d", len(secret), minSecret).
				WithHint("openssl rand -hex 32 > %s", o.secretFile)
		}
	}
	if address == "" && (o.format != string(alert.FormatJSON) || o.text != "") {
		return nil, cli.Invalid("--webhook-format and --webhook-text are about a webhook, and there is none")
	}
	if o.webhook != "" || o.webhookFile != "" {
		hook, err := alert.NewWebhook(alert.Hook{URL: address, Secret: secret, Format: alert.Format(o.format), Text: o.text, Now: o.Now})
		if err != nil {
			return nil, cli.Invalid("%w", err)
		}
		list = append(list, alert.Target{Name: "webhook", Deliver: hook.Deliver})
	}
	if o.exec != "" {
		list = append(list, alert.Target{Name: "exec", Deliver: eventCommand{o.streams, o.exec}.deliver})
	}
	return list, nil
}

// journal is the file of the watch. That of other conditions is another one.
func (o *watchOptions) journal(rules []alert.Rule) (string, error) {
	c, err := o.config()
	if err != nil {
		return "", err
	}
	name := o.name
	if name == "" {
		of := []string{c.Get(config.BaseURL).Text, o.pack}
		for _, r := range rules {
			of = append(of, r.Name)
		}
		sum := sha256.Sum256([]byte(strings.Join(of, "\x00")))
		name = hex.EncodeToString(sum[:6])
	}
	return filepath.Join(c.Dir, "watch", name+".journal"), nil
}

// run watches until ctx is done, or it has told enough.
func (o *watchOptions) run(ctx context.Context, rules []alert.Rule) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	path, err := o.journal(rules)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.limit > 0 {
		ctx, stop = context.WithTimeout(ctx, o.limit)
		defer stop()
	}
	w := &watch{watchOptions: o, rules: rules, stop: stop}
	w.teller, err = alert.Open(alert.Config{Path: path, Rules: rules, Notify: w.report, Grace: execGrace})
	if errors.Is(err, alert.ErrInUse) {
		return cli.Invalid("another ctx watches for this already").WithHint("give this one another --name")
	}
	if err != nil {
		return err
	}
	if n, oldest := w.teller.Pending(); n > 0 {
		w.note("%s of before, the oldest of %s, to be delivered", human.Plural(n, "event"), w.clock(oldest))
	}
	var delivering sync.WaitGroup
	delivering.Go(func() { w.teller.Run(ctx) })
	err = w.follow(ctx, client)
	stop()
	delivering.Wait()
	return errors.Join(err, w.teller.Close())
}

type watch struct {
	*watchOptions
	rules  []alert.Rule
	teller *alert.Teller
	stop   func()
	gap    bool // states may have been missed since the last one
	looked bool // at a state of now

	mu      sync.Mutex // guards what follows, and stderr
	ended   int        // events that need nobody any more
	demo    bool       // that the data is of a demo was noted
	trouble string     // that was noted last
}

// note tells people something, from any goroutine.
func (w *watch) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Note(format, args...)
}

// follow looks at each state of the stream.
func (w *watch) follow(ctx context.Context, client *sdk.Client) error {
	stream := client.Subscribe(sdk.SubscribeRequest{Pack: w.pack, Proven: true, OnChange: w.connection})
	defer stream.Close()
	for event, err := range stream.Events(ctx) {
		switch {
		case err != nil && ctx.Err() != nil:
			return nil // it has told enough, its time is over, or Ctrl-C, which is how one ends it
		case err != nil:
			return err
		case event.Type == api.EventError:
			w.note("the service: %s", event.Message)
			continue
		}
		s := alert.State{Pack: w.pack, At: event.State.TS, Doc: state.Read(event.State.State), Demo: stream.Connection().Demo}
		if f := event.State.Freshness; f != nil {
			s = s.As(*f)
		}
		if w.gap {
			w.gap = false
			if err := w.missed(ctx, client, s); err != nil {
				return err
			}
		}
		if err := w.observe(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// observe looks at a state and shows what is new in it.
func (w *watch) observe(ctx context.Context, s alert.State) error {
	events, err := w.teller.Observe(ctx, s)
	if ctx.Err() != nil {
		return nil
	}
	if s.Member == "" { // what a past state does not tell is no trouble of now
		w.noteTrouble(err)
	}
	if s.Member == "" && !w.looked {
		w.looked = true
		w.noteStanding(events)
	}
	for _, e := range events {
		if err := w.print(ctx, e); err != nil {
			return err
		}
		if w.exec == "" && w.webhook+w.webhookFile == "" {
			w.enough()
		}
		if ctx.Err() != nil {
			return nil
		}
	}
	return nil
}

// noteStanding tells people what holds already and was reported before, which is reported again only once it has ended.
func (w *watch) noteStanding(news []alert.Event) {
	for _, e := range w.teller.Standing() {
		if !slices.ContainsFunc(news, func(n alert.Event) bool { return n.ID == e.ID }) {
			w.note("holds already, reported at %s: %s", w.clock(e.At), e.Message)
		}
	}
}

// noteTrouble tells people of trouble with a state, and not with each one.
func (w *watch) noteTrouble(err error) {
	trouble := ""
	if err != nil {
		trouble = err.Error()
	}
	if trouble != "" && trouble != w.trouble {
		w.note("%s", trouble)
	}
	w.trouble = trouble
}

// enough counts an event that needs nobody any more, and ends the watching after the last.
func (w *watch) enough() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended++; w.ended == w.count {
		w.stop()
	}
}

func (w *watch) print(ctx context.Context, e alert.Event) error {
	doc, err := cli.Marshal(e)
	if err != nil {
		return err
	}
	return w.Print(ctx, cli.Answer{JSON: doc, Piped: cli.NDJSON, Text: func(out io.Writer, _ int, style cli.Style) error {
		severity := string(e.Severity)
		switch e.Severity {
		case api.SeverityCritical:
			severity = style.Bad(severity)
		case api.SeverityWarning:
			severity = style.Warn(severity)
		}
		at := e.At.In(w.Now().Location()).Format(time.TimeOnly)
		if e.Late {
			at = w.clock(e.At)
		}
		line := []string{style.Bold(at), string(e.Change), severity, e.Kind, e.Message}
		_, err := fmt.Fprintln(out, strings.Join(slices.DeleteFunc(line, func(part string) bool { return part == "" }), "  "))
		return err
	}})
}

// connection tells people that the connection comes and goes.
func (w *watch) connection(c sdk.Connection) {
	w.gap = w.gap || c.Connected
	switch {
	case c.Connected && c.Reconnects > 0:
		w.note("connected again")
	case !c.Connected:
		w.note("connection lost: %v; trying again in %s", c.Err, human.Age(c.Wait.Round(time.Second)))
	}
	if c.Demo && !w.demo {
		w.demo = true
		w.note("demo data: synthetic values")
	}
}

// report tells of deliveries and of trouble.
func (w *watch) report(r alert.Report) {
	again := ""
	if r.Wait > 0 {
		again = "; trying again in " + human.Age(max(r.Wait.Round(time.Second), time.Second))
	}
	switch {
	case r.Err != nil && r.Target != "":
		w.note("%s did not take event %s: %v%s", r.Target, r.Event.ID, r.Err, again)
	case r.Err != nil:
		w.note("%v%s", r.Err, again)
	case r.Done:
		w.enough()
	}
}
