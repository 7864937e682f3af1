package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/internal/beacon"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// verdict is what verify found, as JSON.
type verdict struct {
	Proven      bool              `json:"proven"` // false where only the file says whose key it is; what does not hold is an error
	Pack        string            `json:"pack"`
	GeneratedAt *time.Time        `json:"generatedAt,omitempty"` // of the state or brief
	Log         string            `json:"log"`
	Seq         *int64            `json:"seq,omitempty"` // of its leaf
	Leaf        string            `json:"leaf,omitempty"`
	Size        int64             `json:"size"` // of the log, as of the checkpoint
	Root        string            `json:"root"`
	Key         string            `json:"key"`
	KeyFrom     string            `json:"keyFrom"`          // given, remembered or first seen; file where only the file says it
	Since       *time.Time        `json:"since,omitempty"`  // from when on leaves were looked at
	States      *int              `json:"states,omitempty"` // looked at
	Briefs      *int              `json:"briefs,omitempty"`
	Before      *int64            `json:"before,omitempty"` // size of the log that was remembered
	Code        string            `json:"code,omitempty"`
	Sources     int               `json:"sources,omitempty"`    // that the state was made of
	Provenance  string            `json:"provenance,omitempty"` // of what the sources are said to have answered
	Tables      string            `json:"tables,omitempty"`     // root of the tree of all rows behind the state, where the leaf has it
	NotBefore   *round            `json:"notBefore,omitempty"`  // a public value in the leaf that nobody could know before its time
	ExistedBy   *sdk.Cosignature  `json:"existedBy,omitempty"`  // the earliest of a witness
	Witnesses   []sdk.Cosignature `json:"witnesses"`
	Unknown     int               `json:"unknownWitnesses"`     // signatures of other keys
	Covered     []string          `json:"covered,omitempty"`    // members of the file that are proven
	NotCovered  []string          `json:"notCovered,omitempty"` // and those that are not
	Says        string            `json:"says"`

	Corroborated *corroboration `json:"corroborated,omitempty"` // what the log of another service says of the sources
	Rechecked    *rechecked     `json:"rechecked,omitempty"`    // what the archives of the sources say of the figures

	Receipt *api.ReceiptPayload `json:"receipt,omitempty"` // of a payment; then Key is the address of its signer
}

type verifyOptions struct {
	*streams
	logs   *logs
	client func() (*sdk.Client, error)

	elsewhere func(address string) (*elsewhere, error)

	pack      string
	named     bool   // the pack, by its flag
	at, since string // as typed
	key       string
	witnesses []string
	need      int
	accept    bool
	with      string        // the address of another service, whose log may have the same rows
	within    time.Duration // of its states
	again     []string      // sources whose archives are asked
	transport func() http.RoundTripper
}

const verifyHelp = `Prove what a service said, and that it was not changed since.

FILE, or - for standard input, is a bundle from ctx state --bundle, which needs no service and no network, or an
answer saved with -o json; for an answer, ctx asks the service for the leaf, the proof and the checkpoint. For a
bundle of a log that ctx does not know, it asks the service for the key; if that has another log or does not
answer, the bundle is consistent, which anyone's is, and not proven: exit code 17, until you name the key with
--key. State and brief are proven to the byte; verify names the members of the answer that no leaf covers, such
as citations and ages. Rows of ctx ask and ctx query are proven while the state that they are of is the newest,
also those that the state does not show. A receipt of a payment, from ctx pay receipts or a decoded
PAYMENT-RESPONSE, is proven by a key that the service publishes, or by the address in --key. --at requests the
snapshot of a minute, which is a call, and proves it. --since reads everything said since then and proves that
it is in the log. Without any of them, and with --since, verify proves that nothing that ctx knew of the log was
changed or taken back.

ctx trusts the first checkpoint of a log and remembers it, by service and pack. Every later one has to follow it. If
a log forked, shrank, or changed its key or its name, every command that sees it ends with exit code 14, and ctx keeps
both checkpoints as evidence. A service that restored a backup says so in its new log: exit code 15, until you run
--accept-new-log.

The time of a state is the word of the service. A witness whose key ctx knows sets the latest moment at which it was
made: of a past state by the checkpoint of its hour, which the service keeps. A round of a public beacon in the leaf
sets the earliest, where the operator has configured one; ctx verifies the rounds of drand's quicknet offline. Without
either, verify says that no outside time is known.

--corroborate compares the hash of the rows of each source with the states of another service that are up to --within
away, from its log, which is free. Equal rows were told to both. Where they differ, verify reads both states, which are
calls, and says how far apart the figures are; for the other one it needs a profile with its address and a key. Two logs
of one key, or of one operator, corroborate nothing.

--recheck asks the sources themselves, where one has an archive without a key: candles of exchanges and of volatility
indices, rates and yields of a day, releases, papers, stories. It tells them that you ask, with at most 5 requests each.
What they say now may be revised, and is no proof of what they answered the service.

A proof shows that the service said it. It does not show that it is true.`

const verifyExample = `  ctx state --at 20m --bundle said.json && ctx verify said.json
  ctx state -o json > answer.json && ctx verify answer.json
  ctx verify --at "yesterday 14:00"
  ctx verify --since 24h
  ctx verify said.json --corroborate https://other.example --within 5m
  ctx verify said.json --recheck nyfed-rates,cboe-vix
  ctx verify said.json --witness "$KEY" --witnesses 1`

// newVerify makes the command that checks proofs.
func newVerify(f *factory) *cobra.Command {
	o := verifyOptions{streams: f.streams, logs: f.Logs, client: f.Client, elsewhere: f.Elsewhere, transport: f.HTTP}
	c := f.Command(&cobra.Command{
		Use: "verify [FILE]", Short: "Prove what a service said, and that it was not changed",
		SuggestFor: []string{"prove", "proof"},
		Long:       verifyHelp, Example: verifyExample,
	}, cli.FieldsIn(verdict{}), func(ctx context.Context, args []string) (err error) {
		if o.named = o.pack != ""; !o.named {
			if o.pack, err = f.Pack(nil); err != nil {
				return err
			}
		}
		return o.run(ctx, args)
	})
	flags := c.Flags()
	flags.StringVar(&o.at, "at", "", "prove the snapshot of this `time`")
	flags.StringVar(&o.since, "since", "", "prove everything said since this `time`")
	flags.StringVar(&o.key, "key", "", "the verifier `key` that must have signed the log, or for a receipt the address")
	flags.StringSliceVar(&o.witnesses, "witness", nil, "look for the signature of the witness with this verifier `key`, beside "+
		"those of the settings")
	flags.IntVar(&o.need, "witnesses", 0, "require signatures from at least this `many` of them")
	flags.BoolVar(&o.accept, "accept-new-log", false, "accept the current log of the service in place of the remembered one")
	flags.StringVar(&o.with, "corroborate", "", "look for the rows of each source in the log of the service at this `address` too")
	flags.DurationVar(&o.within, "within", 10*time.Minute, "with --corroborate, in its states of up to this `time` before or after")
	flags.StringSliceVar(&o.again, "recheck", nil, "ask the archives of these `sources` for the figures of the state; all for every one")
	c.MarkFlagsMutuallyExclusive("at", "since", "accept-new-log")
	c.MarkFlagsMutuallyExclusive("recheck", "since")
	c.MarkFlagsMutuallyExclusive("recheck", "accept-new-log")
	c.MarkFlagsMutuallyExclusive("corroborate", "since")
	c.MarkFlagsMutuallyExclusive("corroborate", "accept-new-log")
	c.AddCommand(newWitness(f))
	return f.Packed(c, &o.pack, "the `pack`; a bundle has to be of it", 0, 1)
}

func (o verifyOptions) run(ctx context.Context, args []string) error {
	for _, key := range o.witnesses {
		if _, err := sdk.ParseWitnessKey(key); err != nil {
			return cli.Invalid("--witness: %w", err)
		}
	}
	if o.key != "" && !signs(o.key) {
		if _, err := sdk.ParseLogKey(o.key); err != nil {
			return cli.Invalid("--key: %v", err).WithHint("the operator publishes it: NAME+HASH+KEY, as contextd db log key shows it")
		}
	}
	o.witnesses = append(o.witnesses, o.logs.Witnesses()...)
	if o.need > len(o.witnesses) {
		return cli.Invalid("--witnesses is %d, and ctx knows the keys of %d", o.need, len(o.witnesses)).
			WithHint("--witness KEY for each, or ctx config set witnesses KEY,…")
	}
	if o.within <= 0 || o.within > longestWithin {
		return cli.Invalid("--within is %s, not a time up to %s", o.within, longestWithin)
	}
	if len(args) > 0 && (o.at != "" || o.since != "" || o.accept) {
		return cli.Invalid("a FILE excludes --at, --since and --accept-new-log")
	}
	if len(args) == 0 {
		return o.service(ctx)
	}
	in := o.In
	if args[0] != "-" {
		f, err := os.Open(args[0])
		if err != nil {
			return cli.Invalid("%w", err)
		}
		defer f.Close()
		in = f
	}
	const most = 16 << 20
	data, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return cli.Invalid("read: %w", err)
	}
	if sdk.IsBundle(data) {
		return o.bundle(ctx, data)
	}
	if r := readReceipt(data); r != nil && !o.beside() {
		return o.receipt(ctx, *r)
	}
	if rows, ok, err := readSavedRows(data); err != nil || ok {
		if err == nil && o.beside() {
			err = cli.Invalid("--corroborate and --recheck take the answer of a state, a bundle of one, or no file")
		}
		if err == nil {
			err = o.savedRows(ctx, rows)
		}
		return err
	}
	return o.saved(ctx, data)
}

// beside reports whether others than the service are asked too.
func (o verifyOptions) beside() bool { return o.with != "" || len(o.again) > 0 }

// compare asks them for the sources of the state of a leaf. State is that state, nil where it is to be asked for.
func (o verifyOptions) compare(ctx context.Context, p *sdk.Proven, state json.RawMessage, v *verdict) error {
	if err := o.corroborate(ctx, p, state, v); err != nil {
		return err
	}
	return o.recheck(ctx, p, state, v)
}

// service proves what the service says now.
func (o verifyOptions) service(ctx context.Context) error {
	switch {
	case o.accept:
		return o.acceptNew(ctx)
	case o.at != "":
		at, err := human.ParsePoint(o.at, o.Now())
		if err != nil {
			return cli.Invalid("--at: %w", err)
		}
		return o.snapshot(ctx, at)
	}
	return o.history(ctx)
}

// bundle proves a bundle, offline.
func (o verifyOptions) bundle(ctx context.Context, data []byte) error {
	b, p, err := sdk.VerifyBundle(data, o.key, o.witnesses...)
	if err != nil {
		return err
	}
	if o.named && p.Leaf.Pack != o.pack {
		return cli.Invalid("the bundle is of pack %s, not of %s", p.Leaf.Pack, o.pack)
	}
	from := "given"
	if o.key == "" {
		if from, err = o.keyOf(ctx, p); err != nil {
			return err
		}
	}
	v, err := o.verdict(p, from)
	if err != nil {
		return err
	}
	what := "state"
	v.Covered = []string{savedState}
	if b.Brief != "" {
		what = "state and this brief"
		v.Covered = append(v.Covered, savedBrief)
	}
	if b.Check != nil {
		what += ", with what a text was judged against,"
		v.Covered = append(v.Covered, "check")
	}
	v.Says = fmt.Sprintf("The service of the log %s said this %s at %s, and it was not changed "+
		"since.", p.Checkpoint.Origin, what, o.moment(p))
	if b.Brief == "" && p.Leaf.Brief != "" {
		v.Says += notHere
		v.NotCovered = []string{savedBrief}
	}
	if v.Proven = from != "file"; v.Proven {
		if err := o.compare(ctx, p, b.State, &v); err != nil {
			return err
		}
		return o.show(ctx, v, p.Checkpoint)
	}
	v.Says = fmt.Sprintf("State, proof and signature fit together. Only the file says that the key is that of the log %s: who wrote it "+
		"could have made them all.", p.Checkpoint.Origin)
	if err := o.show(ctx, v, p.Checkpoint); err != nil {
		return err
	}
	return (&cli.Failure{Exit: cli.ExitConsistent, Reason: "log_key_unknown",
		Err: fmt.Errorf("not proven: the key of the log %s is not known", p.Checkpoint.Origin)}).
		WithHint("ctx verify FILE --key KEY, as the operator publishes it; or set base_url to the service, which ctx then asks")
}

// keyOf says where the key of a bundle is known from: what is remembered of its log, or what the configured service says, or nowhere.
func (o verifyOptions) keyOf(ctx context.Context, p *sdk.Proven) (string, error) {
	from := "remembered"
	known, err := o.logs.OfOrigin(p.Checkpoint.Origin)
	if err == nil && known == nil {
		from = "first seen"
		known, err = o.logs.Ask(ctx, p.Leaf.Pack, p.Checkpoint.Origin)
	}
	if err != nil || known == nil {
		return "file", err
	}
	if known.Key != p.Checkpoint.Key {
		return "", &sdk.ProofError{Reason: sdk.ProofOtherKey,
			Err: fmt.Errorf("the bundle is signed by the key %s, and the log %s has %s", p.Checkpoint.Key, known.Origin, known.Key)}
	}
	if known.Size == p.Checkpoint.Size && known.Root != p.Checkpoint.Root {
		return "", &sdk.ProofError{Reason: sdk.ProofForked,
			Err: fmt.Errorf("the bundle is of another history of the log %s than ctx has seen", known.Origin)}
	}
	return from, nil
}

func (o verifyOptions) snapshot(ctx context.Context, at time.Time) error {
	state, _, err := snapshot(ctx, o.streams, o.client, o.pack, at)
	if err != nil {
		return err
	}
	p, known, err := o.entry(ctx, func(l *sdk.Log) (*api.LogEntry, error) { return l.At(ctx, at) })
	if err != nil {
		return err
	}
	if err := p.IsOfState(state.State); err != nil {
		return err
	}
	v, err := o.verdict(p, o.from(known))
	if err == nil {
		err = o.outside(ctx, p, &v)
	}
	if err != nil {
		return err
	}
	v.Says = fmt.Sprintf("What the service now says of %s is what it said at %s: it was not changed since.", o.clock(at), o.moment(p))
	if err := o.compare(ctx, p, state.State, &v); err != nil {
		return err
	}
	return o.show(ctx, v, p.Checkpoint)
}

// history proves that nothing was changed or taken back: from what is remembered on, and all leaves since a moment.
func (o verifyOptions) history(ctx context.Context) error {
	p, known, err := o.entry(ctx, func(l *sdk.Log) (*api.LogEntry, error) { return l.Newest(ctx) })
	if err != nil {
		return err
	}
	v, err := o.verdict(p, o.from(known))
	if err != nil {
		return err
	}
	v.GeneratedAt, v.Seq, v.Leaf, v.Code, v.Sources, v.Provenance, v.Tables, v.NotBefore = nil, nil, "", "", 0, "", "", nil
	v.Says = fmt.Sprintf("The log has %d entries. From now on ctx remembers it, and will notice what is changed or taken back.",
		p.Checkpoint.Size)
	if known != nil && known.Origin == p.Checkpoint.Origin {
		v.Before = &known.Size
		v.Says = fmt.Sprintf("Nothing was changed or taken back: all %d entries that ctx knew are where they were, and %d came "+
			"after them.",
			known.Size, p.Checkpoint.Size-known.Size)
	}
	if o.since != "" {
		since, err := human.ParsePoint(o.since, o.Now())
		if err != nil {
			return cli.Invalid("--since: %w", err)
		}
		if err := o.leaves(ctx, p, since, &v); err != nil {
			return err
		}
	}
	if o.beside() {
		if p, _, err = o.entry(ctx, func(l *sdk.Log) (*api.LogEntry, error) { return l.At(ctx, p.Leaf.GeneratedAt) }); err != nil {
			return err
		}
		if err := o.compare(ctx, p, nil, &v); err != nil {
			return err
		}
	}
	return o.show(ctx, v, p.Checkpoint)
}

// leaves reads all leaves since a moment, each of which has to be in the log.
func (o verifyOptions) leaves(ctx context.Context, p *sdk.Proven, since time.Time, v *verdict) error {
	log, err := o.logs.Log(o.pack)
	if err != nil {
		return err
	}
	var first int64 // where it begins if that is after since
	entry, err := log.At(ctx, since)
	if refused, ok := errors.AsType[*api.Error](err); ok && refused.Status == 404 {
		err = nil
	} else if err == nil {
		var from *sdk.Proven
		if from, err = sdk.VerifyEntry(*entry, p.Checkpoint.Key); err == nil {
			first = from.Leaf.Seq
		}
	}
	if err != nil {
		return err
	}
	states, briefs := 0, 0
	last := time.Time{}
	for leaf, err := range log.Leaves(ctx, p.Checkpoint, first, p.Checkpoint.Size) {
		switch {
		case err != nil:
			return err
		case leaf.Kind != api.LeafState:
			briefs++
			continue
		case leaf.GeneratedAt.Before(last):
			return &sdk.ProofError{Reason: sdk.ProofInvalid,
				Err: fmt.Errorf("leaf %d is of %s, before the one before it", leaf.Seq, o.clock(leaf.GeneratedAt))}
		case leaf.GeneratedAt.Before(since) && leaf.Seq > first:
			return &sdk.ProofError{Reason: sdk.ProofInvalid,
				Err: fmt.Errorf("leaf %d is not the newest before %s, as the service says", first, o.clock(since))}
		case !leaf.GeneratedAt.Before(since):
			states++
		}
		last = leaf.GeneratedAt
	}
	v.Since, v.States, v.Briefs = &since, &states, &briefs
	v.Says += fmt.Sprintf(" Since %s it said %s and %s, each of which is in the log.", o.clock(since), human.Plural(states, "state"),
		human.Plural(briefs, "later brief"))
	return nil
}

// acceptNew has the log of the service take the place of the known one.
func (o verifyOptions) acceptNew(ctx context.Context) error {
	p, forgotten, err := o.logs.Accept(ctx, o.pack, func(why error) error {
		if broken, _ := errors.AsType[*sdk.ProofError](why); broken.Reason == sdk.ProofRestored {
			o.Note("%v", why)
			return nil
		}
		o.Note("%v", why)
		return o.Confirm(ctx, "The service does not say that it restored a backup. Forget what ctx knew of its log?")
	})
	if err != nil {
		return err
	}
	if forgotten {
		o.Note("ctx has forgotten the log: what the service says from now on is not proven, until it has one again")
		return nil
	}
	v, err := o.verdict(p, "first seen")
	if err != nil {
		return err
	}
	v.Says = fmt.Sprintf("From now on ctx follows the log %s, which has %d entries.", p.Checkpoint.Origin, p.Checkpoint.Size)
	return o.show(ctx, v, p.Checkpoint)
}

// entry is a leaf of the log of the pack, checked with the keys that were given, and what was known of the log before.
func (o verifyOptions) entry(ctx context.Context, fetch func(*sdk.Log) (*api.LogEntry, error)) (*sdk.Proven, *knownLog, error) {
	p, known, err := o.logs.See(ctx, o.pack, fetch)
	if err != nil {
		return nil, nil, err
	}
	again, err := sdk.VerifyEntry(p.Entry, o.key, o.witnesses...)
	return again, known, err
}

// from says where the key of the log is known from.
func (o verifyOptions) from(known *knownLog) string {
	switch {
	case o.key != "":
		return "given"
	case known != nil:
		return "remembered"
	}
	return "first seen"
}

func (o verifyOptions) verdict(p *sdk.Proven, from string) (verdict, error) {
	c := p.Checkpoint
	notBefore, err := roundOf(p.Leaf)
	return verdict{Proven: true, Pack: p.Leaf.Pack, GeneratedAt: &p.Leaf.GeneratedAt, Log: c.Origin, Seq: &p.Leaf.Seq, Leaf: p.Hash,
		Size: c.Size, Root: c.Root, Key: c.Key, KeyFrom: from, Code: p.Leaf.Code, Sources: len(p.Leaf.Sources),
		Provenance: provenanceOf(p.Leaf), Tables: p.Leaf.Tables, NotBefore: notBefore, ExistedBy: earliestOf(c.Witnesses),
		Witnesses: append([]sdk.Cosignature{}, c.Witnesses...), Unknown: c.Unknown}, err
}

// round is what a leaf has that nobody could know before.
type round struct {
	api.LogNotBefore
	By string     `json:"by,omitempty"` // whose word it is, "" where ctx does not know who that is
	At *time.Time `json:"at,omitempty"` // when it was published
}

// roundOf is that of a leaf, nil for none. One that a known network has not signed is an error.
func roundOf(leaf api.LogLeaf) (*round, error) {
	if leaf.NotBefore == nil {
		return nil, nil
	}
	said := &round{LogNotBefore: *leaf.NotBefore}
	r, err := beacon.Parse(*leaf.NotBefore)
	if err != nil {
		return said, nil
	}
	network, at, err := r.Verify()
	switch {
	case errors.Is(err, beacon.ErrUnknown):
		return said, nil
	case err != nil:
		return nil, &sdk.ProofError{Reason: sdk.ProofInvalid, Err: fmt.Errorf("the leaf %d has round %d of drand %s, and %w", leaf.Seq,
			r.Number, network.Name, err)}
	}
	said.By, said.At = fmt.Sprintf("round %d of drand %s", r.Number, network.Name), &at
	return said, nil
}

// selfAttested is the provenance of what nobody but the operator has the bytes of.
const selfAttested = "self_attested"

func provenanceOf(leaf api.LogLeaf) string {
	if len(leaf.Sources) == 0 {
		return ""
	}
	return selfAttested
}

// earliestOf is the first of the statements of witnesses, nil where there is none.
func earliestOf(list []sdk.Cosignature) (first *sdk.Cosignature) {
	for _, c := range list {
		if first == nil || c.At.Before(first.At) {
			first = &c
		}
	}
	return first
}

// outside looks for the earliest statement of witnesses on the leaf, among what the service kept.
func (o verifyOptions) outside(ctx context.Context, p *sdk.Proven, v *verdict) error {
	if len(o.witnesses) == 0 {
		return nil
	}
	log, err := o.logs.Log(p.Leaf.Pack)
	if err != nil {
		return err
	}
	entry, err := log.Anchor(ctx, p.Leaf.Seq)
	if notFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	kept, err := sdk.VerifyEntry(*entry, p.Checkpoint.Key, o.witnesses...)
	if err != nil {
		return err
	}
	root := kept.Checkpoint.Root
	if kept.Checkpoint.Size <= p.Checkpoint.Size {
		if root, err = log.RootAt(ctx, p.Checkpoint, kept.Checkpoint.Size); err != nil {
			return err
		}
	}
	if kept.Hash != p.Hash || root != kept.Checkpoint.Root {
		return &sdk.ProofError{Reason: sdk.ProofForked, Known: kept.Checkpoint, Now: p.Checkpoint,
			Err: fmt.Errorf("the checkpoint that was kept of leaf %d is of another history of the log", p.Leaf.Seq)}
	}
	v.ExistedBy = earliestOf(append(kept.Checkpoint.Witnesses, v.Witnesses...))
	return nil
}

// times says between which moments it was made, and by whose word.
func (o verifyOptions) times(v verdict) string {
	w, after := v.ExistedBy, v.NotBefore
	if after != nil && after.At == nil {
		after = nil
	}
	const wrong = ", and that is %s the time that the service gives: one of their clocks is wrong."
	switch {
	case v.GeneratedAt == nil && w != nil:
		return fmt.Sprintf(" All of it existed by %s, says the witness %s.", o.clock(w.At), w.Name)
	case w == nil && after == nil:
		return " No outside time is known: when it was made is the word of the service alone."
	case after != nil && after.At.After(*v.GeneratedAt):
		return fmt.Sprintf(" It was not made before %s, says %s"+wrong, o.clock(*after.At), after.By, "after")
	case w == nil:
		return fmt.Sprintf(" It was not made before %s, says %s; that it was made by %s is the word of the service alone.",
			o.clock(*after.At), after.By, o.clock(*v.GeneratedAt))
	case w.At.Before(v.GeneratedAt.Truncate(time.Second)): // witnesses sign whole seconds
		return fmt.Sprintf(" It existed by %s, says the witness %s"+wrong, o.clock(w.At), w.Name, "before")
	case after == nil:
		return fmt.Sprintf(" It existed by %s, says the witness %s; that it was not made before %s is the word of the service alone.",
			o.clock(w.At), w.Name, o.clock(*v.GeneratedAt))
	}
	return fmt.Sprintf(" It was made between %s, says %s, and %s, says the witness %s.", o.clock(*after.At), after.By, o.clock(w.At),
		w.Name)
}

// show shows what was found, unless too few witnesses signed.
func (o verifyOptions) show(ctx context.Context, v verdict, c *sdk.Checkpoint) error {
	if err := c.NeedWitnesses(o.need); err != nil {
		return err
	}
	first := "Consistent."
	v.Says += o.times(v)
	if v.Corroborated != nil {
		v.Says += v.Corroborated.says(o.clock(v.Corroborated.made))
	}
	if v.Rechecked != nil {
		v.Says += v.Rechecked.says(o.clock(v.Rechecked.made))
	}
	if v.Proven {
		first = "Proven."
		v.Says += " That it is true is not proven."
	}
	doc, err := cli.Marshal(v)
	if err != nil {
		return err
	}
	var rows [][2]string
	add := func(name, text string) { rows = append(rows, [2]string{name, human.Line(text)}) }
	if v.Seq != nil {
		add("leaf", fmt.Sprintf("%d of %d, %s", *v.Seq, v.Size, v.Leaf))
	} else {
		add("size", strconv.FormatInt(v.Size, 10))
	}
	if v.Code != "" {
		by := v.Code
		if v.Sources > 0 {
			by += ", of " + human.Plural(v.Sources, "source")
		}
		add("made by", by)
	}
	if v.Provenance != "" {
		add("sources", v.Provenance+": the operator says that it fetched them, and nobody else has the bytes")
	}
	switch {
	case v.Tables != "":
		add("rows", "covered, also those that the state does not show")
	case v.Seq != nil:
		add("rows", "not covered, but for those in the state: the leaf is of a brief or of an earlier version")
	}
	switch {
	case v.NotBefore == nil:
	case v.NotBefore.At != nil:
		add("beacon", v.NotBefore.By+", at "+o.clock(*v.NotBefore.At))
	default:
		add("beacon", "a value of "+v.NotBefore.Kind+" that this ctx cannot date")
	}
	if v.Corroborated != nil {
		v.Corroborated.rows(add)
	}
	if v.Rechecked != nil {
		v.Rechecked.rows(add)
	}
	add("log", v.Log)
	add("key", v.Key+" ("+v.KeyFrom+")")
	for _, w := range v.Witnesses {
		add("witness", w.Name+", at "+o.clock(w.At))
	}
	if v.Unknown > 0 {
		add("witnesses", fmt.Sprintf("%s by keys that were not given", human.Plural(v.Unknown, "signature")))
	}
	return o.Print(ctx, cli.Answer{JSON: doc, Piped: cli.Text, Text: func(w io.Writer, _ int, style cli.Style) error {
		if _, err := fmt.Fprintf(w, "%s %s\n", style.Bold(first), human.Line(v.Says)); err != nil {
			return err
		}
		for _, row := range rows {
			if _, err := fmt.Fprintf(w, "  %-9s %s\n", row[0], row[1]); err != nil {
				return err
			}
		}
		return nil
	}})
}

// moment is when what p proves was said.
func (o verifyOptions) moment(p *sdk.Proven) string { return o.clock(p.Leaf.GeneratedAt) }

// clock is a moment for people.
func (o verifyOptions) clock(at time.Time) string {
	return at.In(o.Now().Location()).Format("2006-01-02 15:04:05 MST")
}
