package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// remoteOptions are those of watches that the service keeps.
type remoteOptions struct {
	*streams
	client func() (*sdk.Client, error)

	cursor string
	follow bool
}

// watchFields are the members of a watch.
func watchFields() []string {
	return []string{"watchId", "type", "arguments", "delivery", "status", "keyId", "createdAt", "expiresAt", "paidUntil", "cursor",
		"secret", "lastDeliveryAt", "lastError", "failedSince", "failures"}
}

// remoteCommands look after the watches that the service keeps.
func remoteCommands(f *factory) []*cobra.Command {
	o := &remoteOptions{streams: f.streams, client: f.Client}
	list := f.Command(&cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List the watches that the service keeps",
		Args: cobra.NoArgs}, watchFields(), func(ctx context.Context, _ []string) error { return o.list(ctx) })
	remove := f.Command(&cobra.Command{Use: "remove WATCHID...", Aliases: []string{"rm"}, Short: "Remove watches from the service",
		Args: cobra.MinimumNArgs(1)}, nil, o.remove)
	test := f.Command(&cobra.Command{Use: "test WATCHID", Short: "Test the delivery of a watch", Args: cobra.ExactArgs(1)}, nil, o.test)
	events := f.Command(&cobra.Command{Use: "events WATCHID", Short: "Read the events of a watch by cursor", Args: cobra.ExactArgs(1),
		Long: "Read the events of a watch, oldest first, each as a line of JSON where the output is no terminal. Without --cursor,\n" +
			"reading starts now: --follow waits for events. The cursor of the last event is in its line; it resumes for a day."},
		[]string{"eventId", "name", "timestamp", "data", "cursor"}, func(ctx context.Context, args []string) error {
			client, err := o.client()
			if err != nil {
				return err
			}
			return o.read(ctx, client, args[0], o.cursor, 0)
		})
	events.Flags().StringVar(&o.cursor, "cursor", "", "read from this `cursor` on")
	events.Flags().BoolVar(&o.follow, "follow", false, "go on until interrupted")
	return []*cobra.Command{list, remove, test, events}
}

func (o *remoteOptions) list(ctx context.Context) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	list, err := client.Watches(ctx, o.Call(&meta)...)
	if err != nil {
		return err
	}
	o.ReportMeta(&meta)
	rows := &cli.Rows{Columns: []string{"watch", "type", "arguments", "delivery", "status", "last delivery", "failures"},
		Empty: "there are no watches; make one: ctx watch --remote --severity critical"}
	for _, w := range list {
		last := "-"
		if w.LastDeliveryAt != nil {
			last = o.when(*w.LastDeliveryAt)
		}
		failures := strconv.Itoa(w.Failures)
		if w.LastError != "" {
			failures += " (" + human.Line(w.LastError) + ")"
		}
		rows.Rows = append(rows.Rows, []string{w.ID, string(w.Type), human.Line(string(w.Arguments)), human.Line(whereTo(w.Delivery)),
			string(w.Status), last, failures})
	}
	return o.Show(ctx, list, rows)
}

// whereTo is where a delivery goes, in a word.
func whereTo(d api.WatchDelivery) string {
	where := d.URL + d.Email
	if d.Topic != "" {
		where = strings.TrimRight(d.URL, "/") + "/" + d.Topic
	}
	return strings.TrimSpace(string(d.Type) + " " + where)
}

func (o *remoteOptions) remove(ctx context.Context, args []string) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	for _, id := range args {
		var meta sdk.Response
		if err := client.RemoveWatch(ctx, id, o.Call(&meta)...); err != nil {
			return err
		}
		o.Note("removed %s", human.Line(id))
	}
	return nil
}

func (o *remoteOptions) test(ctx context.Context, args []string) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	var meta sdk.Response
	if err := client.TestWatch(ctx, args[0], o.Call(&meta)...); err != nil {
		return err
	}
	o.Note("the delivery of %s works", human.Line(args[0]))
	return nil
}

// read shows the events of a watch behind a cursor, and with follow those that come, until there are count of them; 0 means all.
func (o *remoteOptions) read(ctx context.Context, client *sdk.Client, id, cursor string, count int) error {
	for n := 0; ; {
		page, err := client.WatchEvents(ctx, id, cursor)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if page.Truncated {
			o.Note("older events are kept no longer")
		}
		for _, e := range page.Events {
			if err := o.show(ctx, e); err != nil {
				return err
			}
			if n++; n == count {
				return nil
			}
		}
		if cursor = page.Cursor; page.HasMore {
			continue
		}
		if !o.follow {
			o.Note("cursor %s", human.Line(cursor))
			return nil
		}
		timer := time.NewTimer(max(time.Duration(page.NextPollMs)*time.Millisecond, time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// show shows an event.
func (o *remoteOptions) show(ctx context.Context, e api.Event) error {
	doc, err := cli.Marshal(e)
	if err != nil {
		return err
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Piped: cli.NDJSON, Text: func(out io.Writer, _ int, style cli.Style) error {
		var d api.EventData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			return fmt.Errorf("read event: %w", err)
		}
		_, err := fmt.Fprintf(out, "%s  %s  %s\n", style.Bold(o.when(e.Timestamp)), e.Name, human.Line(d.Message))
		return err
	}})
}

// remote has the service watch, and shows what is told by cursor; a webhook is told by the service itself.
func (o *watchOptions) remote(ctx context.Context) error {
	asks, err := o.requests()
	if err != nil {
		return err
	}
	client, err := o.client()
	if err != nil {
		return err
	}
	var made []*api.Watch
	for _, ask := range asks {
		var meta sdk.Response
		w, err := client.CreateWatch(ctx, ask, o.Call(&meta)...)
		if err != nil {
			return err
		}
		o.ReportMeta(&meta)
		made = append(made, w)
	}
	if asks[0].Delivery.Type != api.DeliverPoll || len(made) > 1 {
		rows := &cli.Rows{Columns: []string{"watch", "type", "delivery", "secret"}}
		for _, w := range made {
			rows.Rows = append(rows.Rows, []string{w.ID, string(w.Type), human.Line(whereTo(w.Delivery)), human.Line(w.Secret)})
		}
		return o.Show(ctx, made, rows)
	}
	if o.limit > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, o.limit)
		defer stop()
	}
	o.Note("the service watches as %s; end it with: ctx watch remove %[1]s", made[0].ID)
	r := &remoteOptions{streams: o.streams, client: o.client, follow: true}
	return r.read(ctx, client, made[0].ID, made[0].Cursor, o.count)
}

// requests are the conditions of the flags as watches of the service.
func (o *watchOptions) requests() (list []api.WatchRequest, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	switch {
	case len(o.when) > 0:
		return nil, cli.Invalid("--when is a program, which the service does not run").
			WithHint("--price, --flag and --severity, or no --remote")
	case o.exec != "" || o.secretFile != "" || o.cooldown > 0 || o.unit || o.text != "" || o.format != string(alert.FormatJSON):
		return nil, cli.Invalid("--exec, --secret-file, --webhook-format, --webhook-text, --cooldown and --unit are of watches " +
			"on this machine, not of --remote")
	}
	delivery := api.WatchDelivery{Type: api.DeliverPoll}
	if o.webhook != "" || o.webhookFile != "" {
		address, err := o.address()
		if err != nil {
			return nil, err
		}
		delivery = api.WatchDelivery{Type: api.DeliverWebhook, URL: address}
	}
	add := func(t api.WatchType, a api.WatchArguments) {
		a.Pack = o.pack
		list = append(list, api.WatchRequest{Type: t, Arguments: a.Canonical(), Delivery: delivery})
	}
	for _, text := range o.prices {
		p, err := parsePrice(text)
		if err != nil {
			return nil, err
		}
		add(api.WatchConditionMet, api.WatchArguments{
			Member: "asset", Key: p.coin, Field: "priceUsd", Op: api.Comparison(p.op), Value: &p.bound,
		})
	}
	if len(o.kinds) > 0 || o.severity != "" {
		a := api.WatchArguments{Severity: api.Severity(o.severity), Changes: []api.FlagChange{api.FlagAppeared, api.FlagRose}}
		if a.Severity == "" {
			a.Severity = api.SeverityNotice
		}
		for _, kind := range o.kinds {
			if kind != "any" {
				a.Kinds = append(a.Kinds, kind)
			}
		}
		if o.ended {
			a.Changes = append(a.Changes, api.FlagEnded)
		}
		add(api.WatchFlagChanged, a)
	}
	if len(list) == 0 {
		err = errors.New("there is nothing to watch for")
	}
	return list, err
}

// when is a time of the service on the clock of this machine.
func (o *remoteOptions) when(t time.Time) string {
	return t.In(o.Now().Location()).Format(time.DateTime)
}
