package state

import (
	"slices"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// fits compares what would be answered with the question's own words, and misses those that it is no answer to: a thing with which
// something is compared, a kind that stands beside another one, a unit that no figure has, a thing of which a part alone is asked for, a
// time that is over.
func (a *asking) fits(list []piece, parts []Part) {
	if word := a.onlyCompared(parts); word != "" {
		a.miss(word, api.MissingAmbiguous)
	}
	if word := a.otherKind(parts); word != "" {
		a.miss(word, api.MissingAmbiguous)
	}
	if word := a.otherUnit(list, parts); word != "" {
		a.miss(word, api.MissingNoSuchField)
	}
	if word := a.within(parts); word != "" {
		a.miss(word, api.MissingAmbiguous)
	}
	if word := a.partly(parts); word != "" {
		a.miss(word, api.MissingNoSuchField)
	}
	if len(a.subjects) > 0 && saysDue(a.t, parts) {
		for _, w := range a.words { // when the last one came is not when the next is due
			if oneOf(w.text, "|last|latest|previous|did|was|were|came|ago|") {
				a.miss(w.text, api.MissingNoSuchMoment)
				break
			}
		}
	}
}

// onlyCompared is the one thing that is named where the question asks what compares with it, "" where it asks about that thing: coins with
// the same price as USDT, which chains grew while Ethereum fell.
func (a *asking) onlyCompared(parts []Part) string {
	if len(a.subjects) != 1 || len(parts) == 0 {
		return ""
	}
	s := a.subjects[0]
	from := s.from - 1
	for from > 0 && oneOf(a.words[from].text, articles) {
		from--
	}
	same := func(w term) bool { return w.text == "same" }
	if from >= 0 && (a.words[from].text == "than" || a.words[from].text == "as" && slices.ContainsFunc(a.words, same)) {
		return a.words[from].text + " " + s.text
	}
	for _, p := range a.kindly {
		of := a.t.kinds[p.kind]
		asks := oneOf(a.ahead(p.from), "|which|what|") && p.text != singular(p.text) && p.order == nil && !of.Own
		if asks && parts[0].Query.Table == of.Name && len(parts[0].keys) > 0 {
			return s.text
		}
	}
	return ""
}

// otherKind is a kind that is named beside another one and of which no part asks, "" for none: options versus perps.
func (a *asking) otherKind(parts []Part) string {
	for i := range a.kindly[min(1, len(a.kindly)):] {
		p, q := a.kindly[i], a.kindly[i+1]
		between := a.words[min(p.to, q.from):q.from]
		apart := func(w term) bool { return a.t.vocabulary[w.text] != joining && !oneOf(w.text, articles) }
		if p.kind == q.kind || p.order != nil || q.order != nil || len(between) == 0 || slices.ContainsFunc(between, apart) {
			continue
		}
		for _, p := range [...]piece{p, q} {
			asked := func(of Part) bool {
				k := a.t.kinds[a.t.place[of.Query.Table]]
				return of.Query.Table == a.t.kinds[p.kind].Name || slices.ContainsFunc(of.Asked, func(name string) bool {
					f := k.field(name)
					return f != nil && (f.means(p.text) || f.means(short(p.text)))
				})
			}
			if len(parts) > 0 && !slices.ContainsFunc(parts, asked) {
				return p.text
			}
		}
	}
	return ""
}

// otherUnit is the word for a unit that no figure of parts is in, "" for none: how many dollars did it gain, the open interest in coins.
func (a *asking) otherUnit(list []piece, parts []Part) string {
	for i, p := range list {
		said := strings.Fields(p.text)
		first, last := at(said, 0), at(said, len(said)-1)
		money := p.role == grammar && (oneOf(p.text, "|dollars|bucks|in dollar terms|") ||
			oneOf(first, "|in|how|") && oneOf(last, "|dollar|dollars|usd|bucks|"))
		coins := p.role == ofKind && p.order == nil && a.ahead(p.from) == "in" && oneOf(p.text, "|coins|tokens|contracts|")
		if !money && !coins {
			continue
		}
		figure := func(p piece) bool { return p.role == ofField || p.role == rising || p.role == falling }
		of := i - 1
		for of >= 0 && !figure(list[of]) {
			of--
		}
		if of < 0 {
			of = max(0, i+slices.IndexFunc(list[i:], figure))
		}
		inDollars := func(name string) bool { return strings.HasSuffix(name, "Usd") || name == "rate" }
		for _, part := range parts {
			place, known := a.t.place[part.Query.Table]
			if !known || part.over {
				continue
			}
			k := a.t.kinds[place]
			asked := slices.Concat(part.Asked, []string{strings.TrimPrefix(part.Query.Order, "-")})
			means := func(name string) bool { f := k.field(name); return f != nil && f.means(list[of].text) }
			moved := figure(list[of]) && slices.ContainsFunc(asked, func(name string) bool {
				f := k.field(name)
				return f != nil && (changes(*f) || strings.Contains(name, "Change")) && (means(name) || moves(list[of]))
			})
			priced := slices.ContainsFunc(k.Fields, func(f Field) bool { return inDollars(f.Name) })
			all := len(part.Asked) > 0 && !slices.ContainsFunc(part.Asked, inDollars)
			if coins && slices.ContainsFunc(part.Asked, inDollars) || money && (moved || all || !priced) {
				return p.text
			}
		}
	}
	return ""
}

// saysDue reports whether a part says when something will be.
func saysDue(t *Tables, parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool {
		k := t.kinds[t.place[p.Query.Table]]
		asked := func(name string) bool { return k.field(name) != nil && comes(*k.field(name)) }
		return slices.ContainsFunc(p.Asked, asked) || len(p.Asked) == 0 && len(k.Fields) > 0 && comes(k.Fields[0])
	})
}

// partly is what the question asks about and parts have figures of more or of less than: what Aave holds on Ethereum, the open interest at
// all venues of which one is kept, "" for nothing.
func (a *asking) partly(parts []Part) string {
	if len(a.subjects) == 0 {
		return ""
	}
	for _, p := range parts {
		k := a.t.kinds[a.t.place[p.Query.Table]]
		main := func(c api.Condition) bool { f := k.field(c.Field); return f != nil && f.Main }
		if i := slices.IndexFunc(p.Query.Where, main); i >= 0 && len(p.Asked) > 0 && !slices.Contains(p.Asked, p.Query.Where[i].Field) {
			return "on " + strings.ToLower(p.Query.Where[i].Value)
		}
	}
	for i, w := range a.words {
		if !oneOf(w.text, "|venue|venues|exchange|exchanges|") || !oneOf(a.ahead(i), "|all|every|each|across|") || len(parts) == 0 {
			continue
		}
		venue := func(p Part) bool {
			of := a.t.kinds[a.t.place[p.Query.Table]]
			rows := 0
			for _, s := range a.subjects {
				for _, r := range s.rows {
					if a.t.rows[r].Kind == of.Name {
						rows++
					}
				}
			}
			return slices.Contains(of.Words, singular(w.text)) || rows > len(a.subjects)
		}
		if !slices.ContainsFunc(parts, venue) {
			return a.ahead(i) + " " + w.text
		}
	}
	return ""
}

// within is the one thing that is named where rows in it are asked for, "" where it is not: meme coins that fell, meme coins by market cap.
func (a *asking) within(parts []Part) string {
	if len(a.subjects) != 1 || len(parts) == 0 || len(parts[0].keys) == 0 {
		return ""
	}
	s, words := a.subjects[0], texts(a.words)
	several := func(w string) bool {
		of := func(k Kind) bool { return k.Name != parts[0].Query.Table && slices.Contains(k.Words, singular(w)) }
		return w != singular(w) && slices.ContainsFunc(a.t.kinds, of)
	}
	to := s.to
	if several(at(words, to)) {
		to++
	} else if !several(words[to-1]) {
		return ""
	}
	if oneOf(at(words, to), "|that|which|by|with|whose|") || oneOf(a.ahead(s.from), "|which|what|list|show|") {
		return strings.Join(words[s.from:to], " ")
	}
	return ""
}

// besideNow shows the figure of now, too, where that of an earlier time is asked for beside it: fear and greed last week versus now.
func (a *asking) besideNow(list []piece, parts []Part) {
	now := func(w term) bool { return oneOf(w.text, "|now|today|todays|current|currently|") }
	joins := func(p piece) bool { return p.role == joining }
	if len(parts) != 1 || !slices.ContainsFunc(list, joins) || !slices.ContainsFunc(a.words, now) {
		return
	}
	k := a.t.kinds[a.t.place[parts[0].Query.Table]]
	earlier := func(name string) bool { return strings.HasSuffix(name, "Ago") || strings.HasPrefix(name, "previous") }
	if slices.ContainsFunc(parts[0].Asked, earlier) && !slices.Contains(parts[0].Asked, k.Fields[0].Name) {
		parts[0].show(k.Fields[0].Name)
	}
}
