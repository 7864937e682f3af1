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

// checking holds texts against the operation check. Their truth is that of the raw payloads, rounded and written here.
type checking struct {
	*world
	chance  *rand.Rand
	verbose bool
	reasons map[api.CheckReason]int   // why false ones are unknown
	counts  map[string]*tallied       // by category
	things  map[int]map[string]*thing // by tick, then kind and key
	order   []string
	state   []float64 // all numbers of the state, for the naive rule
	took    []time.Duration
	out     strings.Builder
}

// tallied is what became of the sentences of a category.
type tallied struct{ asked, verified, refuted, stale, unknown, naive int }

// judgeChecks prints what check makes of true, false, old, undecidable, foreign and tampered texts.
func judgeChecks(ctx context.Context, cfg config, verbose bool) (table string, err error) {
	w, err := newWorld(ctx, cfg)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, w.close()) }()
	c := &checking{world: w, chance: rand.New(rand.NewPCG(cfg.seed, 36)), verbose: verbose, counts: map[string]*tallied{},
		reasons: map[api.CheckReason]int{}, things: map[int]map[string]*thing{}}
	for w.tick < cfg.ticks-1 {
		if err := w.advance(ctx); err != nil {
			return "", err
		}
		if w.tick < 12 || w.tick%4 != 0 || w.tick >= cfg.ticks*11/20 { // later upstreams fail, which other tests measure
			continue
		}
		if err := c.judge(ctx); err != nil {
			return "", err
		}
	}
	table, missed := c.table()
	if len(missed) > 0 {
		err = fmt.Errorf("aims that are missed: %s", strings.Join(missed, ", "))
	}
	return table, err
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
	now, err := c.read(c.tick)
	if err != nil {
		return err
	}
	then, err := c.read(c.tick - 2 - c.chance.IntN(8))
	if err != nil {
		return err
	}
	list, old := now.cryptoThings(), then.cryptoThings()
	before := map[string]*thing{}
	for _, t := range old {
		before[t.kind+"/"+t.key] = t
	}
	named := c.subjects(list)
	if err := c.all(c.tick); err != nil {
		return err
	}
	for _, step := range []func(context.Context, []*thing, map[string]*thing) error{
		c.trueOnes, c.falseOnes, c.oldOnes, c.silentOnes, c.foreignOnes,
	} {
		if err := step(ctx, named, before); err != nil {
			return err
		}
	}
	return c.tamper(ctx, fresh.Brief)
}

// subjects are the things that sentences are made about: the larger ones of each kind with a name of letters that nothing else has.
func (c *checking) subjects(list []*thing) (named []*thing) {
	many, seen := map[string]int{}, map[string]int{}
	for _, t := range list {
		seen[strings.ToLower(t.name)]++
	}
	for _, t := range list {
		most := map[string]int{"asset": 40, "protocol": 20, "stablecoin": 8}[t.kind]
		if len(t.name) < 4 || many[t.kind] >= most || t.texts["excluded"] != "" || strings.ContainsAny(t.name, "0123456789(.") ||
			t.kind != "asset" && seen[strings.ToLower(t.name)] > 1 || t.texts["stable"] != "" {
			continue
		}
		many[t.kind]++
		named = append(named, t)
	}
	return named
}

// forms are the ways to state a field of a kind: {N} a name, {S} a symbol, {V} a figure, {W} a word for its way.
func forms(kind, field string) []string {
	switch kind + "." + field {
	case "asset.priceUsd":
		return []string{"{N} trades at {V}.", "{N} is at {V}.", "The price of {N} is {V}.", "{S}: {V}", "{N} costs {V}.",
			"{N} ({S}) is trading at {V} today.", "Right now {N} stands at {V}.", "{N} changes hands at {V}."}
	case "asset.change24hPct", "protocol.change24hPct":
		return []string{"{N} {W} {V} in 24 hours.", "{N} {W} {V} today.", "Over the past day {N} {W} {V}.", "{N} has {W} {V} in the last 24 hours."}
	case "asset.change7dPct":
		return []string{"{N} {W} {V} in the past week.", "{N} {W} {V} over 7 days.", "{N} {W} {V} this week."}
	case "asset.change1hPct":
		return []string{"{N} {W} {V} in the last hour.", "{N} {W} {V} in the past hour."}
	case "asset.marketCapUsd":
		return []string{"{N} has a market cap of {V}.", "{N}'s market cap is {V}.", "The market cap of {N} stands at {V}."}
	case "asset.volume24hUsd":
		return []string{"{N}'s trading volume is {V}.", "{N} has a 24-hour volume of {V}."}
	case "protocol.tvlUsd":
		return []string{"{N} holds {V}.", "{N} has a TVL of {V}.", "The TVL of {N} is {V}.", "{N} has {V} locked."}
	case "stablecoin.supplyUsd":
		return []string{"{N} has a supply of {V}.", "{N}'s supply is {V}."}
	}
	return nil
}

// fieldsOfKind are those that sentences state.
func fieldsOfKind(kind string) []string {
	switch kind {
	case "asset":
		return []string{"priceUsd", "change24hPct", "priceUsd", "change7dPct", "marketCapUsd", "change1hPct", "volume24hUsd"}
	case "protocol":
		return []string{"tvlUsd", "change24hPct"}
	}
	return []string{"supplyUsd"}
}

// written is a figure of a field as people write it, in one of several ways, with its value and half a unit of its last digit.
func written(field string, v float64, way int) (text string, value, half float64) {
	if strings.HasSuffix(field, "Pct") {
		places := 1 + way%2
		value = math.Abs(rounded(v, places))
		return strconv.FormatFloat(value, 'f', places, 64) + "%", value, 0.5 * math.Pow10(-places)
	}
	switch {
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
	list := forms(t.kind, field)
	form := list[c.chance.IntN(len(list))]
	text, value, half := written(field, v, c.chance.IntN(6))
	way := "rose"
	if v < 0 {
		way = "fell"
	}
	return stating{strings.NewReplacer("{N}", t.name, "{S}", t.symbol, "{V}", text, "{W}", way).Replace(form), value, half}
}

// pick is a random figure of a random thing, of some size where it is a change.
func (c *checking) pick(named []*thing) (t *thing, field string, v float64) {
	for {
		t = named[c.chance.IntN(len(named))]
		fields := fieldsOfKind(t.kind)
		field = fields[c.chance.IntN(len(fields))]
		if f, ok := t.numbers[field]; ok && math.Abs(f.value) > 0.25 || ok && !strings.HasSuffix(field, "Pct") && f.value > 0 {
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
		kind, wrong := "B value", v
		switch i % 5 {
		case 0, 1:
			by := []float64{0.01, 0.03, 0.07, 0.15, 0.3, 0.5}[c.chance.IntN(6)]
			kind = fmt.Sprintf("B value off by %.0f %%", 100*by)
			if strings.HasSuffix(field, "Pct") {
				by, kind = []float64{0.3, 1, 3, 10}[c.chance.IntN(4)], "B percent off"
				wrong = v + math.Copysign(by, v)
				kind = fmt.Sprintf("B percent off by %g points", by)
			} else if c.chance.IntN(2) == 0 {
				wrong = v * (1 + by)
			} else {
				wrong = v * (1 - by)
			}
		case 2: // the other way
			if !strings.HasSuffix(field, "Pct") {
				wrong, kind = v*1000, "B scale"
				break
			}
			wrong, kind = -v, "B direction"
		case 3: // of another thing
			o, ok := named[c.chance.IntN(len(named))], false
			if f, has := o.numbers[field]; has && o.kind == t.kind && math.Abs(f.value-v) > 0.1*math.Abs(v)+0.3 {
				wrong, ok = f.value, true
			}
			if !ok {
				continue
			}
			kind = "B subject"
		case 4: // of another field
			other := map[string]string{"priceUsd": "marketCapUsd", "marketCapUsd": "volume24hUsd", "volume24hUsd": "marketCapUsd",
				"change24hPct": "change7dPct", "change7dPct": "change24hPct"}[field]
			f, ok := t.numbers[other]
			if !ok || c.twofold(t) || math.Abs(f.value-v) < 0.1*math.Abs(v)+0.3 {
				continue
			}
			wrong, kind = f.value, "B field"
		}
		s := c.stated(t, field, wrong)
		if c.ever(t, field, math.Copysign(s.value, wrong), s.half) {
			continue // it rounds to what is true, or was on the day
		}
		if err := c.ask(ctx, kind, s); err != nil {
			return err
		}
	}
	return nil
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
	r, err := c.read(tick)
	if err != nil {
		return err
	}
	c.things[tick] = map[string]*thing{}
	for _, t := range r.cryptoThings() {
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
		if !ok || c.chance.IntN(5) > 0 {
			continue
		}
		var t *thing
		for t == nil || t.kind != "asset" {
			t = named[c.chance.IntN(len(named))]
		}
		v := t.numbers["priceUsd"].value * []float64{0.5, 1.3, 2}[c.chance.IntN(3)]
		text, value, half := written("priceUsd", v, c.chance.IntN(6))
		s := stating{strings.NewReplacer("{N}", t.name, "{S}", t.symbol, "{V}", text).Replace(form), value, half}
		if err := c.ask(ctx, "D "+why, s); err != nil {
			return err
		}
	}
	return nil
}

// foreignOnes are the sentences of other languages, true and with the figure changed.
func (c *checking) foreignOnes(ctx context.Context, named []*thing, _ map[string]*thing) error {
	for _, form := range []struct{ lang, text, thousands, decimal string }{
		{"de", "{N} kostet {V} Dollar.", ".", ","}, {"fr", "{N} vaut {V} dollars.", "\u202f", ","}, {"es", "{N} cotiza a {V} dólares.", ".", ","},
		{"pt", "{N} está cotado a {V} dólares.", ".", ","}, {"it", "{N} vale {V} dollari.", ".", ","}, {"pl", "{N} kosztuje {V} dolarów.", " ", ","},
		{"ru", "{N} стоит {V} долларов.", "\u00a0", ","}, {"zh", "{N} 价格为 {V} 美元。", ",", "."}, {"ja", "{N}は{V}ドルです。", ",", "."},
		{"hi", "{N} की कीमत {V} डॉलर है।", ",", "."}, {"ar", "سعر {N} هو {V} دولار.", "٬", "٫"}, {"ch", "{N}: {V} $", "’", "."},
	} {
		var t *thing
		for t == nil || t.kind != "asset" || t.numbers["priceUsd"].value < 1 {
			t = named[c.chance.IntN(len(named))]
		}
		for category, by := range map[string]float64{"E true": 1, "E changed": 1.21} {
			v := rounded(t.numbers["priceUsd"].value*by, 2)
			text := strings.NewReplacer(",", form.thousands, ".", form.decimal).Replace(thousands(strconv.FormatFloat(v, 'f', 2, 64)))
			if form.lang == "ar" {
				text = strings.Map(func(r rune) rune {
					if r >= '0' && r <= '9' {
						return r - '0' + '٠'
					}
					return r
				}, text)
			}
			s := stating{strings.NewReplacer("{N}", t.name, "{V}", text).Replace(form.text), v, 0.005}
			if err := c.ask(ctx, category, s); err != nil {
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
	status, answer, err := c.caller.send(ctx, http.MethodPost, api.OpCheck.Path()+"?within="+api.FormatSpan(within), string(body))
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
	if category[0] == 'B' && r.Verdict == api.CheckUnknown && len(r.Findings) > 0 {
		c.reasons[r.Findings[0].Reason]++
	}
	wrong := category[0] != 'B' && category != "E changed" && r.Verdict == api.CheckRefuted
	wrong = wrong || (category[0] == 'B' || category == "E changed") && r.Verdict == api.CheckVerified
	if len(r.Findings) == 0 {
		r.Findings = append(r.Findings, api.CheckFinding{Verdict: r.Verdict, Reason: "no finding"})
	}
	if wrong || c.verbose && (category == "A true" && r.Verdict != api.CheckVerified || category == "E true" && r.Verdict != api.CheckVerified ||
		category[0] == 'B' && r.Verdict == api.CheckUnknown) {
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
	b.WriteString("\nB unknown:")
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
		{"verified, of what is true", said.verified, said.asked, 0.97},
		{"verified, in twelve languages", foreign.verified, foreign.asked, 0.97},
		{"verified, of briefs", briefs.verified, briefs.asked, 1},
		{"verified rightly", right, right + bad.verified + changed.verified + tampered.verified, 0.995},
		{"not verified, of tampered briefs", tampered.asked - tampered.verified, tampered.asked, 1},
		{"stale or lately so, of what is old", old.stale + old.verified, old.asked, 0.9},
	} {
		share := float64(aim.n) / float64(max(aim.all, 1))
		fmt.Fprintf(&b, "%-36s %5d of %5d: %.4f (aim %g)\n", aim.name, aim.n, aim.all, share, aim.aim)
		if share < aim.aim {
			missed = append(missed, aim.name)
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
