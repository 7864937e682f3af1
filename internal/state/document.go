package state

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// Document is a state that was parsed, for all who read it: once, by whoever publishes it. It never changes and is safe for concurrent
// use. A nil Document, like one that is no JSON, is a state that says nothing.
type Document struct {
	text    []byte
	root    *jsonx.Value // of no kind where err is set
	err     error
	flags   func() []api.Flag
	sources func() []api.SourceStatus
	ages    func() api.Ages
	table   func() *Table
}

// Read parses a state and keeps slices of it. Whether it is JSON, Err tells.
func Read(text []byte) *Document {
	d := &Document{text: text, root: &jsonx.Value{}}
	if root, err := jsonx.Parse(text); err != nil {
		d.err = err
	} else {
		d.root = root
	}
	d.flags = sync.OnceValue(func() []api.Flag { return listIn[api.Flag](d, api.MemberFlags) })
	d.sources = sync.OnceValue(func() []api.SourceStatus { return listIn[api.SourceStatus](d, api.MemberSourceStatus) })
	d.ages = sync.OnceValue(d.newAges)
	d.table = sync.OnceValue(func() *Table { return newTable(d.root) })
	return d
}

// listIn is a list that is a member of d, nil where it cannot be read.
func listIn[T any](d *Document, member string) (list []T) {
	if d.Decode(member, &list) != nil {
		return nil
	}
	return list
}

// newAges are what api.AgesOf reads, without another parse.
func (d *Document) newAges() api.Ages {
	if len(d.Sources()) == 0 {
		return api.Ages{}
	}
	shown := map[int]bool{}
	var visit func(v *jsonx.Value)
	visit = func(v *jsonx.Value) {
		if api.AboutSource(memberText(v, "kind")) {
			return // it is about a source, and no data of it
		}
		if ref := refOf(v); ref != 0 {
			shown[ref] = true
		}
		for _, m := range v.Members {
			visit(m)
		}
	}
	for _, m := range d.root.Members {
		if m.Name != api.MemberSourceStatus {
			visit(m)
		}
	}
	return api.NewAges(d.Sources(), shown, d.Flags())
}

// Err says why the state is no JSON; nil where it is.
func (d *Document) Err() error {
	if d == nil {
		return nil
	}
	return d.err
}

// Text is the state as it was published. The caller must not change it.
func (d *Document) Text() []byte {
	if d == nil {
		return nil
	}
	return d.text
}

// Root is the tree of the state, without members where it says nothing. The caller must not change it.
func (d *Document) Root() *jsonx.Value {
	if d == nil {
		return &jsonx.Value{}
	}
	return d.root
}

// Decode has a member of the state in v, as encoding/json does. A member that is missing leaves v as it is.
func (d *Document) Decode(member string, v any) error {
	m := d.Root().Member(member)
	if m == nil {
		return d.Err()
	}
	if err := json.Unmarshal(m.Raw, v); err != nil {
		return fmt.Errorf("read %s: %w", member, err)
	}
	return nil
}

// Flags are the flags that stand. A list that cannot be read counts as none: at worst a flag forgets since when it stands. The caller
// must not change them.
func (d *Document) Flags() []api.Flag {
	if d == nil {
		return nil
	}
	return d.flags()
}

// Sources say how the sources did; none where that cannot be read. The caller must not change them.
func (d *Document) Sources() []api.SourceStatus {
	if d == nil {
		return nil
	}
	return d.sources()
}

// Ages are how old the data of the state are, by source.
func (d *Document) Ages() api.Ages {
	if d == nil {
		return api.Ages{}
	}
	return d.ages()
}

// Table is the state's leaves, ready to be searched.
func (d *Document) Table() *Table { return d.table() }

// Part is the state with the members alone that are named with commas between, in its order and as they are written there; all for "".
func (d *Document) Part(names string) []byte {
	if names == "" {
		return d.Text()
	}
	asked := strings.Split(names, ",")
	var told []*jsonx.Value
	if d.Root().IsObject() {
		for _, m := range d.Root().Members {
			if slices.Contains(asked, m.Name) {
				told = append(told, m)
			}
		}
	}
	text, _ := jsonx.Object(told) // names and texts that were read can be written
	return text
}

// Names are the names of the members of the state, in their order; none where it is no object.
func (d *Document) Names() (names []string) {
	if !d.Root().IsObject() {
		return nil
	}
	for _, m := range d.Root().Members {
		names = append(names, m.Name)
	}
	return names
}

// Texts are the strings of the state, in its order.
func (d *Document) Texts() (list []string) {
	var visit func(v *jsonx.Value)
	visit = func(v *jsonx.Value) {
		for _, m := range v.Members {
			visit(m)
		}
		if v.IsString() {
			list = append(list, v.Text())
		}
	}
	visit(d.Root())
	return list
}

// Has reports whether something stands at a path, as search writes it.
func (d *Document) Has(path string) bool {
	found := false
	var visit func(v *jsonx.Value)
	visit = func(v *jsonx.Value) {
		for _, m := range v.Members {
			if found {
				return
			}
			if p := m.Path(); p == path {
				found = string(m.Raw) != "null"
			} else if strings.HasPrefix(path, p+".") || strings.HasPrefix(path, p+"[") {
				visit(m)
			}
		}
	}
	visit(d.Root())
	return found
}
