// Package manifest makes packs of manifests: YAML that names sources, maps their answers to rows with jq, and says which rows a state
// shows, what raises a flag and what a brief tells.
//
// # From text to answers
//
// Take a manifest with a source whose rows are '.items[] | {key: .name, load: .cpu}' with the field load: percent, a member busiest that
// selects 'sort_by(-.load)[:3]', and a flag when '.load > 90'.
//
//  1. Read refuses what is misspelled, out of bounds or does not compile, with its line.
//  2. When an answer comes, an Evaluator decodes it and runs rows: {"key":"db-1","load":"97.31"}. It runs in this process for manifests
//     that are part of the program. Those of others run in a child, which has no more than MaxMemory and EvaluateWithin: a jq program of
//     a few letters can ask for gigabytes.
//  3. Each row is cleaned here: 97.31 is taken as a number, rounded as its type says and called loadPct. What does not fit is left out.
//  4. The Evaluator runs selections and conditions on the cleaned rows. busiest is [db-1 …], the flag marks db-1.
//  5. Rows, selections and marks are the source's document. It is stored, and the pack (pack.Tabular) is compacted of it without jq.
package manifest

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/setting"
	"github.com/contextd/contextd/sdk/api"
)

// Manifest is what a manifest says. The tags are those of internal/setting.
type Manifest struct {
	Pack        string   `key:"pack,required" doc:"id: lower-case letters, digits and -, from 2 to 32"`
	Version     int      `key:"version,required" doc:"of the order of sources; another order needs the next one"`
	Title       string   `key:"title,required" doc:"what the pack is called"`
	Description string   `key:"description" doc:"what it tells, in a line"`
	Limits      Limits   `key:"limits" doc:"bounds of a state"`
	Kinds       []Kind   `key:"kinds" doc:"what asks for rows of a kind"`
	Sources     []Source `key:"sources,required" doc:"where data comes from; [N] is the place in this list"`
	Members     []Member `key:"members,required" doc:"lists in the state, in this order"`
	Flags       []Flag   `key:"flags" doc:"what is out of the ordinary"`
	Brief       []Say    `key:"brief" doc:"sentences of the brief; refs are added"`

	lines  map[string]int // of what was read, by its path
	digest string         // of the text

	warnings []string

	shipped bool // it is part of the program
	// replaces says that it is served in place of a pack of the program.
	replaces bool
	dir      string // of its key files
}

// Limits bound a state.
type Limits struct {
	StateBytes int `key:"state_bytes" doc:"of a state as JSON, at most 24576, which is the default"`
	Rows       int `key:"rows" doc:"kept of a source, at most 200, which is the default"`
}

// Kind says how rows of one kind are asked for.
type Kind struct {
	Name   string   `key:",name"`
	Words  []string `key:"words" doc:"that ask for rows of the kind; its name does, too"`
	Own    bool     `key:"own" doc:"a row answers only where its kind is asked for, as a headline does"`
	Order  string   `key:"order" doc:"the number by which the larger of two rows wins"`
	Orders []Order  `key:"orders" doc:"words that ask for rows in an order"`
}

// Order is how rows stand where one of the words asks for them.
type Order struct {
	Words []string `key:"words,required" doc:"such as highest funding"`
	Field string   `key:"field,required" doc:"a number"`
	Least bool     `key:"least" doc:"the least comes first"`
}

// Source is one source.
type Source struct {
	ID         string        `key:"id,required" doc:"lower-case letters, digits and -"`
	Name       string        `key:"name,required" doc:"what people call it"`
	PublicURL  string        `key:"public_url,required" doc:"a page where people can look"`
	Licence    string        `key:"licence,required" doc:"the terms under which its data may be used"`
	Use        Use           `key:"use" doc:"what these terms allow, and ask"`
	Request    Request       `key:"request,required" doc:"how it is asked"`
	Fallbacks  []Fallback    `key:"fallbacks" doc:"who is asked where it fails, at most 2"`
	Every      time.Duration `key:"every" doc:"from one answer to the next; less than 5m, the default, is taken as that"`
	StaleAfter time.Duration `key:"stale_after" doc:"the age from which on its data is old, at least every; three times every is the default"`
	PerMinute  int           `key:"per_minute" doc:"requests to its host, at most 120; 30 is the default"`
	Format     string        `key:"format" enum:"json,ndjson,csv,rss,atom,xml,text" doc:"how an answer is written; json is the default."`
	CSV        CSV           `key:"csv" doc:"how CSV is written"`
	Expect     string        `key:"expect" doc:"jq: true for an answer that may be used; else the old rows stay"`
	Rows       string        `key:"rows,required" doc:"jq: objects with key, fields, perhaps name, symbol, entity, group, url, of, aliases"`
	Kind       string        `key:"kind,required" doc:"of the rows"`
	Link       string        `key:"link" doc:"a row's page, with {key}"`
	Time       string        `key:"time" doc:"the field that says when a row came, for rows that are news"`
	Quiet      bool          `key:"quiet" doc:"an answer without rows says that nothing is new, and the old rows stay"`
	Fields     []Field       `key:"fields,required" doc:"in the order of importance"`
}

// Fallback is who is asked in place of a source that fails. Its rows are made as those of the source.
type Fallback struct {
	Name    string  `key:"name,required" doc:"what people call it"`
	Use     Use     `key:"use" doc:"what its terms allow, and ask"`
	Request Request `key:"request,required" doc:"how it is asked"`
	Format  string  `key:"format" enum:"json,ndjson,csv,rss,atom,xml,text" doc:"how an answer is written; json is the default."`
	As      string  `key:"as" doc:"jq: what the source itself would answer; the answer as it is by default"`
	Compare string  `key:"compare" doc:"a number: rows that are further from before than within are left out"`
	Within  float64 `key:"within" doc:"percent of the number before; 10 is the default"`
}

// Use is what terms allow: yes, no, ask (with an agreement, or not known; the default), or silent where they say nothing of it.
type Use struct {
	Commercial   string `key:"commercial" enum:"yes,no,ask,silent" doc:"use in a business; ask is the default."`
	Redistribute string `key:"redistribute" enum:"yes,no,ask,silent" doc:"passing it on, and so selling it; ask is the default."`
	Store        string `key:"store" enum:"yes,no,ask,silent" doc:"keeping it; ask is the default."`
	Attribution  string `key:"attribution" doc:"how to name the source; its name is the default"`
	Notice       string `key:"notice" doc:"what is to be shown with its data, word for word, with {service} for who serves it"`
	Terms        string `key:"terms" doc:"the page with the terms"`
	Read         string `key:"read" doc:"the day on which they were read, such as 2026-11-24"`
}

// Request is how a source is asked.
type Request struct {
	Method    string        `key:"method" enum:"GET,POST" doc:"GET is the default, or POST with json."`
	URL       string        `key:"url,required" doc:"it may hold {date}, {month}, {year}, {unix} and {unix_ms}, less a span as in {date-7d}"`
	JSON      any           `key:"json" doc:"the body of a POST"`
	Headers   []Header      `key:"headers" doc:"beside those of every request"`
	KeyFile   string        `key:"key_file" doc:"the file beside the manifest that holds a key: PACK.key or PACK.NAME.key"`
	KeyHeader string        `key:"key_header" doc:"the header that the key is sent in"`
	KeyPrefix string        `key:"key_prefix" doc:"what stands before the key there, such as Bearer"`
	MaxBytes  Size          `key:"max_bytes" doc:"of an answer, at most 16MiB; 4MiB is the default"`
	Timeout   time.Duration `key:"timeout" doc:"of a request, at most 30s; 10s is the default"`
}

// Header is a header of a request.
type Header struct {
	Name  string `key:",name"`
	Value string `key:",short"`
}

// CSV is how CSV is written.
type CSV struct {
	Comma  string   `key:"comma" doc:"between cells; a comma is the default"`
	Skip   int      `key:"skip" doc:"lines before the header"`
	Header []string `key:"header" doc:"names of the columns, where no line has them"`
}

// Size is a number of bytes.
type Size int64

// Pattern is how sizes are written.
func (s Size) Pattern() string { return `^[0-9]+ *([KM]iB)?$` }

// UnmarshalText reads a number of bytes such as 65536, 64KiB or 4MiB.
func (s *Size) UnmarshalText(text []byte) error {
	number, unit := string(text), int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20} {
		if before, ok := strings.CutSuffix(number, suffix); ok {
			number, unit = strings.TrimSpace(before), size
		}
	}
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil || n < 0 {
		return errors.New("is no size such as 65536, 64KiB or 4MiB")
	}
	*s = Size(n * unit)
	return nil
}

// String writes s as a manifest does.
func (s Size) String() string {
	switch {
	case s > 0 && s%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", s>>20)
	case s > 0 && s%(1<<10) == 0:
		return fmt.Sprintf("%dKiB", s>>10)
	}
	return fmt.Sprint(int64(s))
}

// Field is a field of rows.
type Field struct {
	Name string `key:",name"`
	// Type is one of fieldTypes.
	Type string `key:"type,required,short" enum:"price,usd,percent,percent4,number,count,text,time,date,bool" doc:"of its values."`

	Words   []string        `key:"words" doc:"that ask for it, beside those of its name"`
	Change  []time.Duration `key:"change" doc:"spans over which its change in percent is told as well"`
	Changed time.Duration   `key:"changed" doc:"for how long the value before the last change is told"`
}

// Member is a list in the state.
type Member struct {
	Name   string   `key:",name"`
	From   []string `key:"from,required" doc:"ids of sources, all with rows of one kind"`
	Select string   `key:"select" doc:"jq: of the array of a source's rows those that are shown"`
	Rows   int      `key:"rows" doc:"the first rows instead of a selection, at most 40; 12 is the default"`
	Fields []string `key:"fields" doc:"that are shown; all is the default"`
}

// Flag raises a flag for every row of a source that meets a condition.
type Flag struct {
	Kind      string  `key:"kind,required" doc:"lower-case letters, digits and _"`
	Over      string  `key:"over,required" doc:"id of a source"`
	When      string  `key:"when,required" doc:"jq: true for a row that raises it"`
	Clear     string  `key:"clear" doc:"jq: true for a row that lets it go down; not when is the default"`
	Severity  string  `key:"severity" enum:"notice,warning,critical" doc:"warning is the default."`
	Warning   string  `key:"warning" doc:"jq: true for a row that makes it a warning"`
	Critical  string  `key:"critical" doc:"jq: true for a row that makes it critical"`
	Value     string  `key:"value" doc:"the number that is its value; the first is the default"`
	Threshold float64 `key:"threshold" doc:"of the value, for readers"`
	At        string  `key:"at" doc:"the time field that says when it happened"`
	Message   string  `key:"message,required" doc:"with {name}, {symbol}, {key}, {of} and fields in braces"`
}

// Say is a sentence of the brief.
type Say struct {
	Over  string   `key:"over,required" doc:"a member"`
	By    string   `key:"by" doc:"the number by which its rows stand, the largest first; their order in the member is the default"`
	Least bool     `key:"least" doc:"the least comes first"`
	Above *float64 `key:"above" doc:"rows whose number is above this alone"`
	Below *float64 `key:"below" doc:"rows whose number is below this alone"`
	Rows  int      `key:"rows" doc:"that are told; 1 is the default"`
	Say   string   `key:"say,required" doc:"the sentence, with {list}, or with fields of the first row in braces"`
	Item  string   `key:"item" doc:"what stands in the list for a row"`
}

// Bounds of manifests.
const (
	MaxSources  = 40
	MaxMembers  = 12
	MaxFlags    = 20
	MaxSay      = 24
	MaxFields   = 24
	maxState    = 24 << 10
	maxRows     = 200
	memberRows  = 12
	mostShown   = 40
	maxBody     = 16 << 20
	maxTimeout  = 30 * time.Second
	leastEvery  = 5 * time.Minute // states are made no more often
	usualEvery  = 5 * time.Minute
	longestSpan = 31 * 24 * time.Hour
	maxText     = 256 << 10 // bytes of a manifest
)

// Schema is the JSON schema (2020-12) of a manifest, for editors.
func Schema() map[string]any {
	root := setting.Schema(reflect.TypeFor[Manifest](), form(), false)
	root["title"] = "Pack of contextd"
	return root
}

// Read reads a manifest and checks all of it. The error lists everything that is wrong, each on a line of its own. The ids of the packs
// that are part of the program are for these, and for manifests with the same sources in the same order. Nothing in a manifest can refer
// in a circle: sentences refer to members, members and flags to sources, and these to nothing.
func Read(text []byte, shipped bool) (*Manifest, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the manifest is over %d bytes", maxText)
	}
	r := setting.NewReader(form())
	m := &Manifest{lines: r.Lines, digest: fmt.Sprintf("%x", sha256.Sum256(text)), shipped: shipped}
	if !r.Read(text, m) {
		r.Fail(0, "the manifest is empty")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	m.fill()
	c := checker{m: m, fail: r.Fail}
	c.check()
	if err := r.Err(); err != nil {
		return nil, err
	}
	if m.replaces {
		m.warnings = append(m.warnings,
			fmt.Sprintf("it is served in place of the program's %s; contextd packs diff %[1]s shows the differences", m.Pack))
	}
	m.raise()
	return m, nil
}

// Warnings say what in a manifest is served otherwise than it says.
func (m *Manifest) Warnings() []string { return m.warnings }

// raise polls no more often than states are made, and calls nothing stale before it can have been polled again. Manifests of before that
// was so are served still.
func (m *Manifest) raise() {
	for i := range m.Sources {
		s := &m.Sources[i]
		warn := func(name string, was, is time.Duration, why string) {
			m.warnings = append(m.warnings,
				fmt.Sprintf("sources[%d].%s of %s is %v and taken as %v: %s", i, name, s.ID, shown(was), shown(is), why))
		}
		if s.Every < leastEvery {
			warn("every", s.Every, leastEvery, "states are made every 5m")
			s.Every = leastEvery
		}
		if usual := 3 * s.Every; s.StaleAfter < s.Every {
			warn("stale_after", s.StaleAfter, usual, "it is polled every "+fmt.Sprint(shown(s.Every)))
			s.StaleAfter = usual
		}
	}
}

// form is how manifests are written. Aliases could make a few bytes gigabytes.
func form() setting.Form { return setting.Form{Root: "the manifest", Loose: true} }

// fill sets what is left out to its default.
func (m *Manifest) fill() {
	m.Limits.StateBytes, m.Limits.Rows = cmp.Or(m.Limits.StateBytes, maxState), cmp.Or(m.Limits.Rows, maxRows)
	for i := range m.Sources {
		s := &m.Sources[i]
		s.Every = cmp.Or(s.Every, usualEvery)
		s.StaleAfter = cmp.Or(s.StaleAfter, 3*s.Every)
		s.PerMinute = cmp.Or(s.PerMinute, 30)
		s.Format = cmp.Or(s.Format, string(source.FormatJSON))
		s.Request.fill()
		s.Use.fill(s.Name)
		for j := range s.Fallbacks {
			b := &s.Fallbacks[j]
			b.Use.fill(b.Name)
			b.Format, b.Within, b.As = cmp.Or(b.Format, string(source.FormatJSON)), cmp.Or(b.Within, 10), cmp.Or(b.As, ".")
			b.Request.fill()
		}
	}
	for i := range m.Members {
		if m.Members[i].Select == "" {
			m.Members[i].Rows = cmp.Or(m.Members[i].Rows, memberRows)
		}
	}
	for i := range m.Flags {
		f := &m.Flags[i]
		f.Severity, f.Clear = cmp.Or(f.Severity, "warning"), cmp.Or(f.Clear, f.clearUsually())
	}
	for i := range m.Brief {
		m.Brief[i].Rows = cmp.Or(m.Brief[i].Rows, 1)
	}
}

func (r *Request) fill() {
	if r.Method == "" && r.JSON != nil {
		r.Method = methodPost
	}
	r.Method = cmp.Or(r.Method, methodGet)
	r.Timeout = cmp.Or(r.Timeout, 10*time.Second)
	r.MaxBytes = cmp.Or(r.MaxBytes, 4<<20)
}

// fill writes out what u does not say, of a source of the given name.
func (u *Use) fill(name string) {
	ask := string(api.UseAsk)
	u.Commercial, u.Redistribute, u.Store = cmp.Or(u.Commercial, ask), cmp.Or(u.Redistribute, ask), cmp.Or(u.Store, ask)
	u.Attribution = cmp.Or(u.Attribution, name)
}

// api is u as it is told.
func (u Use) api() api.Use {
	return api.Use{
		Commercial: api.Permission(u.Commercial), Redistribute: api.Permission(u.Redistribute), Store: api.Permission(u.Store),
		Attribution: u.Attribution, Notice: u.Notice, Terms: u.Terms, Read: u.Read,
	}
}

// clearUsually is what lets a flag fall that does not say.
func (f Flag) clearUsually() string { return "(" + f.When + ")|not" }

// source is the source of an id and its anchor, 0 if there is none.
func (m *Manifest) source(id string) (s *Source, ref int) {
	i := slices.IndexFunc(m.Sources, func(s Source) bool { return s.ID == id })
	if i < 0 {
		return nil, 0
	}
	return &m.Sources[i], i + 1
}
