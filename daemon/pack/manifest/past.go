package manifest

import (
	"math"
	"slices"
	"time"

	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
)

const (
	samplesPerSpan = 24  // about how many values of a span are kept
	wildChange     = 1e5 // percent, beyond which one of the two values is a mistake of upstream
)

// remember adds to the rows of doc how their values changed, by those of last, and keeps what the next answer needs for that. Values before
// a time in which nobody asked tell no change over a span: what happened in it is not known.
func (s *Source) remember(doc, last *source.RowsDoc, now time.Time) {
	doc.At, doc.Since = now, now
	if last != nil && !now.Before(last.At) && now.Sub(last.At) <= 3*max(s.Every, usualEvery) {
		doc.Since = last.Since
	}
	for _, f := range s.Fields {
		if f.Changed == 0 && len(f.Change) == 0 {
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
			samples := f.samples(before, source.Sample{At: now, Value: *v.Number})
			if doc.Past == nil {
				doc.Past = make(map[string][]source.Sample)
			}
			doc.Past[r.Key+"/"+f.Name] = samples
			s.setChanges(r, f, samples, doc.Since, now)
		}
	}
}

// samples adds a value to those before it, if it is another one, and drops what f does not need: all but the two newest are thinned out,
// those that the shortest span has left behind more than the others.
func (f Field) samples(before []source.Sample, value source.Sample) []source.Sample {
	var list []source.Sample
	for _, old := range before {
		if old.At.Before(value.At) { // else the clock was set back
			list = append(list, old)
		}
	}
	if n := len(list); n == 0 || list[n-1].Value != value.Value {
		list = append(list, value)
	}
	for i := len(list) - 3; i > 0; i-- {
		if list[i+1].At.Sub(list[i-1].At) < f.spanOf(value.At.Sub(list[i].At))/samplesPerSpan {
			list = slices.Delete(list, i, i+1)
		}
	}
	for len(list) > 1 {
		needed := f.longest()
		if len(list) == 2 { // what is told of a change that was seen
			needed = max(needed, f.Changed)
		}
		if value.At.Sub(list[1].At) < needed {
			break
		}
		list = list[1:]
	}
	return list
}

// longest is the longest span over which a change is told, 0 for none.
func (f Field) longest() (longest time.Duration) {
	for _, span := range f.Change {
		longest = max(longest, span)
	}
	return longest
}

// spanOf is the shortest span that values of an age are still needed for. The one to compare with may be somewhat older than the span.
func (f Field) spanOf(age time.Duration) time.Duration {
	found := f.longest()
	for _, span := range f.Change {
		if span+span/4 >= age {
			found = min(found, span)
		}
	}
	return found
}

func (s *Source) setChanges(r *source.DeclaredRow, f Field, samples []source.Sample, since, now time.Time) {
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
		if math.Abs(change) > wildChange {
			continue
		}
		name := wireName(f.Name+"_change_"+spanName(span), typePercent)
		r.Values = append(r.Values, source.Value{Name: name, Number: &change, Ours: true})
	}
	if n := len(samples); f.Changed > 0 && n > 1 && now.Sub(value.At) < f.Changed {
		was, at := samples[n-2].Value, value.At.UTC()
		r.Values = append(r.Values,
			source.Value{Name: wireName(f.Name+"_was", f.Type), Number: &was, Ours: true},
			source.Value{Name: wireName(f.Name+"_changed_at", typeTime), Time: &at, Ours: true})
	}
}
