package state

import (
	"slices"
	"strconv"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// idle is a word of a reading that does nothing in what is asked: that does not show it, and is the same without it. It is "" where each
// word does something.
func (t *Tables) idle(list []piece, words []term, kind string, limit int, got Question) string {
	for i, p := range list {
		compares := p.role == above || p.role == below
		quotes := p.role == naming && i > 0 && oneOf(p.text, "|usdt|usdc|usd|tether|") &&
			(words[p.from].slash || oneOf(words[p.from-1].text, "|in|to|"))
		stands := quotes || compares && beside(list, i, 1).role != figuring || comparesTwo(list, i)
		if stands || slices.ContainsFunc(got.Parts, func(of Part) bool { return t.shows(of, p) }) {
			continue
		}
		without := slices.Clone(list)
		without[i] = piece{role: grammar, from: p.from, to: p.to}
		if again := t.ask(without, words, kind, limit, ""); len(again.Missing) == 0 && slices.EqualFunc(got.Parts, again.Parts, same) {
			return p.text
		}
	}
	return ""
}

// shows reports whether what a word of a reading means stands in a part, or nothing has to.
func (t *Tables) shows(of Part, p piece) bool {
	q := of.Query
	at, known := t.place[q.Table]
	if !known { // flags and sources, which are asked for in words of their own
		return true
	}
	k := t.kinds[at]
	names := slices.Concat(of.Asked, []string{strings.TrimPrefix(q.Order, "-")})
	for _, agg := range q.Agg {
		if _, name, is := strings.Cut(agg, ":"); is {
			names = append(names, name)
		}
	}
	for _, c := range q.Where {
		names = append(names, c.Field)
	}
	has := func(is func(f Field) bool) bool {
		return slices.ContainsFunc(names, func(name string) bool { f := k.field(name); return f != nil && is(*f) })
	}
	says := func(text string) bool {
		return slices.ContainsFunc(q.Where, func(c api.Condition) bool {
			return slices.ContainsFunc(c.Values(), func(v string) bool { return strings.EqualFold(v, text) })
		})
	}
	counts := len(q.Agg) == 1 && q.Agg[0] == aggCount
	switch p.role {
	case ofField:
		size := k.field(k.Size)
		sized := sizing(p) || size != nil && size.means(p.text) && has(func(f Field) bool { return f.Name == "rank" })
		named := has(func(f Field) bool { return f.means(p.text) || f.means(short(p.text)) })
		moved := (moving(p) || strings.HasSuffix(p.text, " change")) && (of.over || has(changes))
		return sized || named || moved || counts || len(of.Asked)+len(q.Agg) == 0
	case rising, falling:
		counted := func(f Field) bool { return f.Counts && f.means(p.text) } // what share of them is green
		news := k.Own && clockOf(k) != ""                                    // of which none says that it is good
		return of.over || oneOf(p.text, "|negative|positive|") && !news || slices.ContainsFunc(k.Fields, counted) ||
			has(func(f Field) bool { return changes(f) || f.means(p.text) })
	case timing:
		return p.when.Loose || of.when != nil || has(func(f Field) bool { return spanned(f, p.when) })
	case valued:
		return slices.ContainsFunc(p.values, func(v value) bool { return says(v.text) })
	case naming:
		return slices.ContainsFunc(p.hits, func(h hit) bool {
			r := t.rows[h.row]
			part := func(key string) bool { return strings.HasPrefix(key, r.Key+"/") }
			return says(r.Key) || says(r.Entity) || says(r.Symbol) || slices.Contains(of.keys, r.Key) || slices.ContainsFunc(of.keys, part)
		}) || slices.ContainsFunc(of.keys, func(key string) bool {
			r := t.Row(q.Table, key)
			return r != nil && !slices.ContainsFunc(wordsOf(p.text), func(w string) bool { return !slices.Contains(wordsOf(r.Name), w) })
		})
	case figuring, ranking:
		return q.Limit == int(p.number) || len(of.keys) == int(p.number) || says(strconv.FormatFloat(p.number, 'f', -1, 64)) ||
			says(strconv.FormatFloat(-p.number, 'f', -1, 64))
	case most:
		return q.Order != "" || len(q.Agg) > 0 || k.Size != "" // by which the most comes first
	case least, expensive, cheap:
		return q.Order != "" || len(q.Agg) > 0
	case negating:
		return slices.ContainsFunc(q.Where, func(c api.Condition) bool { return c.Op == api.CompareUnequal })
	case above, below:
		return false
	}
	return true
}

// same reports whether two parts ask for the same figures of the same rows.
func same(a, b Part) bool {
	return alike(a, b) && slices.Equal(a.Asked, b.Asked) && a.skip == b.skip && a.share == b.share && a.apart == b.apart &&
		a.Query.Limit == b.Query.Limit
}
