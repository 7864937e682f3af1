package manifest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/contextd/contextd/daemon/source"
)

// Example is the address of the source of a Draft without one.
const Example = "https://api.example.org/prices"

// Draft writes a manifest for an address that answers with JSON or a feed: it looks for rows in answer and guesses what their members are.
// Without an answer it is an example that can be changed by hand. It passes Read.
func Draft(pack, address string, answer []byte) ([]byte, error) {
	if !packID.MatchString(pack) {
		return nil, fmt.Errorf("%q is no name of a pack, such as my-pack", pack)
	}
	if slices.Contains(reserved(), pack) {
		return nil, fmt.Errorf("%s is the name of a pack of the program; choose another, such as my-%[1]s", pack)
	}
	d := draft{pack: pack, url: address}
	if answer == nil {
		answer = []byte(`[{"id":"acme","name":"Acme","price":1.5,"change_24h":-2.5}]`)
	}
	if err := d.ofJSON(answer); err != nil && d.ofFeed(answer) != nil {
		return nil, err
	}
	text := d.text()
	if _, err := Read(text, false); err != nil {
		return nil, fmt.Errorf("the manifest that was guessed does not hold: %w", err)
	}
	return text, nil
}

// draft is what was found out about an answer.
type draft struct {
	pack, url     string
	format        string
	rows, members string // jq: to the rows, and the members of each beside its fields
	expect        string
	fields        []guess
	time          string // the field that says when a row of news came
	first         string // the field that is told
}

type guess struct{ name, kind, path string }

func (d *draft) ofFeed(answer []byte) error {
	if _, err := source.Decode(source.FormatRSS, source.CSV{}, answer); err != nil {
		return err
	}
	d.format, d.expect, d.rows = string(source.FormatRSS), "length > 0", ".[]"
	d.members = `key: first((.id, .url) | select(. != "")), name: .title, url: .url`
	d.fields = []guess{{"published", typeTime, ".at"}}
	d.time, d.first = "published", "published"
	return nil
}

func (d *draft) ofJSON(answer []byte) error {
	doc, err := source.Decode(source.FormatJSON, source.CSV{}, answer)
	if err != nil {
		return err
	}
	d.format = string(source.FormatJSON)
	path, list := findRows(doc)
	keyed := false
	switch object, is := doc.(map[string]any); {
	case list != nil:
		d.rows, d.expect = path+"[]", fmt.Sprintf(`%s | type == "array" and length > 0`, path)
	case !is:
		return errors.New("there are no objects in the answer")
	default:
		if list = valuesOf(object); list != nil { // an object of rows by their keys
			d.rows, d.expect, keyed = "to_entries[]", `type == "object" and length > 0`, true
			break
		}
		d.rows, d.expect, list = ".", `type == "object"`, []map[string]any{object}
	}
	d.guess(list, keyed)
	if len(d.fields) == 0 {
		return errors.New("the objects in the answer have no members with numbers, texts or times")
	}
	return nil
}

// valuesOf are the members of an object if all of them are objects.
func valuesOf(object map[string]any) (list []map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		row, is := object[key].(map[string]any)
		if !is {
			return nil
		}
		list = append(list, row)
	}
	return list
}

// findRows is the nearest array of objects in doc, of several the longest, and the jq path to it.
func findRows(doc any) (path string, rows []map[string]any) {
	type place struct {
		path  string
		value any
	}
	const deepest = 6
	level := []place{{".", doc}}
	for range deepest {
		var next []place
		for _, p := range level {
			switch v := p.value.(type) {
			case []any:
				if list := objects(v); len(list) > len(rows) {
					path, rows = p.path, list
				}
			case map[string]any:
				for _, name := range slices.Sorted(maps.Keys(v)) {
					next = append(next, place{strings.TrimSuffix(p.path, ".") + pathOf(name), v[name]})
				}
			}
		}
		if rows != nil {
			return path, rows
		}
		level = next
	}
	return "", nil
}

// objects are those in an array, nil if less than half of it are some.
func objects(array []any) (list []map[string]any) {
	for _, v := range array {
		if row, is := v.(map[string]any); is && len(row) > 0 {
			list = append(list, row)
		}
	}
	if 2*len(list) < len(array) {
		return nil
	}
	return list
}

var plainMember = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func pathOf(name string) string {
	if plainMember.MatchString(name) {
		return "." + name
	}
	text, _ := json.Marshal(name) // a string
	return ".[" + string(text) + "]"
}

// leaf is a member of rows, perhaps of an object in them.
type leaf struct {
	name, path string
	values     []any // of all rows
}

// leaves are the scalars in rows, one object deep, by their names.
func leaves(rows []map[string]any) (list []leaf) {
	found := make(map[string]int)
	add := func(name, path string, value any) {
		switch value.(type) {
		case nil, []any, map[string]any:
			return
		}
		i, known := found[path]
		if !known {
			i = len(list)
			found[path] = i
			list = append(list, leaf{name: name, path: path})
		}
		list[i].values = append(list[i].values, value)
	}
	for _, row := range rows[:min(len(rows), 500)] {
		for _, name := range slices.Sorted(maps.Keys(row)) {
			inner, is := row[name].(map[string]any)
			if !is {
				add(name, pathOf(name), row[name])
			}
			for _, below := range slices.Sorted(maps.Keys(inner)) {
				as := name + "_" + below
				if wraps(name) {
					as = below
				}
				add(as, pathOf(name)+pathOf(below), inner[below])
			}
		}
	}
	return list
}

// wraps reports whether a member is called as one that holds what a row has, and says nothing itself.
func wraps(name string) bool {
	return slices.Contains([]string{"properties", "attributes", "data", "fields", "item", "node", "value"}, name)
}

// mostGuessed is how many fields are guessed.
const mostGuessed = 10

// guess finds key, name and fields of rows, which stand below their keys where keyed.
func (d *draft) guess(rows []map[string]any, keyed bool) {
	all, prefix := leaves(rows), ""
	if keyed {
		prefix = ".value"
	}
	named := func(names ...string) *leaf {
		for _, name := range names {
			i := slices.IndexFunc(all, func(l leaf) bool { return snake(l.name) == name && l.text() })
			if i >= 0 {
				return &all[i]
			}
		}
		return nil
	}
	taken := make(map[string]bool)
	set := func(as string, l *leaf) {
		if l != nil {
			d.members += fmt.Sprintf(", %s: %s%s", as, prefix, l.path)
			taken[l.path] = true
		}
	}
	d.members = "key: .key"
	if !keyed {
		d.members = "key: " + d.key(all, len(rows))
		taken[strings.TrimPrefix(d.members, "key: ")] = true
	}
	set("name", named("name", "title", "full_name", "label", "display_name", "place"))
	set("symbol", named("symbol", "ticker"))
	set("url", named("url", "link", "html_url", "permalink"))
	wire := make(map[string]bool)
	for _, l := range all {
		name, kind := fieldName(l.name), l.kind()
		if taken[l.path] || name == "" || kind == "" || len(d.fields) >= mostGuessed || wire[wireName(name, kind)] {
			continue
		}
		wire[wireName(name, kind)] = true
		d.fields = append(d.fields, guess{name, kind, prefix + l.path})
	}
	d.order()
}

// order puts what is told first: numbers, prices before others.
func (d *draft) order() {
	kinds := []string{typePrice, typeUSD, typePercent, typeNumber, typeCount, typeTime, typeDate, typeText, typeBool}
	rank := func(g guess) int { return slices.Index(kinds, g.kind) }
	slices.SortStableFunc(d.fields, func(a, b guess) int { return cmp.Compare(rank(a), rank(b)) })
	if len(d.fields) > 0 {
		d.first = d.fields[0].name
	}
}

// key is the jq of what is another one in every row.
func (d *draft) key(all []leaf, rows int) string {
	for _, name := range []string{"id", "symbol", "slug", "key", "code", "uuid", "name", "title", "url", ""} {
		for _, l := range all {
			if (snake(l.name) == name || name == "" && l.text()) && l.unique(rows) {
				return l.path
			}
		}
	}
	if rows > 1 {
		return "(tojson|@base64|.[-64:])" // rows without a name: each is called by what it holds
	}
	text, _ := json.Marshal(d.pack) // a string
	return string(text)
}

// text reports whether the values of l are texts.
func (l leaf) text() bool {
	return !slices.ContainsFunc(l.values, func(v any) bool { _, is := v.(string); return !is || v == "" })
}

// unique reports whether every row has another value.
func (l leaf) unique(rows int) bool {
	seen := make(map[string]bool)
	for _, v := range l.values {
		if _, truth := v.(bool); truth || v == "" {
			return false
		}
		seen[fmt.Sprint(v)] = true
	}
	return len(seen) == rows
}

// kind guesses the type of l, "" where it is none of a field.
func (l leaf) kind() string {
	whole, numbers, truths, times := true, 0, 0, 0
	for _, v := range l.values {
		text, _ := v.(string)
		switch x := source.ParseNumber(v); {
		case v == true || v == false:
			truths++
		case x != nil:
			numbers++
			whole = whole && *x == float64(int64(*x))
		case text != "" && moment(text) != nil:
			times++
		}
	}
	switch n := len(l.values); {
	case truths == n:
		return typeBool
	case times == n:
		return typeTime
	case numbers == n:
		return numberKind(l.name, whole)
	case l.text() && (n == 1 || slices.ContainsFunc(l.values, func(v any) bool { return v != l.values[0] })): // else it tells nothing
		return typeText
	}
	return ""
}

// numberKind guesses the type of numbers by their name.
func numberKind(name string, whole bool) string {
	for _, known := range []struct {
		kind  string
		words []string
	}{
		{typeTime, []string{"_at_", "_time_", "timestamp", "_date_", "_updated_", "_created_"}},
		{typePercent, []string{"pct", "percent", "change", "_apy_", "_apr_"}},
		{typeUSD, []string{"volume", "cap", "tvl", "turnover", "revenue"}},
		{typePrice, []string{"price", "usd", "cost", "_close_", "_last_"}},
	} {
		says := func(word string) bool { return strings.Contains("_"+snake(name)+"_", word) }
		if slices.ContainsFunc(known.words, says) && (whole || known.kind != typeTime) {
			return known.kind
		}
	}
	if whole {
		return typeCount
	}
	return typeNumber
}

// snake writes a name as fields are called: marketCap is market_cap.
func snake(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		switch {
		case unicode.IsUpper(r):
			if lower {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	return b.String()
}

// fieldName is the name of a field for a member, "" if there is none.
func fieldName(name string) string {
	words := strings.FieldsFunc(snake(name), func(r rune) bool { return r == '_' })
	text := strings.Join(words, "_")
	if text != "" && text[0] >= '0' && text[0] <= '9' {
		text = "n" + text
	}
	text = strings.Trim(text[:min(len(text), 40)], "_")
	if !wordName.MatchString(text) {
		return ""
	}
	switch {
	case text == "usd":
		return "price"
	case slices.Contains(append(rowMembers(), "id", "ref", "stale"), text):
		return text + "_of_row"
	}
	return text
}

func (d *draft) text() []byte {
	u, _ := url.Parse(d.url) // checked by Read
	host := cmp.Or(u.Hostname(), "example.org")
	id := d.pack + "-source"
	kind := strings.ReplaceAll(d.pack, "-", "_")
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# A pack of contextd; contextd help packs describes every setting.")
	line("pack: %s", d.pack)
	line("version: 1 # grows when the order of sources changes")
	line("title: %s", strings.ToUpper(d.pack[:1])+strings.ReplaceAll(d.pack[1:], "-", " "))
	line("description: What %s says.", host)
	line("")
	line("sources:")
	line("  - id: %s", id)
	line("    name: %s", host)
	line("    public_url: %s://%s/ # a page where people can look", u.Scheme, u.Host)
	line("    licence: not looked up yet # the terms under which its data may be used")
	line("    # A key goes into a file: key_file and key_header.")
	line("    request: {url: %s}", quoteYAML(d.url))
	line("    every: 5m # at least")
	line("    stale_after: 15m # the age from which on its data is old")
	line("    format: %s", d.format)
	line("    # jq: true for an answer that may be used. Else the rows of the last one stay, marked as stale.")
	line("    expect: %s", quoteYAML(d.expect))
	line("    # jq: objects with a key, fields, and perhaps name, symbol, url, of and aliases.")
	line("    rows: >-")
	line("      %s | {%s,", d.rows, d.members)
	for i, g := range d.fields {
		line("      %s: %s%s", g.name, g.path, map[bool]string{true: ",", false: "}"}[i < len(d.fields)-1])
	}
	line("    kind: %s", kind)
	if d.time != "" {
		line("    time: %s", d.time)
	}
	line("    # Types: price, usd, percent, percent4, number, count, text, time, date, bool. The first field is shown first.")
	line("    fields:")
	for _, g := range d.fields {
		line("      %s: %s", g.name, g.kind)
	}
	line("")
	line("# Lists in the state: the first rows, or those that jq selects.")
	line("members:")
	line("  newest: {from: %s, rows: 12}", id)
	d.flagAndBrief(line, id)
	return []byte(b.String())
}

// flagAndBrief writes the end of the manifest.
func (d *draft) flagAndBrief(line func(format string, args ...any), id string) {
	first := d.fields[0]
	line("")
	line("# What is out of the ordinary. Remove the # and choose bounds; until clear holds, the flag stays up.")
	if slices.Contains([]string{typeTime, typeDate, typeText, typeBool}, first.kind) {
		line("# flags: a flag needs a field that is a number")
	} else {
		line("# flags:")
		line("#   - kind: %s_high", strings.ReplaceAll(d.pack, "-", "_"))
		line("#     over: %s", id)
		line("#     when: '(.%s // 0) > 100'", first.name)
		line("#     clear: '(.%s // 0) < 90'", first.name)
		line("#     severity: warning")
		line("#     message: '{name} is at {%s}'", first.name)
	}
	line("")
	line("# Sentences of the brief: the first rows of a member, or by: FIELD for the largest. Anchors are added.")
	line("brief:")
	line("  - {over: newest, rows: 3, say: 'At the top: {list}.', item: '{name} at {%s}'}", first.name)
}

// quoteYAML is text as YAML takes it within a line.
func quoteYAML(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
