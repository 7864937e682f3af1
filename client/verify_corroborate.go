package client

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/diff"
)

// elsewhere is what ctx knows of another service than the configured one.
type elsewhere struct {
	address string
	logs    *logs
	client  *sdk.Client // with the key of the profile of the address, nil without such a profile
	why     string      // its key cannot be used
}

// Elsewhere is the service at an address. No setting of the configured service goes there: a key is sent only if a profile has both.
func (f *factory) Elsewhere(address string) (*elsewhere, error) {
	u, err := api.ParseBaseURL(address)
	if err != nil {
		return nil, cli.Invalid("--corroborate: %w", err)
	}
	address = strings.TrimRight(u.String(), "/")
	c, err := f.Config()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(c.Profiles, func(name string) bool { return strings.TrimRight(c.ProfileURL(name), "/") == address })
	s, profile := f.System, ""
	if i >= 0 {
		profile = c.Profiles[i]
	}
	s.LookupEnv = func(name string) (string, bool) {
		switch name {
		case sdk.EnvBaseURL:
			return address, i < 0
		case sdk.EnvAPIKey, "CTX_API_KEY_FILE", "CTX_PROFILE", "CTX_PAY", "CTX_SESSION":
			return "", false
		}
		return f.LookupEnv(name)
	}
	flags := &globalFlags{ConfigFile: f.Flags.ConfigFile, Quiet: f.Flags.Quiet, Debug: f.Flags.Debug, NoInput: true}
	other := newFactoryFor(s, flags, profile)
	e := &elsewhere{address: address, logs: other.Logs}
	if i < 0 {
		return e, nil
	}
	key, _, err := other.Key()
	switch {
	case err != nil: // the log can be read without
		e.why = err.Error()
	case !key.IsZero():
		e.client, err = other.KeyedClient(key)
		return e, err
	}
	return e, nil
}

// corroboration is what the log of another service says of the sources of a state.
type corroboration struct {
	Of       int64         `json:"of"` // leaf of the state
	URL      string        `json:"url"`
	Log      string        `json:"log"`
	Key      string        `json:"key"`
	Within   string        `json:"within"`
	Leaves   int           `json:"leaves"` // of the other log, that were looked at
	Equal    int           `json:"equal"`  // sources whose rows it has too
	SamePack bool          `json:"samePack"`
	Sources  []beside      `json:"sources"`
	state    *api.LogLeaf  // the leaf of the other state that figures are compared with
	figures  bool          // they were
	why      string        // they were not, where a hash differs
	within   time.Duration // as Within
	made     time.Time     // when the state was made
}

// How a source stands in the other log.
const (
	besideEqual   = "equal"   // a leaf has the same rows
	besideDiffers = "differs" // each leaf has others
	besideAbsent  = "absent"  // no leaf has the source
	besideNoHash  = "unknown" // the leaf is from before hashes of rows were told
)

// beside is a source of a state beside the same source in another log.
type beside struct {
	ID        string     `json:"id"`
	Stands    string     `json:"stands"`
	FetchedAt time.Time  `json:"fetchedAt"`
	There     *time.Time `json:"there,omitempty"` // fetchedAt in the leaf there that is equal, or nearest
	Leaf      *int64     `json:"leaf,omitempty"`  // that one
	Figures   *apart     `json:"figures,omitempty"`
}

// apart is how far the figures of a source differ in two states.
type apart struct {
	Differ  int     `json:"differ"`         // figures in both states that are not equal
	Other   int     `json:"other"`          // further values that are not, or that only the state there has
	Percent float64 `json:"percent"`        // between the two that are farthest apart, of the larger one
	Path    string  `json:"path,omitempty"` // of these in the state there
	Row     string  `json:"row,omitempty"`
	Here    float64 `json:"here"`
	There   float64 `json:"there"`
}

const longestWithin = 24 * time.Hour

// corroborate looks for the sources of the state of a leaf in the log of another service. State is that state, nil where it is to be asked
// for.
func (o verifyOptions) corroborate(ctx context.Context, p *sdk.Proven, state json.RawMessage, v *verdict) error {
	if o.with == "" {
		return nil
	}
	if p.Leaf.Kind != api.LeafState || len(p.Leaf.Sources) == 0 {
		return cli.Invalid("leaf %d names no sources, so that no log can corroborate it", p.Leaf.Seq).
			WithHint("verify the answer of a state, as ctx state gives it")
	}
	other, err := o.elsewhere(o.with)
	if err != nil {
		return err
	}
	made := p.Leaf.GeneratedAt
	newest, _, err := other.logs.See(ctx, p.Leaf.Pack, func(l *sdk.Log) (*api.LogEntry, error) { return l.At(ctx, made.Add(o.within)) })
	if notFound(err) {
		return o.nothingThere(p, other.address)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", other.address, err)
	}
	if publicKey(newest.Checkpoint.Key) == publicKey(p.Checkpoint.Key) {
		return cli.Invalid("%s has the same key as the log %s: one operator cannot corroborate what it said", other.address,
			p.Checkpoint.Origin).WithHint("name a service that somebody else runs")
	}
	c := &corroboration{URL: other.address, Log: newest.Checkpoint.Origin, Key: newest.Checkpoint.Key, Within: o.within.String(),
		Of: p.Leaf.Seq, made: made, within: o.within, Sources: []beside{}}
	if err := c.read(ctx, other, newest, p.Leaf); err != nil {
		return err
	}
	if c.state == nil {
		return o.nothingThere(p, other.address)
	}
	c.SamePack = c.state.Digest == p.Leaf.Digest
	if slices.ContainsFunc(c.Sources, func(s beside) bool { return s.Stands == besideDiffers }) {
		if err := o.compareFigures(ctx, c, p, state, other); err != nil {
			return err
		}
	}
	v.Corroborated = c
	return nil
}

func (o verifyOptions) nothingThere(p *sdk.Proven, address string) error {
	return (&cli.Failure{Exit: cli.ExitNotFound, Reason: "nothing_there", Err: fmt.Errorf("the log of %s has no state within %s of %s",
		address, o.within, o.moment(p))}).WithHint("--within takes up to %s", longestWithin)
}

// publicKey is that of a verifier key, without the name, which differs from log to log.
func publicKey(key string) string {
	parts := strings.SplitN(key, "+", 3) // name, hash of both, and the key, which may have + too
	return parts[len(parts)-1]
}

// read looks for the sources of a leaf in the leaves of the other log that are near it, up to newest.
func (c *corroboration) read(ctx context.Context, other *elsewhere, newest *sdk.Proven, leaf api.LogLeaf) error {
	log, err := other.logs.Log(leaf.Pack)
	if err != nil {
		return err
	}
	first := int64(0)
	entry, err := log.At(ctx, leaf.GeneratedAt.Add(-c.within))
	switch {
	case err == nil:
		oldest, err := sdk.VerifyEntry(*entry, newest.Checkpoint.Key)
		if err != nil {
			return err
		}
		first = oldest.Leaf.Seq
	case !notFound(err):
		return err
	}
	for _, s := range leaf.Sources {
		stands := besideAbsent
		if s.RowsHash() == "" {
			stands = besideNoHash
		}
		c.Sources = append(c.Sources, beside{ID: s.ID, Stands: stands, FetchedAt: s.FetchedAt})
	}
	apart := func(l api.LogLeaf) time.Duration { return l.GeneratedAt.Sub(leaf.GeneratedAt).Abs() }
	for l, err := range log.Leaves(ctx, newest.Checkpoint, first, newest.Leaf.Seq+1) {
		if err != nil {
			return err
		}
		if l.Kind != api.LeafState || apart(l) > c.within {
			continue
		}
		c.Leaves++
		if c.state == nil || apart(l) < apart(*c.state) {
			c.state = &l
		}
		for i, s := range leaf.Sources {
			c.Sources[i].meet(s, l)
		}
	}
	for _, s := range c.Sources {
		if s.Stands == besideEqual {
			c.Equal++
		}
	}
	return nil
}

// meet takes what a leaf of the other log says of the source s: the same rows, or else the rows that were fetched nearest to those of s.
func (b *beside) meet(s api.LogSource, l api.LogLeaf) {
	i := slices.IndexFunc(l.Sources, func(there api.LogSource) bool { return there.ID == s.ID })
	if i < 0 || b.Stands == besideNoHash || b.Stands == besideEqual {
		return
	}
	there := l.Sources[i]
	equal := there.RowsHash() == s.RowsHash()
	if nearer := b.There == nil || there.FetchedAt.Sub(s.FetchedAt).Abs() < b.There.Sub(s.FetchedAt).Abs(); equal || nearer {
		b.There, b.Leaf = &there.FetchedAt, &l.Seq
	}
	b.Stands = besideDiffers
	if equal {
		b.Stands = besideEqual
	}
}

// compareFigures reads both states and tells for each source whose rows are not equal how far apart its figures are.
func (o verifyOptions) compareFigures(ctx context.Context, c *corroboration, p *sdk.Proven, here json.RawMessage, other *elsewhere) error {
	if c.why = other.why; c.why != "" {
		return nil
	}
	if other.client == nil {
		c.why = "no profile has the address and a key, so that the state there was not read: ctx config profile add NAME --base-url " +
			other.address + " --api-key-file FILE"
		return nil
	}
	said, err := other.client.Snapshot(ctx, p.Leaf.Pack, c.state.GeneratedAt)
	if err != nil {
		return fmt.Errorf("%s: %w", other.address, err)
	}
	there, err := other.logs.prove(ctx, p.Leaf.Pack, c.state.Seq, said.State)
	if err != nil {
		return fmt.Errorf("%s: %w", other.address, err)
	}
	c.state = &there.Leaf
	if here, err = o.stateOf(ctx, p, here); err != nil {
		return err
	}
	figures, err := figuresApart(here, said.State)
	if err != nil {
		return err
	}
	c.figures = true
	for i, s := range c.Sources {
		if s.Stands == besideDiffers {
			c.Sources[i].Figures = figures[s.ID]
		}
	}
	return nil
}

// prove checks that a state is that of a leaf of the log.
func (l *logs) prove(ctx context.Context, pack string, seq int64, state []byte) (*sdk.Proven, error) {
	p, _, err := l.See(ctx, pack, func(log *sdk.Log) (*api.LogEntry, error) { return log.Leaf(ctx, seq) })
	if err == nil {
		err = p.IsOfState(state)
	}
	return p, err
}

// figuresApart tells of each source by how much its figures differ in two states; none of one whose figures are equal, or are not shown.
func figuresApart(here, there json.RawMessage) (map[string]*apart, error) {
	changes, err := diff.States(here, there)
	if err != nil {
		return nil, err
	}
	var shown struct {
		Status []struct {
			Ref int
			ID  string
		} `json:"source_status"`
	}
	if err := json.Unmarshal(there, &shown); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	ids, told := map[int]string{}, map[string]*apart{}
	for _, s := range shown.Status {
		ids[s.Ref] = s.ID
		told[s.ID] = &apart{}
	}
	for _, change := range changes {
		of := told[ids[change.Ref]]
		if of == nil || strings.HasPrefix(change.Path, "source_status") {
			continue
		}
		a, errA := strconv.ParseFloat(string(change.Old), 64)
		b, errB := strconv.ParseFloat(string(change.New), 64)
		if errA != nil || errB != nil {
			of.Other++
			continue
		}
		of.Differ++
		if percent := 100 * math.Abs(a-b) / max(math.Abs(a), math.Abs(b)); percent > of.Percent {
			of.Percent, of.Path, of.Row, of.Here, of.There = percent, change.Path, change.Row, a, b
		}
	}
	return told, nil
}

// says is the sentence for people.
func (c *corroboration) says(made string) string {
	text := fmt.Sprintf(" Of the state of %s, the log %s has the same rows of %d of %d sources within %s; whether somebody else runs it, "+
		"and asks the sources itself, is yours to know.", made, c.Log, c.Equal, len(c.Sources), c.Within)
	if !c.SamePack {
		text += " It is of another pack, or of another version of it."
	}
	return text
}

// rows are the lines below the sentence.
func (c *corroboration) rows(add func(name, text string)) {
	add("beside", c.URL+", "+c.Key)
	by := map[string][]string{}
	for _, s := range c.Sources {
		by[s.Stands] = append(by[s.Stands], s.ID)
	}
	for _, stands := range []string{besideEqual, besideAbsent, besideNoHash} {
		if len(by[stands]) > 0 {
			add(stands, strings.Join(by[stands], ", "))
		}
	}
	for _, s := range c.Sources {
		if s.Stands == besideDiffers {
			add(besideDiffers, s.ID+s.figures(c.figures))
		}
	}
	if c.why != "" {
		add("figures", "not compared: "+c.why)
	}
}

// figures tells how far apart the figures of a source are, "" where that was not asked.
func (b *beside) figures(compared bool) string {
	const shown = 0.005
	f, when := b.Figures, b.There.Sub(b.FetchedAt).Abs().Round(time.Second)
	text := fmt.Sprintf(", fetched %s apart", when)
	switch {
	case !compared:
		return text
	case f == nil || f.Differ+f.Other == 0:
		return text + ": what the states show of it is equal"
	case f.Differ == 0:
		return text + fmt.Sprintf(": %s other than figures", human.Plural(f.Other, "value"))
	}
	percent := "less than 0.01"
	if f.Percent >= shown {
		percent = strconv.FormatFloat(f.Percent, 'f', 2, 64)
	}
	at := f.Path
	if f.Row != "" {
		at += " of " + f.Row
	}
	text += fmt.Sprintf(": %s %% apart at most, %s and %s, at %s; %s in all", percent, strconv.FormatFloat(f.Here, 'f', -1, 64),
		strconv.FormatFloat(f.There, 'f', -1, 64), at, human.Plural(f.Differ, "figure"))
	if f.Other > 0 {
		text += fmt.Sprintf(" and %s", human.Plural(f.Other, "other value"))
	}
	return text
}
