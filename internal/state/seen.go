package state

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// As is d as people and models are shown it beside f, which may be newer: rows of sources that are not ok are stale, source_status says how
// the sources do, and flags has those of f. The state itself keeps its bytes.
func (d *Document) As(f api.Freshness) *Document {
	if d == nil || d.err != nil || len(f.Sources) == 0 {
		return d
	}
	status, troubled := slices.Clone(d.Sources()), map[int]bool{}
	for i := range status {
		s := &status[i]
		at := slices.IndexFunc(f.Sources, func(t api.SourceTrouble) bool { return t.ID == s.ID })
		if at < 0 {
			continue
		}
		s.Status, s.Failures, troubled[s.Ref] = f.Sources[at].Status, f.Sources[at].Failures, true
	}
	var out bytes.Buffer
	from := 0
	edit := func(at, to int, text []byte) {
		out.Write(d.text[from:at])
		out.Write(text)
		from = to
	}
	var visit func(v *jsonx.Value)
	visit = func(v *jsonx.Value) {
		for _, m := range v.Members {
			visit(m)
		}
		if kind := memberText(v, "kind"); troubled[refOf(v)] && v.Member("stale") == nil &&
			!api.AboutSource(kind) {
			end := v.At + len(v.Raw) - 1
			edit(end, end, []byte(`,"stale":true`))
		}
	}
	for _, m := range d.root.Members {
		end := m.At + len(m.Raw)
		switch {
		case m.Name == api.MemberSourceStatus && len(status) > 0:
			text, _ := jsonx.Encode(status) // of what was read
			edit(m.At, end, text)
		case m.Name == api.MemberFlags && m.IsArray():
			visit(m)
			some := len(m.Members) > 0
			for _, flag := range f.Flags {
				if slices.ContainsFunc(d.Flags(), func(old api.Flag) bool { return old.ID == flag.ID }) {
					continue
				}
				text, _ := jsonx.Encode(flag) // of texts, numbers and times
				if some {
					text = append([]byte{','}, text...)
				}
				some = true
				edit(end-1, end-1, text)
			}
		default:
			visit(m)
		}
	}
	out.Write(d.text[from:])
	return Read(out.Bytes())
}

// Troubles says in a line which sources are not ok, since when, and how often they failed, "" for none. One that was never asked, or is
// switched off, is in no trouble.
func Troubles(f api.Freshness, clock func(time.Time) string) string {
	var list []string
	for _, s := range f.Sources {
		if s.Since == nil && s.Failures == 0 {
			continue
		}
		name := s.ID
		if i := slices.IndexFunc(f.Flags, func(flag api.Flag) bool { return flag.ID == "source:"+s.ID }); i >= 0 {
			name = cmp.Or(f.Flags[i].Subject, name)
		}
		text := human.Line(name) + " is stale"
		if s.Status == api.SourceError {
			text = human.Line(name) + " has no usable data"
		}
		if s.Since != nil {
			text += " since " + clock(*s.Since)
		}
		if s.Failures > 0 {
			text += fmt.Sprintf(", %s failed", human.Plural(s.Failures, "attempt"))
		}
		list = append(list, text)
	}
	const most = 3
	if more := len(list) - most; more > 1 {
		list = append(list[:most], human.Plural(more, "more source"))
	}
	return strings.Join(list, "; ")
}
