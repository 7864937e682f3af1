package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// rechecked is what the archives of sources say of the figures of a state.
type rechecked struct {
	Of       int64       `json:"of"` // leaf of the state
	At       time.Time   `json:"at"` // when they were asked
	Answered int         `json:"answered"`
	Same     int         `json:"same"` // of these
	Sources  []recollect `json:"sources"`
	made     time.Time
}

// recollect is what the archive of a source says.
type recollect struct {
	ID       string     `json:"id"`
	Archive  string     `json:"archive,omitempty"` // host; "" for a source without one
	Figures  int        `json:"figures"`           // of the state that an archive of it may tell
	Answered int        `json:"answered"`
	Same     int        `json:"same"`
	Others   []recalled `json:"others,omitempty"` // that are not the same
	Via      string     `json:"via,omitempty"`    // who answered in its place
	Why      []string   `json:"why,omitempty"`    // figures were not told
}

// recalled is a figure that the archive tells otherwise.
type recalled struct {
	Path string `json:"path"`
	Row  string `json:"row"`
	Here string `json:"here"`
	Now  string `json:"now"`
}

const (
	everySource   = "all"
	mostQuestions = 5 // for a source: it is asked as a courtesy
)

// recheck asks the archives of sources for the figures of the state of a leaf. State is that state, nil where it is to be asked for.
func (o verifyOptions) recheck(ctx context.Context, p *sdk.Proven, state json.RawMessage, v *verdict) error {
	if len(o.again) == 0 {
		return nil
	}
	if p.Leaf.Kind != api.LeafState || len(p.Leaf.Sources) == 0 {
		return cli.Invalid("leaf %d names no sources, so that none can be asked again", p.Leaf.Seq).
			WithHint("verify the answer of a state, as ctx state gives it")
	}
	if strings.HasPrefix(p.Checkpoint.Origin, demoOrigin) {
		return cli.Invalid("the log %s is that of a demo, whose market is synthetic: no archive has it", p.Checkpoint.Origin)
	}
	var sources []api.LogSource
	for _, id := range o.again {
		if id == everySource {
			sources = p.Leaf.Sources
			break
		}
		i := slices.IndexFunc(p.Leaf.Sources, func(s api.LogSource) bool { return s.ID == id })
		if i < 0 {
			return cli.Invalid("--recheck: the state has no source %q", id).WithHint("ctx packs %s", p.Leaf.Pack)
		}
		sources = append(sources, p.Leaf.Sources[i])
	}
	state, err := o.stateOf(ctx, p, state)
	if err != nil {
		return err
	}
	r := &rechecked{Of: p.Leaf.Seq, At: o.Now().UTC(), made: p.Leaf.GeneratedAt, Sources: []recollect{}}
	for _, s := range sources {
		a := archives()[s.ID]
		list, err := a.figures(state, s.ID)
		if err != nil {
			return err
		}
		c := recollect{ID: s.ID, Figures: len(list), Via: s.Via}
		if len(list) > 0 {
			c.ask(ctx, o.archives(), a.ask(list, s.FetchedAt, o.Now()))
		}
		r.Answered, r.Same, r.Sources = r.Answered+c.Answered, r.Same+c.Same, append(r.Sources, c)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	v.Rechecked = r
	return nil
}

// stateOf is the state of a leaf, asked for where it is not at hand.
func (o verifyOptions) stateOf(ctx context.Context, p *sdk.Proven, state json.RawMessage) (json.RawMessage, error) {
	if state != nil {
		return state, nil
	}
	said, _, err := snapshot(ctx, o.streams, o.client, p.Leaf.Pack, p.Leaf.GeneratedAt)
	if err != nil {
		return nil, err
	}
	return said.State, p.IsOfState(said.State)
}

// archives is what archives are asked with.
func (o verifyOptions) archives() *http.Client {
	const patience = time.Minute // a year of yields takes 20 s
	via := o.Archives
	if via == nil {
		via = o.transport()
	}
	return &http.Client{Transport: via, Timeout: patience}
}

// dayOrMonth is what a figure may be about.
var dayOrMonth = regexp.MustCompile(`^\d{4}-\d\d(-\d\d)?$`)

// figures are those of a source in a state that the archive may tell.
func (a archive) figures(state json.RawMessage, id string) (list []figure, err error) {
	root, err := jsonx.Parse(state)
	if err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	var ref string
	var visit func(v *jsonx.Value, row string)
	visit = func(v *jsonx.Value, row string) {
		if id := v.Member("id"); v.IsObject() && id != nil && id.IsString() {
			row = id.Text()
		}
		if r := v.Member("ref"); v.IsObject() && r != nil && string(r.Raw) == ref {
			list = append(list, a.of(v, row)...)
		}
		for _, m := range v.Members {
			visit(m, row)
		}
	}
	status := root.Find("source_status")
	if status == nil {
		return nil, nil
	}
	for _, s := range status.Members {
		if is, r := s.Member("id"), s.Member("ref"); is != nil && r != nil && is.Text() == id {
			ref = string(r.Raw)
		}
	}
	for _, m := range root.Members {
		if m != status && m.Name != "flags" {
			visit(m, "")
		}
	}
	return list, nil
}

// of are the figures of a row.
func (a archive) of(v *jsonx.Value, row string) (list []figure) {
	of := ""
	if day := v.Member("of"); day != nil {
		of = day.Text()
	}
	for _, m := range v.Members {
		round, ok := a.members[m.Name]
		if !ok || row == "" || a.dated && !dayOrMonth.MatchString(of) {
			continue
		}
		f := figure{path: v.Path(), row: row, member: m.Name, of: of, round: round, text: m.Text()}
		if round != nil && json.Unmarshal(m.Raw, &f.number) != nil {
			continue
		}
		list = append(list, f)
	}
	return list
}

// ask asks questions, and takes what is told.
func (c *recollect) ask(ctx context.Context, client *http.Client, list []question) {
	asked := 0
	for i, q := range list {
		if i == mostQuestions {
			break
		}
		asked += len(q.figures)
		u, err := url.Parse(q.url)
		if err != nil {
			c.not(err)
			continue
		}
		c.Archive = u.Hostname()
		answer, err := fetchArchive(ctx, client, q)
		if err != nil {
			c.not(err)
			refused, ok := errors.AsType[archiveStatus](err)
			if !ok || refused == http.StatusTooManyRequests || refused == http.StatusForbidden {
				return // the next would be no better
			}
			continue
		}
		for _, f := range q.figures {
			t, err := q.read(answer, f)
			if err != nil {
				c.not(err)
				continue
			}
			c.take(f, t)
		}
	}
	if left := c.Figures - asked; left > 0 {
		c.not(fmt.Errorf("%s not asked for", human.Plural(left, "figure")))
	}
}

func (c *recollect) not(err error) {
	if why := human.Label(err.Error(), 200); !slices.Contains(c.Why, why) {
		c.Why = append(c.Why, why)
	}
}

// take compares a figure with what the archive tells, rounded as the state rounds it.
func (c *recollect) take(f figure, t recall) {
	c.Answered++
	said, tells, same := f.text, t.text, false
	if f.round != nil {
		t.low, t.high = f.round(t.low), f.round(t.high)
		said, tells = amount(f.number), amount(t.low)
		if t.low != t.high {
			tells += " to " + amount(t.high)
		}
		same = t.low <= f.number && f.number <= t.high
	} else {
		const longest = 160 // of a name in a state
		tells = human.Label(tells, longest)
		same = said == tells
	}
	if same {
		c.Same++
		return
	}
	c.Others = append(c.Others, recalled{Path: f.path + "." + f.member, Row: f.row, Here: said, Now: tells})
}

func amount(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// archiveStatus is an answer without what was asked for.
type archiveStatus int

func (s archiveStatus) Error() string { return fmt.Sprintf("it answers HTTP %d", int(s)) }

func fetchArchive(ctx context.Context, client *http.Client, q question) ([]byte, error) {
	method := http.MethodGet
	if q.body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, q.url, strings.NewReader(q.body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", userAgent())
	if q.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, archiveStatus(resp.StatusCode)
	}
	const most = 16 << 20
	answer, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && len(answer) > most {
		err = errors.New("its answer is too long")
	}
	return bytes.TrimPrefix(answer, []byte("\xef\xbb\xbf")), err
}

// says is the sentence for people.
func (r *rechecked) says(made string) string {
	return fmt.Sprintf(" Of the state of %s, the archives of its sources tell %s, and %d of them the same. That is their word of now, "+
		"which they may have revised; it does not show what they answered the service.", made, human.Plural(r.Answered, "figure"), r.Same)
}

// rows are the lines below the sentence.
func (r *rechecked) rows(add func(name, text string)) {
	var none []string
	for _, s := range r.Sources {
		if s.Archive == "" {
			none = append(none, s.ID)
			continue
		}
		text := fmt.Sprintf("%s, by %s: %d of %d the same", s.ID, s.Archive, s.Same, s.Answered)
		if s.Via != "" {
			text += "; " + s.Via + " answered in its place"
		}
		if len(s.Why) > 0 {
			text += "; " + strings.Join(s.Why, ", ")
		}
		add("asked", text)
		for _, o := range s.Others {
			add("", fmt.Sprintf("%s of %s is %s, and the archive has %s", o.Path, o.Row, o.Here, o.Now))
		}
	}
	if len(none) > 0 {
		add("not asked", "no archive, or no figure of it in the state: "+strings.Join(none, ", "))
	}
}
