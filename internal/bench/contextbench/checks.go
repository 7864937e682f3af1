package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// silentText has sentences that no data decide, a reason and a tab before each; {N} is a name, {V} an amount that is not its price.
//
//go:embed silent.txt
var silentText string

// stating is a sentence with a figure and what it is made of.
type stating struct {
	text  string
	value float64 // as written, for the naive rule
	half  float64
}

// checking holds texts about a pack against the operation check. Their truth is that of the raw payloads, rounded and written here.
type checking struct {
	*host
	draft
	advance func(context.Context) error
	upon    func(tick int) ([]*thing, error) // what upstream says at a tick
	chance  *rand.Rand
	verbose bool
	reasons map[api.CheckReason]int   // why false ones are unknown
	counts  map[string]*tallied       // by category
	things  map[int]map[string]*thing // by tick, then kind and key
	order   []string
	state   []float64 // all numbers of the state, for the naive rule
	took    []time.Duration
	briefs  []time.Duration // of texts as long as a brief, the least of three
	hostile []time.Duration // of texts that are made to take long
	clearly map[byte]*tallied
	out     strings.Builder
}

// tallied is what became of the sentences of a category.
type tallied struct{ asked, verified, refuted, stale, unknown, naive int }

// judgeChecks prints what check makes of true, false, old, undecidable, foreign, tampered and hostile texts about each pack.
func judgeChecks(ctx context.Context, cfg config, verbose bool) (tables string, err error) {
	var missed []string
	for _, d := range drafts() {
		if cfg.only != "" && cfg.only != d.about {
			continue
		}
		table, low, err := judgePack(ctx, cfg, d, verbose)
		if tables += "pack " + d.about + "\n" + table + "\n"; err != nil {
			return tables, fmt.Errorf("%s: %w", d.about, err)
		}
		for _, aim := range low {
			missed = append(missed, d.about+": "+aim)
		}
	}
	if len(missed) > 0 {
		return tables, fmt.Errorf("aims that are missed: %s", strings.Join(missed, ", "))
	}
	return tables, nil
}

// judgePack judges texts about a pack.
func judgePack(ctx context.Context, cfg config, d draft, verbose bool) (table string, missed []string, err error) {
	c := &checking{draft: d, chance: rand.New(rand.NewPCG(cfg.seed, 36)), verbose: verbose, counts: map[string]*tallied{},
		reasons: map[api.CheckReason]int{}, things: map[int]map[string]*thing{}, clearly: map[byte]*tallied{'B': {}, 'T': {}}}
	if d.about == api.PackCrypto {
		w, err := newWorld(ctx, cfg)
		if err != nil {
			return "", nil, err
		}
		c.host, c.advance = w.host, w.advance
		c.upon = func(tick int) ([]*thing, error) {
			r, err := w.read(tick)
			if err != nil {
				return nil, err
			}
			return r.cryptoThings(), nil
		}
	} else {
		p := shippedPacks()[slices.IndexFunc(shippedPacks(), func(p shippedPack) bool { return p.id == d.about })]
		b, err := newPackBench(ctx, cfg, p)
		if err != nil {
			return "", nil, err
		}
		c.host = b.host
		c.advance = func(ctx context.Context) error {
			b.tick++
			return b.ask(ctx)
		}
		c.upon = func(tick int) ([]*thing, error) { return things(b.known(tick)), nil }
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for c.tick < cfg.ticks*11/20-1 { // later upstreams fail, which other tests measure
		if err := c.advance(ctx); err != nil {
			return "", nil, err
		}
		if c.tick < 12 || c.tick%4 != 0 {
			continue
		}
		if err := c.judge(ctx); err != nil {
			return c.out.String(), nil, err
		}
	}
	if len(c.took) == 0 {
		return "", nil, fmt.Errorf("%d ticks are too few, at least 24", cfg.ticks)
	}
	table, missed = c.table()
	return table, missed, nil
}

// judge asks at one tick.
func (c *checking) judge(ctx context.Context) error {
	var fresh struct {
		State json.RawMessage
		Brief string
	}
	if _, _, err := c.caller.get(ctx, api.PathFresh, &fresh); err != nil {
		return err
	}
	c.state = numbersOf(fresh.State)
	list, err := c.upon(c.tick)
	if err != nil {
		return err
	}
	old, err := c.upon(c.tick - 2 - c.chance.IntN(8))
	if err != nil {
		return err
	}
	before := map[string]*thing{}
	for _, t := range old {
		before[t.kind+"/"+t.key] = t
	}
	named := c.subjects(list)
	if err := c.all(c.tick); err != nil {
		return err
	}
	if err := c.tamper(ctx, fresh.Brief); err != nil { // before the time goes on
		return err
	}
	for _, step := range []func(context.Context, []*thing, map[string]*thing) error{
		c.trueOnes, c.falseOnes, c.touchingOnes, c.oldOnes, c.silentOnes, c.foreignOnes,
	} {
		if err := step(ctx, named, before); err != nil {
			return err
		}
	}
	return c.hostileOnes(ctx)
}

// subjects are the things that sentences are made about: the larger ones of each kind with a name of letters that nothing else has.
func (c *checking) subjects(list []*thing) (named []*thing) {
	many, seen := map[string]int{}, map[string]int{}
	for _, t := range list {
		seen[strings.ToLower(t.name)]++
	}
	for _, t := range list {
		most, plain := c.most[t.kind], t.texts["excluded"] == "" && t.texts["stable"] == ""
		if c.pack == api.PackCrypto {
			plain = plain && len(t.name) >= 4 && !strings.ContainsAny(t.name, "0123456789(.") &&
				(t.kind == "asset" || seen[strings.ToLower(t.name)] == 1)
		}
		if many[t.kind] < most && plain && len(c.fieldsOf(t)) > 0 {
			many[t.kind]++
			named = append(named, t)
		}
	}
	return named
}

// written is a figure of a field as people write it, in one of several ways, with its value and half a unit of its last digit.
func written(field string, v float64, way int) (text string, value, half float64) {
	switch unit := unitOf(field); {
	case unit == "%":
		places := 1 + way%2
		if strings.HasPrefix(field, "funding") && math.Abs(v) < 1 {
			places = 4
		}
		sign := ""
		if v < 0 && !strings.HasPrefix(field, "change") {
			sign = "-"
		}
		value = math.Abs(rounded(v, places))
		return sign + strconv.FormatFloat(value, 'f', places, 64) + "%", value, 0.5 * math.Pow10(-places)
	case unit == "":
		places := 0
		if v != math.Trunc(v) {
			places = 2
		}
		value = rounded(v, places)
		return thousands(strconv.FormatFloat(value, 'f', places, 64)), value, 0.5 * math.Pow10(-places)
	case v >= 1e6:
		for _, s := range []struct {
			of   float64
			word string
		}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}} {
			if v >= s.of {
				places := 1 + way%2
				value = rounded(v/s.of, places)
				return "$" + strconv.FormatFloat(value, 'f', places, 64) + " " + s.word, value * s.of, 0.5 * math.Pow10(-places) * s.of
			}
		}
	case v >= 1000 && way%3 == 0:
		value = rounded(v/1000, 1)
		return "$" + strconv.FormatFloat(value, 'f', 1, 64) + "k", value * 1000, 50
	case v >= 1000:
		places := 2 * (way % 2)
		value = rounded(v, places)
		return "$" + thousands(strconv.FormatFloat(value, 'f', places, 64)), value, 0.5 * math.Pow10(-places)
	case v >= 1:
		value = rounded(v, 2)
		return "$" + strconv.FormatFloat(value, 'f', 2, 64), value, 0.005
	}
	places := 3 - int(math.Floor(math.Log10(v)))
	value = rounded(v, places)
	return "$" + strconv.FormatFloat(value, 'f', places, 64), value, 0.5 * math.Pow10(-places)
}

func rounded(v float64, places int) float64 {
	f := math.Pow10(places)
	return math.Round(v*f) / f
}

// thousands writes the thousands of a number.
func thousands(text string) string {
	whole, rest, decimal := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if decimal {
		return whole + "." + rest
	}
	return whole
}

// state states that a field of t is v.
func (c *checking) stated(t *thing, field string, v float64) stating {
	list := c.forms[t.kind+"."+field]
	return c.statedAs(list[c.chance.IntN(len(list))], t, field, v)
}

func (c *checking) statedAs(form string, t *thing, field string, v float64) stating {
	text, value, half := written(field, v, c.chance.IntN(6))
	way := "rose"
	if v < 0 {
		way = "fell"
	}
	fill := strings.NewReplacer("{N}", t.name, "{S}", t.symbol, "{O}", t.numbers[field].other, "{V}", text, "{W}", way)
	return stating{fill.Replace(form), value, half}
}

// pick is a random figure of a random thing, of some size where it is a change.
func (c *checking) pick(named []*thing) (t *thing, field string, v float64) {
	for {
		t = named[c.chance.IntN(len(named))]
		fields := c.fieldsOf(t)
		field = fields[c.chance.IntN(len(fields))]
		if f, ok := t.numbers[field]; ok && (math.Abs(f.value) > 0.25 || f.value != 0 && !strings.HasPrefix(field, "change")) {
			return t, field, f.value
		}
	}
}

const perTick = 25

// trueOnes are sentences that upstream bears out.
func (c *checking) trueOnes(ctx context.Context, named []*thing, _ map[string]*thing) error {
	for range perTick {
		t, field, v := c.pick(named)
		if err := c.ask(ctx, "A true", c.stated(t, field, v)); err != nil {
			return err
		}
	}
	for range 4 {
		t, field, v := c.pick(named)
		if unitOf(field) == "" {
			continue // it is counted, or fixed, to the last digit
		}
		cut := v * (1 - 0.0004) // a digit too low, as where the rest was cut
		if err := c.ask(ctx, "A cut off", c.stated(t, field, cut)); err != nil {
			return err
		}
	}
	return nil
}

// falseOnes are sentences with one thing changed.
func (c *checking) falseOnes(ctx context.Context, named []*thing, _ map[string]*thing) error {
	for i := range perTick {
		t, field, v := c.pick(named)
		kind, wrong, ok := c.changed(i, named, t, field, v)
		s := c.stated(t, field, wrong)
		if !ok || c.ever(t, field, math.Copysign(s.value, wrong), s.half) {
			continue // it rounds to what is true, or was on the day
		}
		if err := c.askFalse(ctx, "B "+kind, s, t, field, wrong); err != nil {
			return err
		}
	}
	return nil
}

// changed is a false figure in the place of v, by the i-th way to change it.
func (c *checking) changed(i int, named []*thing, t *thing, field string, v float64) (kind string, wrong float64, ok bool) {
	change := strings.HasPrefix(field, "change")
	switch i % 5 {
	case 0, 1:
		by := []float64{0.01, 0.03, 0.07, 0.15, 0.3, 0.5}[c.chance.IntN(6)]
		if unitOf(field) == "%" && math.Abs(v) > 0.25 {
			by = []float64{0.3, 1, 3, 10}[c.chance.IntN(4)]
			return fmt.Sprintf("percent off by %g points", by), v + math.Copysign(by, v), true
		}
		if kind = fmt.Sprintf("value off by %.0f %%", 100*by); c.chance.IntN(2) == 0 {
			by = -by
		}
		return kind, v * (1 + by), true
	case 2: // the other way
		if change {
			return "direction", -v, true
		}
		if unitOf(field) == "" { // 21,299 may be a little more than 21
			return "scale", v * 10, true
		}
		return "scale", v * 1000, true
	case 3: // of another thing
		o := named[c.chance.IntN(len(named))]
		f, has := o.numbers[field]
		return "subject", f.value, has && o.kind == t.kind && math.Abs(f.value-v) > 0.1*math.Abs(v)+c.least(field)
	}
	other := c.others[field]
	f, has := t.numbers[other]
	return "field", f.value, has && !c.twofold(t) && math.Abs(f.value-v) > 0.1*math.Abs(v)+c.least(field)
}

// least is by how much two figures of a field differ that are not nearly the same.
func (c *checking) least(field string) float64 {
	if strings.HasPrefix(field, "change") {
		return 0.3
	}
	return 0
}

// touchingOnes are false ones in which the figure stands next to the name.
func (c *checking) touchingOnes(ctx context.Context, named []*thing, _ map[string]*thing) error {
	for i := range 10 {
		t := named[c.chance.IntN(len(named))]
		field := c.main[t.kind]
		f, there := t.numbers[field]
		if !there || f.value == 0 || !c.touch {
			continue
		}
		kind, wrong, ok := c.changed([]int{0, 2, 3}[i%3], named, t, field, f.value)
		form := []string{"{N}: {V}", "{N} {V}", "{N} ({V})", "{S}: {V}"}[c.chance.IntN(4)]
		if t.symbol == "" {
			form = strings.Replace(form, "{S}", "{N}", 1)
		}
		s := c.statedAs(form, t, field, wrong)
		if !ok || c.ever(t, field, math.Copysign(s.value, wrong), s.half) {
			continue
		}
		if err := c.askFalse(ctx, "T touching, "+kind, s, t, field, wrong); err != nil {
			return err
		}
	}
	return nil
}

// askFalse has a sentence judged that is false.
func (c *checking) askFalse(ctx context.Context, category string, s stating, t *thing, field string, wrong float64) error {
	before := *c.of(category)
	if err := c.ask(ctx, category, s); err != nil || !c.beyond(t, field, math.Copysign(s.value, wrong), s.half) {
		return err
	}
	sum := c.clearly[category[0]]
	sum.asked++
	sum.refuted += c.of(category).refuted - before.refuted
	return nil
}

// beyond reports whether what is written lies outside of where upstream had a field all day, and further than three usual moves, or a
// thousandth, from there.
func (c *checking) beyond(t *thing, field string, said, half float64) bool {
	v := t.numbers[field].value
	low, high, last, moves, n := v, v, v, 0.0, 0.0
	if change, known := t.numbers["change24hPct"]; known && unitOf(field) == "$" && change.value > -100 {
		was := v / (1 + change.value/100)
		low, high = min(low, was), max(high, was)
	}
	for tick := c.tick - 1; tick >= max(0, c.tick-288); tick-- {
		if c.all(tick) != nil || c.things[tick][t.kind+"/"+t.key] == nil {
			continue
		}
		was, ok := c.things[tick][t.kind+"/"+t.key].numbers[field]
		if ok {
			moves, n, last = moves+math.Abs(was.value-last), n+1, was.value
			low, high = min(low, was.value), max(high, was.value)
		}
	}
	slack := max(3*moves/max(n, 1), 0.001*math.Abs(v)) + 2*half
	return said < low-slack || said > high+slack
}

// twofold reports whether something of another kind has the name of t, such as a coin's protocol: its figure may be meant.
func (c *checking) twofold(t *thing) bool {
	for _, other := range c.things[c.tick] {
		if other.kind != t.kind && strings.EqualFold(other.name, t.name) {
			return true
		}
	}
	return false
}

// all reads what there was at a tick.
func (c *checking) all(tick int) error {
	if c.things[tick] != nil {
		return nil
	}
	list, err := c.upon(tick)
	if err != nil {
		return err
	}
	c.things[tick] = map[string]*thing{}
	for _, t := range list {
		c.things[tick][t.kind+"/"+t.key] = t
	}
	return nil
}

// ever reports whether a field of t is what is written, or was at any tick.
func (c *checking) ever(t *thing, field string, said, half float64) bool {
	for tick := range c.tick + 1 {
		if c.all(tick) != nil {
			return true
		}
		then := c.things[tick][t.kind+"/"+t.key]
		if then == nil {
			continue
		}
		if was, ok := then.numbers[field]; ok && math.Abs(was.value-said) <= half*(1+1e-9) {
			return true
		}
	}
	return false
}

// oldOnes were true some ticks before, and are not now.
func (c *checking) oldOnes(ctx context.Context, named []*thing, before map[string]*thing) error {
	for n, tries := 0, 0; n < 10 && tries < 400; tries++ {
		t, field, v := c.pick(named)
		was := before[t.kind+"/"+t.key]
		if was == nil {
			continue
		}
		old := was.numbers[field].value
		s := c.stated(t, field, old)
		shown := math.Abs(v)
		if old == 0 || (old < 0) != (v < 0) || math.Abs(s.value-shown) <= 2*s.half {
			continue
		}
		n++
		if err := c.ask(ctx, "C old", s); err != nil {
			return err
		}
	}
	return nil
}

// silentOnes are sentences of which no data can say that they are wrong.
func (c *checking) silentOnes(ctx context.Context, named []*thing, _ map[string]*thing) error {
	for line := range strings.Lines(silentText) {
		why, form, ok := strings.Cut(strings.TrimSpace(line), "\t")
		if !ok || c.chance.IntN(5) > 0 || slices.ContainsFunc(c.judged, func(w string) bool { return strings.Contains(form, w) }) {
			continue
		}
		t := c.mainOf(named, "")
		field := c.main[t.kind]
		v := t.numbers[field].value * []float64{0.5, 1.3, 2}[c.chance.IntN(3)]
		text, value, half := written(field, v, c.chance.IntN(6))
		s := stating{strings.NewReplacer("{N}", t.name, "{S}", t.symbol, "{V}", text).Replace(form), value, half}
		if err := c.ask(ctx, "D "+why, s); err != nil {
			return err
		}
	}
	return nil
}

// mainOf is a random thing whose first figure has a unit, or any where that is "".
func (c *checking) mainOf(named []*thing, unit string) *thing {
	for {
		t := named[c.chance.IntN(len(named))]
		field := c.main[t.kind]
		if f, ok := t.numbers[field]; ok && f.value != 0 && (unit == "" || unitOf(field) == unit && f.value >= 1) {
			return t
		}
	}
}

// foreignOnes are the sentences of other languages, true and with the figure changed.
func (c *checking) foreignOnes(ctx context.Context, named []*thing, _ map[string]*thing) error {
	for _, form := range foreignForms() {
		if c.foreign == "" {
			return nil
		}
		t, text := c.mainOf(named, c.foreign), form.amount
		if c.foreign == "%" {
			text = form.percent
		}
		for _, e := range []struct {
			category string
			by       float64
		}{{"E true", 1}, {"E changed", 1.21}} {
			v := rounded(t.numbers[c.main[t.kind]].value*e.by, 2)
			figure := strings.NewReplacer(",", form.thousands, ".", form.decimal).Replace(thousands(strconv.FormatFloat(v, 'f', 2, 64)))
			if form.lang == "ar" {
				figure = strings.Map(func(r rune) rune {
					if r >= '0' && r <= '9' {
						return r - '0' + '٠'
					}
					return r
				}, figure)
			}
			s := stating{strings.NewReplacer("{N}", t.name, "{V}", figure).Replace(text), v, 0.005}
			if err := c.ask(ctx, e.category, s); err != nil {
				return err
			}
		}
	}
	return nil
}

// tamper has a brief of the service judged, and then each of its figures changed, one at a time.
func (c *checking) tamper(ctx context.Context, brief string) error {
	judged, err := c.send(ctx, brief)
	if err != nil {
		return err
	}
	least, err := c.least3(ctx, brief)
	if c.briefs = append(c.briefs, least); err != nil {
		return err
	}
	t := c.of("F brief")
	t.asked, t.verified = t.asked+judged.Judged+judged.Unknown, t.verified+judged.Verified
	t.refuted, t.stale, t.unknown = t.refuted+judged.Refuted, t.stale+judged.Stale, t.unknown+judged.Unknown
	for _, f := range judged.Findings {
		if f.Verdict != api.CheckVerified {
			all := []rune(brief)
			c.show("F brief", string(all[max(0, f.Start-80):min(len(all), f.End+40)]), f)
		}
	}
	runes := []rune(brief)
	for _, f := range judged.Findings {
		if f.Verdict != api.CheckVerified || c.chance.IntN(4) > 0 {
			continue
		}
		was := string(runes[f.Start:f.End])
		changed := changedFigure(was)
		if changed == was {
			continue
		}
		again, err := c.sendWithin(ctx, string(runes[:f.Start])+changed+string(runes[f.End:]), api.CheckWithinMin) // it may have been so before
		if err != nil {
			return err
		}
		t := c.of("F tampered")
		t.asked++
		at := slices.IndexFunc(again.Findings, func(g api.CheckFinding) bool { return g.Start <= f.Start && f.Start < g.End })
		if at < 0 {
			t.unknown++
			continue
		}
		g := again.Findings[at]
		t.count(g.Verdict)
		if g.Verdict == api.CheckVerified {
			line := brief[max(0, len(string(runes[:f.Start]))-60):min(len(brief), len(string(runes[:f.End]))+30)]
			c.show("F tampered", was+" as "+changed+" in …"+line+"…", g)
		}
	}
	return nil
}

// least3 is the least of three times that a text takes, so that what else the machine does counts little.
func (c *checking) least3(ctx context.Context, text string) (time.Duration, error) {
	for range 3 {
		if _, err := c.send(ctx, text); err != nil {
			return 0, err
		}
	}
	return slices.Min(c.took[len(c.took)-3:]), nil
}

// hostileOnes are texts that are made to take long: they are judged, or refused as too many figures.
func (c *checking) hostileOnes(ctx context.Context) error {
	name := c.things[c.tick][slices.Sorted(maps.Keys(c.things[c.tick]))[0]].name
	for _, unit := range []string{"9", "1 ", "1,", name + " ", name + " 1.5% ", "(", "“", "\u202e1 ", name + " is at $1. ", "> 1\n"} {
		text := strings.Repeat(unit, api.MaxCheckBytes/len(unit))
		c.of("G hostile").asked++
		c.of("G hostile").unknown++
		least := time.Hour
		for range 3 {
			begun := time.Now()
			body, err := json.Marshal(map[string]any{"text": text})
			if err != nil {
				return err
			}
			status, answer, err := c.caller.send(ctx, http.MethodPost, api.OpCheck.Path()+"?pack="+c.pack, string(body))
			if err != nil || status != http.StatusOK && status != http.StatusBadRequest {
				return fmt.Errorf("check %.20q: %d, %w: %.200s", text, status, err, answer)
			}
			least = min(least, time.Since(begun))
			c.set(c.clock().Add(time.Second))
		}
		if c.hostile = append(c.hostile, least); least > 50*time.Millisecond {
			c.show("G hostile", unit+"… takes "+least.String(), api.CheckFinding{})
		}
	}
	return nil
}

// changedFigure is a figure with its first digit another one.
func changedFigure(text string) string {
	at := strings.IndexAny(text, "123456789")
	if at < 0 {
		return text
	}
	digit := (text[at]-'0')%9 + 1
	return text[:at] + string(rune('0'+digit)) + text[at+1:]
}

func (c *checking) send(ctx context.Context, text string) (api.CheckResponse, error) {
	return c.sendWithin(ctx, text, api.CheckWithin)
}

func (c *checking) sendWithin(ctx context.Context, text string, within time.Duration) (r api.CheckResponse, err error) {
	body, err := json.Marshal(map[string]any{"text": text, "all": true})
	if err != nil {
		return r, err
	}
	begun := time.Now()
	path := api.OpCheck.Path() + "?pack=" + c.pack + "&within=" + api.FormatSpan(within)
	status, answer, err := c.caller.send(ctx, http.MethodPost, path, string(body))
	if c.took = append(c.took, time.Since(begun)); err != nil {
		return r, err
	}
	if status != http.StatusOK {
		return r, fmt.Errorf("check %.60q: %d %s", text, status, answer)
	}
	if err := json.Unmarshal(answer, &r); err != nil || r.Judged > 0 {
		return r, err
	}
	c.set(c.clock().Add(time.Second)) // of the minute in which a key may ask so often for nothing
	return r, nil
}

// ask has one sentence judged.
func (c *checking) ask(ctx context.Context, category string, s stating) error {
	r, err := c.send(ctx, s.text)
	if err != nil {
		return err
	}
	t := c.of(category)
	t.asked++
	t.count(r.Verdict)
	if slices.ContainsFunc(c.state, func(v float64) bool { return math.Abs(math.Abs(v)-s.value) <= s.half }) {
		t.naive++
	}
	planted := category[0] == 'B' || category[0] == 'T' || category == "E changed"
	if planted && category[0] != 'E' && r.Verdict == api.CheckUnknown && len(r.Findings) > 0 {
		c.reasons[r.Findings[0].Reason]++
	}
	wrong := !planted && r.Verdict == api.CheckRefuted || planted && r.Verdict == api.CheckVerified
	if len(r.Findings) == 0 {
		r.Findings = append(r.Findings, api.CheckFinding{Verdict: r.Verdict, Reason: "no finding"})
	}
	said := category == "A true" || category == "E true"
	if wrong || c.verbose && (said && r.Verdict != api.CheckVerified ||
		planted && category[0] != 'E' && r.Verdict == api.CheckUnknown) {
		c.show(category, s.text, r.Findings[0])
	}
	return nil
}

func (c *checking) show(category, text string, f api.CheckFinding) {
	const most = 60_000
	if c.out.Len() < most {
		fmt.Fprintf(&c.out, "%s: %q is %s %s %s %s: %s\n", category, text, f.Verdict, f.Reason, f.Row, f.Field, f.Says)
	}
}

func (c *checking) of(category string) *tallied {
	if c.counts[category] == nil {
		c.counts[category] = &tallied{}
		c.order = append(c.order, category)
	}
	return c.counts[category]
}

func (t *tallied) count(v api.CheckVerdict) {
	switch v {
	case api.CheckVerified:
		t.verified++
	case api.CheckRefuted:
		t.refuted++
	case api.CheckStale:
		t.stale++
	default:
		t.unknown++
	}
}

// table is what was counted, by category, with precision and recall beside the aims, and which of those are missed.
func (c *checking) table() (table string, missed []string) {
	var b bytes.Buffer
	b.WriteString(c.out.String())
	fmt.Fprintf(&b, "%-28s %6s %9s %8s %6s %8s %6s\n", "category", "asked", "verified", "refuted", "stale", "unknown", "naive")
	slices.Sort(c.order)
	sum := map[byte]tallied{}
	for _, name := range c.order {
		t := c.counts[name]
		fmt.Fprintf(&b, "%-28s %6d %9d %8d %6d %8d %6d\n", name, t.asked, t.verified, t.refuted, t.stale, t.unknown, t.naive)
		s := sum[name[0]]
		sum[name[0]] = tallied{s.asked + t.asked, s.verified + t.verified, s.refuted + t.refuted, s.stale + t.stale, s.unknown + t.unknown,
			s.naive + t.naive}
	}
	of := func(name string) tallied {
		if t := c.counts[name]; t != nil {
			return *t
		}
		return tallied{}
	}
	a, bad, old, silent, foreign, tampered := sum['A'], sum['B'], sum['C'], sum['D'], of("E true"), of("F tampered")
	briefs, said, changed := of("F brief"), of("A true"), of("E changed")
	chances := a.asked + old.asked + silent.asked + foreign.asked + briefs.asked
	alarms := a.refuted + old.refuted + silent.refuted + foreign.refuted + briefs.refuted
	right := said.verified + foreign.verified + briefs.verified
	touching, clear, near := sum['T'], c.clearly['B'], c.clearly['T']
	b.WriteString("\nfalse ones unknown:")
	for _, why := range slices.Sorted(maps.Keys(c.reasons)) {
		fmt.Fprintf(&b, " %s %d", why, c.reasons[why])
	}
	b.WriteString("\n\n")
	for _, aim := range []struct {
		name   string
		n, all int
		aim    float64 // at least, as a share
	}{
		{"not refuted falsely", chances - alarms, chances, 1}, {"refuted, of what is false", bad.refuted, bad.asked, 0.8},
		{"the same beyond where it was all day", clear.refuted, clear.asked, 0.8},
		{"refuted, where name and figure touch", touching.refuted, touching.asked, 0.8},
		{"the same beyond where it was all day", near.refuted, near.asked, 0.95},
		{"verified, of what is true", said.verified, said.asked, 0.97},
		{"verified, in twelve languages", foreign.verified, foreign.asked, 0.97},
		{"verified, of briefs", briefs.verified, briefs.asked, 1},
		{"verified rightly", right, right + bad.verified + touching.verified + changed.verified + tampered.verified, 0.995},
		{"not verified, of tampered briefs", tampered.asked - tampered.verified, tampered.asked, 1},
		{"stale or lately so, of what is old", old.stale + old.verified, old.asked, 0.9},
	} {
		share := float64(aim.n) / float64(max(aim.all, 1))
		fmt.Fprintf(&b, "%-36s %5d of %5d: %.4f (aim %g)\n", aim.name, aim.n, aim.all, share, aim.aim)
		if share < aim.aim && aim.all > 0 {
			missed = append(missed, aim.name)
		}
	}
	for _, limit := range []struct {
		name string
		took []time.Duration
		most time.Duration
	}{{"a brief takes", c.briefs, 10 * time.Millisecond}, {"a hostile text takes", c.hostile, 50 * time.Millisecond}} {
		slices.Sort(limit.took)
		worst := limit.took[len(limit.took)*99/100]
		fmt.Fprintf(&b, "%-36s p50 %s, p99 %s (aim %s)\n", limit.name, limit.took[len(limit.took)/2].Round(10*time.Microsecond),
			worst.Round(10*time.Microsecond), limit.most)
		if worst > limit.most {
			missed = append(missed, limit.name)
		}
	}
	slices.Sort(c.took)
	fmt.Fprintf(&b, "time of a call      p50 %s, p99 %s of %d\n", c.took[len(c.took)/2].Round(10*time.Microsecond),
		c.took[len(c.took)*99/100].Round(10*time.Microsecond), len(c.took))
	return b.String(), missed
}

// numbersOf are all numbers in a JSON text.
func numbersOf(text []byte) (list []float64) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return list
		}
		if n, is := token.(float64); is {
			list = append(list, n)
		}
	}
}
