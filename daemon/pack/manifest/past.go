package manifest

import (
	"math"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
)

// samplesPerSpan is how many values of a span are kept at most.
const samplesPerSpan = 24

// remember adds to the rows of doc how their values changed, by those of last, and keeps what the next answer needs for that. Values before
// a time in which nobody asked tell no change over a span: what happened in it is not known.
func (s *Source) remember(doc, last *source.RowsDoc, now time.Time) {
	doc.At, doc.Since = now, now
	if last != nil && !now.Before(last.At) && now.Sub(last.At) <= 3*max(s.Every, usualEvery) {
		doc.Since = last.Since
	}
	for _, f := range s.Fields {
		longest := f.Changed
		for _, span := range f.Change {
			longest = max(longest, span)
		}
		if longest == 0 {
			continue
		}
		for i := range doc.Rows {
			r := &doc.Rows[i]
			v := r.Value(wireName(f.Name, f.Type))
			if v == nil {
				continue
			}
			var before []source.Sample
			if last != nil {
				before = last.Past[r.Key+"/"+f.Name]
			}
			samples := kept(before, source.Sample{At: now, Value: *v.Number}, longest)
			if doc.Past == nil {
				doc.Past = make(map[string][]source.Sample)
			}
			doc.Past[r.Key+"/"+f.Name] = samples
			s.tell(r, f, samples, doc.Since, now)
		}
	}
}

// kept adds a value to those before it, if it is another one, and drops what nobody asks for.
func kept(before []source.Sample, value source.Sample, span time.Duration) []source.Sample {
	var list []source.Sample
	for _, old := range before {
		if old.At.Before(value.At) { // else the clock was set back
			list = append(list, old)
		}
	}
	n := len(list)
	switch {
	case n > 0 && list[n-1].Value == value.Value:
	case n > 1 && value.At.Sub(list[n-2].At) < span/samplesPerSpan:
		list[n-1] = value
	default:
		list = append(list, value)
	}
	for len(list) > 1 && value.At.Sub(list[1].At) >= span {
		list = list[1:]
	}
	return list
}

// tell adds to r how f changed.
func (s *Source) tell(r *source.DeclaredRow, f Field, samples []source.Sample, since, now time.Time) {
	value := samples[len(samples)-1]
	for _, span := range f.Change {
		then := now.Add(-span)
		if since.After(then) || samples[0].At.After(then) {
			continue
		}
		base := samples[0]
		for _, old := range samples {
			if !old.At.After(then) {
				base = old
			}
		}
		if base.Value == 0 {
			continue
		}
		change := human.Round((value.Value-base.Value)/math.Abs(base.Value)*100, 2)
		r.Values = append(r.Values, source.Value{Name: wireName(f.Name+"_change_"+spanName(span), typePercent), Number: &change})
	}
	if n := len(samples); f.Changed > 0 && n > 1 && now.Sub(value.At) < f.Changed {
		was, at := samples[n-2].Value, value.At.UTC()
		r.Values = append(r.Values,
			source.Value{Name: wireName(f.Name+"_was", f.Type), Number: &was},
			source.Value{Name: wireName(f.Name+"_changed_at", typeTime), Time: &at, Ours: true})
	}
}
