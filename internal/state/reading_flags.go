package state

import (
	"cmp"
	"slices"
	"strings"

	"github.com/contextd/contextd/internal/prose"
	"github.com/contextd/contextd/sdk/api"
)

// askFlags asks for what is out of the ordinary.
func (a *asking) askFlags() (parts []Part) {
	a.fields = slices.DeleteFunc(a.fields, func(p piece) bool {
		peg := strings.Contains(p.text, "peg")
		if peg {
			a.flagKind = cmp.Or(a.flagKind, api.FlagDepeg)
		}
		return peg
	})
	a.kinds = slices.DeleteFunc(a.kinds, func(kind int) bool {
		name := a.t.kinds[kind].Name
		if name == "hack" {
			a.flagKind = cmp.Or(a.flagKind, api.FlagExploit)
		}
		return name == "hack" || name == "stablecoin" && a.flagKind == api.FlagDepeg || name == "market"
	})
	a.subjects = slices.DeleteFunc(a.subjects, func(s subject) bool { // the whole market: all flags are about it
		return a.t.kinds[a.t.place[a.t.rows[s.rows[0]].Kind]].Sole
	})
	if len(a.all)+len(a.sorted)+len(a.fields)+len(a.values) > 0 || a.rank > 0 || len(a.bounds) > 0 || a.order != nil || a.first > 0 {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous)
	}
	for _, p := range a.times {
		if !p.when.Loose {
			a.miss(p.text, api.MissingNoSuchSpan, "changes since then")
		}
	}
	if a.match != "" { // that a thing has none is not said of one that may be another
		for _, s := range a.subjects {
			a.miss(s.text, api.MissingUnknownWord, a.t.nameOf(s))
		}
	}
	kind := func(s subject) bool { _, is := a.t.asks[singular(s.text)]; return is } // the flags of stablecoins, and not of the category
	news := func(w term) bool { return oneOf(w.text, "|news|headline|headlines|story|stories|article|articles|") }
	if a.kind != "" || len(a.kinds) > 0 || slices.ContainsFunc(a.subjects, kind) || slices.ContainsFunc(a.words, news) {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous)
	}
	if len(a.missing) > 0 {
		return nil
	}
	return a.flagsOf("")
}

// troubles are words for what is wrong with something that runs.
var troubles = prose.Form(`\b(?:trouble|problems?|issues?|wrong|disruptions?)\b`)

// ailing reads whether something that has a status has problems as its status.
func (a *asking) ailing() {
	status := func(row int) bool { return a.t.kinds[a.t.kindOf[row]].field("status") != nil }
	other := func(s subject) bool { return !slices.ContainsFunc(s.rows, status) }
	if !a.flags || !a.trouble || a.flagKind != "" || len(a.subjects) == 0 || slices.ContainsFunc(a.subjects, other) {
		return
	}
	a.flags = false
	a.fields = append(a.fields, piece{role: ofField, text: "status"})
}

// flagsOf asks for the flags of the things that are asked about, or for all.
func (a *asking) flagsOf(entity string) (parts []Part) {
	p := Part{Query: api.RowQuery{Table: api.TableFlags, Limit: api.MaxLookupRows}, Match: api.MatchExact, even: true}
	if level := a.severity(); level != "" {
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "severity", Op: api.CompareEqual, Value: string(level)})
	}
	if a.flagKind != "" {
		op := api.CompareEqual
		if strings.Contains(a.flagKind, ",") {
			op = api.CompareIn
		}
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "kind", Op: op, Value: a.flagKind})
	}
	entities := []string{entity}
	if entity == "" {
		entities = nil
		for _, s := range a.subjects {
			entities = append(entities, a.t.rows[s.rows[0]].Entity)
		}
	}
	switch len(entities) {
	case 0:
	case 1:
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "entity", Op: api.CompareEqual, Value: entities[0]})
	default:
		p.Query.Where = append(p.Query.Where, api.Condition{Field: "entity", Op: api.CompareIn, Value: strings.Join(entities, ",")})
	}
	return []Part{p}
}

// severity is the one of flags that is asked for, "" for all: warnings are flags of any, but for those flags that are warnings.
func (a *asking) severity() api.Severity {
	said := texts(a.words)
	has := func(list string) bool {
		return slices.ContainsFunc(said, func(w string) bool { return oneOf(w, list) })
	}
	switch {
	case has("|critical|"):
		return api.SeverityCritical
	case has("|warning|warnings|") && has("|flag|flags|flagged|only|just|severity|"):
		return api.SeverityWarning
	}
	return ""
}

// askHappened asks for how things moved, and for the flags and the news of them.
func (a *asking) askHappened() (parts []Part) {
	if len(a.all)+len(a.sorted)+len(a.kinds)+len(a.values) > 0 || a.rank > 0 || len(a.bounds) > 0 || a.order != nil || a.first > 0 {
		a.miss(strings.Join(texts(a.words), " "), api.MissingAmbiguous)
		return nil
	}
	for _, s := range a.subjects {
		f, ok := a.about(s)
		if !ok {
			a.missing = append(a.missing, f.lack...)
			continue
		}
		if len(f.fields) == 0 {
			for _, c := range having(a.t.kinds[f.kind].Fields, changes) {
				f.fields = append(f.fields, c.Name)
			}
		}
		entity := a.t.rows[f.rows[0]].Entity
		parts = append(a.put(parts, s, f), a.flagsOf(entity)...)
		for kind, k := range a.t.kinds {
			if k.Own && clockOf(k) != "" && len(a.t.within(a.t.entities[entity], kind)) > 0 {
				p := a.part(kind, nil, nil)
				p.Query.Where, p.even = []api.Condition{{Field: "entity", Op: api.CompareEqual, Value: entity}}, true
				parts = append(parts, p)
			}
		}
	}
	if len(a.missing) > 0 {
		return nil
	}
	return parts
}
