package manifest_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/pack/manifest"
)

// sound is a manifest in which nothing is wrong, a setting a line.
const sound = `pack: mine
version: 1
title: Mine
description: Numbers of mine.
limits: {state_bytes: 8192, rows: 100}
kinds:
  thing: {words: [things], order: load, orders: [{words: [busiest], field: load}]}
sources:
  - id: acme-load
    name: Acme
    public_url: https://acme.example/
    licence: public
    request:
      url: https://api.acme.example/v1/load?day={date-1d}
      method: POST
      json: {a: [1, 2.5, true, null, text, 2026-11-20]}
      headers: {Accept: application/json}
      key_file: mine.key
      key_header: Authorization
      key_prefix: Bearer
      max_bytes: 1MiB
      timeout: 5s
    every: 5m
    stale_after: 15m
    per_minute: 10
    format: csv
    csv: {comma: ;, skip: 1, header: [key, load]}
    expect: length > 1
    rows: .[]
    kind: thing
    link: https://acme.example/{key}
    time: seen
    fields:
      load: {type: percent, words: [cpu], change: [1h, 7d], changed: 24h}
      seen: time
      label: text
members:
  busiest: {from: acme-load, select: 'sort_by(-.load)', fields: [load, load_change_1h]}
  first: {from: [acme-load], rows: 5}
flags:
  - kind: load_high
    over: acme-load
    when: .load > 90
    clear: .load < 80
    severity: notice
    warning: .load > 95
    critical: .load > 99
    value: load
    threshold: 90
    at: seen
    message: '{name} is at {load}'
brief:
  - over: busiest
    by: load
    above: 1
    rows: 3
    say: 'Busiest are {list}.'
    item: '{name} at {load}'
`

// TestRead has every refusal with its line and its text, each for one thing that is wrong in a sound manifest.
func TestRead(t *testing.T) {
	t.Parallel()
	if _, err := manifest.Read([]byte(sound), false); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 201)
	for _, c := range []struct{ old, new, want string }{
		// The text.
		{sound, "", "the manifest is empty"},
		{sound, "# nothing", "the manifest is empty"},
		{sound, "pack: [", "line 1: no YAML: did not find expected node content"},
		{sound, "a\tb: \"c", "no YAML: found unexpected end of stream"},
		{sound, "5", "line 1: the manifest is not a list of settings, each name: value"},
		{sound, sound + "---\na: b\n", "there is more than one document"},
		{sound, strings.Repeat("#", 256<<10) + "\n", "the manifest is over 262144 bytes"},
		// Names.
		{"pack: mine", "pak: mine", "line 1: there is no setting pak; did you mean pack?"},
		{"pack: mine", "\"co\\tlo\\e[1mur\": red", "line 1: there is no setting co\uFFFDlo\uFFFD[1mur; there are pack,"},
		{"pack: mine", "colour: red", "line 1: there is no setting colour; there are pack, version, title, description, limits, " +
			"kinds, sources, members, flags, brief"},
		{"    every: 5m", "    evry: 5m", "line 23: there is no setting sources[0].evry; did you mean every?"},
		{"title: Mine", "version: 1", "line 3: version is set in line 2 already"},
		{"      seen: time", "      load: time", "line 35: sources[0].fields.load is set in line 34 already"},
		{"  first:", "  busiest:", "line 39: members.busiest is set in line 38 already"},
		// Kinds of values.
		{"version: 1", "version: one", "line 2: version is not a whole number"},
		{"title: Mine", "title: [Mine]", "line 3: title is not a text"},
		{"title: Mine", "title: &a Mine\ndescription: *a", "line 4: description: aliases are not taken; write it out"},
		{"limits: {state_bytes: 8192, rows: 100}", "limits: 5", "line 5: limits is not a list of settings, each name: value"},
		{"{words: [things], ", "{own: perhaps, words: [things], ", "line 7: kinds.thing.own is not true or false"},
		{"threshold: 90", "threshold: .nan", "line 49: flags[0].threshold is not a number"},
		{"sources:", "sources: []\nflogs:", "line 9: there is no setting flogs; did you mean flags?"},
		{"every: 5m", "every: 5 minutes", "line 23: sources[0].every is no span such as 5m, 24h or 7d"},
		{"every: 5m", "every: -5m", "line 23: sources[0].every is no span such as 5m, 24h or 7d"},
		{"max_bytes: 1MiB", "max_bytes: 1MB", "line 21: sources[0].request.max_bytes is no size such as 65536, 64KiB or 4MiB"},
		{"null, text", ".nan", "line 16: sources[0].request.json.a[3]: JSON has no .nan"},
		{"{a: [1", "{a: 1, a: [1", "line 16: sources[0].request.json: a name that is no text, or stands twice"},
		{"{a: [1", "{[b]: 1, a: [1", "line 16: sources[0].request.json: a name that is no text, or stands twice"},
		{"{a: [1", "{c: &b 1, d: *b, a: [1", "line 16: sources[0].request.json.d: aliases are not taken; write it out"},
		// The pack.
		{"pack: mine", "pack: Mine", `line 1: pack: "Mine" is not like my-pack`},
		{"pack: mine", "pack: m", `line 1: pack: "m" is not like my-pack`},
		{"pack: mine", "pack: " + strings.Repeat("m", 33), `is not like my-pack`},
		{"pack: mine\n", "", "pack: is missing; such as my-pack"},
		{"pack: mine", "pack: crypto", "line 1: pack: crypto is the name of a pack of the program; choose another, such as my-crypto"},
		{"pack: mine", "pack: perps", "line 1: pack: perps is a pack of the program: version 1 with the sources hyperliquid-contexts, "},
		{"version: 1", "version: 0", "line 2: version: must be a whole number from 1; it grows with every other order of sources"},
		{"title: Mine\n", "", "title: is missing; such as title: My numbers"},
		{"title: Mine", "title: " + long, "line 3: title: is longer than 200 characters, or has some that cannot be shown"},
		{"title: Mine", `title: "a\u202eb"`, "line 3: title: is longer than 200 characters, or has some that cannot be shown"},
		{"Numbers of mine.", `"a\eb"`, "line 4: description: is longer than 200 characters, or has some that cannot be shown"},
		{"8192", "1023", "line 5: limits.state_bytes: is 1023, must be from 1024 to 24576"},
		{"8192", "24577", "line 5: limits.state_bytes: is 24577, must be from 1024 to 24576"},
		{"rows: 100}", "rows: 201}", "line 5: limits.rows: is 201, must be from 1 to 200"},
		{"rows: 100}", "rows: -1}", "line 5: limits.rows: is -1, must be from 1 to 200"},
		{"  first: {from: [acme-load], rows: 5}\n", many(12, "  m%d: acme-load\n"), "line 39: members.m0 is not a list of settings, " +
			"each name: value"},
		{"  first: {from: [acme-load], rows: 5}\n", many(12, "  m%d: {from: acme-load}\n"), "line 37: members: has 13 entries, " +
			"must have at most 12"},
		// Kinds.
		{"  thing: {", "  thong: {", "line 7: kinds.thong: no source has rows of this kind"},
		{"[things]", "[a b c d]", `line 7: kinds.thing.words: "a b c d" has more than three words`},
		{"order: load,", "order: label,", `line 7: kinds.thing.order: "label" is no number of rows of kind thing`},
		{"field: load}", "field: none}", `line 7: kinds.thing.orders[0].field: "none" is no number of rows of kind thing`},
		// Sources.
		{"id: acme-load", "id: Acme", `line 9: sources[0].id: "Acme" is not like acme-prices`},
		{"    name: Acme\n", "", "line 9: sources[0].name: is missing; such as name: Acme"},
		{"    licence: public\n", "", "line 9: sources[0].licence: is missing; such as licence: public API, with attribution"},
		{"    kind: thing\n", "", "line 9: sources[0].kind: is missing; such as kind: price"},
		{"public_url: https://acme.example/", "public_url: ftp://acme.example/",
			`line 11: sources[0].public_url: "ftp://acme.example/" is no address such as https://example.org/`},
		{"public_url: https://acme.example/", "public_url: https://me:secret@acme.example/",
			`line 11: sources[0].public_url: "https://me:secret@acme.example/" is no address such as https://example.org/`},
		{"every: 5m", "every: 999ms", "line 23: sources[0].every: is 999ms, must be from 1s to 31d"},
		{"stale_after: 15m", "stale_after: 311d", "line 24: sources[0].stale_after: is 311d, must be from 1s to 310d"},
		{"every: 5m", "every: 32d", "line 23: sources[0].every: is 32d, must be from 1s to 31d"},
		{"per_minute: 10", "per_minute: 121", "line 25: sources[0].per_minute: is 121, must be from 1 to 120"},
		{"format: csv", "format: html", `line 26: sources[0].format: "html" is none of [json ndjson csv rss atom xml text]`},
		{"format: csv", "format: json", "line 27: sources[0].csv: is for format: csv alone"},
		{"comma: ;", `comma: ";;"`, "line 27: sources[0].csv.comma: must be one character, and no quotation mark"},
		{"comma: ;", `comma: '"'`, "line 27: sources[0].csv.comma: must be one character, and no quotation mark"},
		{"skip: 1,", "skip: 1001,", "line 27: sources[0].csv.skip: is 1001, must be from 0 to 1000"},
		{"    rows: .[]\n", "", "line 9: sources[0].rows: is missing; such as '.[] | {key: .name, price: .price}'"},
		{"rows: .[]", "rows: '.[] |'", "line 29: sources[0].rows: jq: unexpected EOF"},
		{"rows: .[]", "rows: |\n      .[] | {\n        key: )\n      }",
			`line 29: sources[0].rows: jq: unexpected token ")" in line 2 of it`},
		{"rows: .[]", "rows: nothing(.)", "line 29: sources[0].rows: jq: function not defined: nothing/1"},
		{"rows: .[]", "rows: $x", "line 29: sources[0].rows: jq: variable not defined: $x"},
		{"rows: .[]", "rows: input", "line 29: sources[0].rows: jq: input(s)/0 is not allowed"},
		{"rows: .[]", "rows: 'import \"a\" as a; .'", `line 29: sources[0].rows: jq: unexpected token "import"`},
		{"expect: length > 1", "expect: length >", "line 28: sources[0].expect: jq: unexpected EOF"},
		{"link: https://acme.example/{key}", "link: https://{key}.example/",
			"line 31: sources[0].link: must have {key} after the host, as in https://example.org/{key}"},
		{"link: https://acme.example/{key}", "link: https://acme.example{key}",
			"line 31: sources[0].link: must have {key} after the host, as in https://example.org/{key}"},
		{"link: https://acme.example/{key}", "link: '{key}'", "line 31: sources[0].link: must have {key} after the host, " +
			"as in https://example.org/{key}"},
		{"link: https://acme.example/{key}", "link: https://acme.example/{name}", "line 31: sources[0].link: knows no place but {key}"},
		{"link: https://acme.example/{key}", "link: javascript:alert",
			`line 31: sources[0].link: "javascript:alert" is no address such as https://example.org/`},
		{"time: seen", "time: load", `line 32: sources[0].time: "load" is no field of type time`},
		// Requests.
		{"method: POST", "method: PUT", `line 15: sources[0].request.method: "PUT" is neither GET nor POST`},
		{"method: POST", "method: GET", "line 16: sources[0].request.json: a GET has no body; say method: POST"},
		{"https://api.acme.example/v1", "/v1",
			`line 14: sources[0].request.url: "/v1/load?day=1969-12-31" is no address such as https://example.org/`},
		{"{date-1d}", "{day}", "line 14: sources[0].request.url: {day} is none of {date}, {month}, {year}, {unix}, {unix_ms}, " +
			"each perhaps less a span as in {date-7d}"},
		{"?day=", "?api_key=123&day=",
			"line 14: sources[0].request.url: api_key: a secret has no place in a manifest; use key_file and key_header"},
		{"{Accept: application/json}", "{X-Api-Key: abc}",
			"line 17: sources[0].request.headers.X-Api-Key: a secret has no place in a manifest; use key_file and key_header"},
		{"{Accept: application/json}", "{Private-Token: abc}",
			"line 17: sources[0].request.headers.Private-Token: a secret has no place in a manifest; use key_file and key_header"},
		{"{Accept: application/json}", "{proxy-authorization: abc}",
			"line 17: sources[0].request.headers.proxy-authorization: a secret has no place in a manifest; use key_file and key_header"},
		{"{Accept: application/json}", "{host: other.example}", "line 17: sources[0].request.headers.host: host is set by the daemon"},
		{"{Accept: application/json}", `{Accept: "a\r\nHost: b"}`,
			"line 17: sources[0].request.headers.Accept: has characters that no header can have"},
		{"{Accept: application/json}", "{'a b': c}", `line 17: sources[0].request.headers.a b: "a b" is no name of a header`},
		{"key_file: mine.key", "key_file: /etc/contextd/jobs.key",
			`line 18: sources[0].request.key_file: "/etc/contextd/jobs.key" is no key file of this pack: call it mine.key, beside the manifest, or mine.NAME.key`},
		{"key_file: mine.key", "key_file: ../mine.key", `"../mine.key" is no key file of this pack`},
		{"key_file: mine.key", "key_file: mine-other.key", `"mine-other.key" is no key file of this pack`},
		{"key_file: mine.key", "key_file: mine./x.key", `"mine./x.key" is no key file of this pack`},
		{"      key_file: mine.key\n", "", "line 13: sources[0].request.key_file: and key_header go together"},
		{"key_header: Authorization", "key_header: Host", "line 19: sources[0].request.key_header: Host is set by the daemon"},
		{"key_prefix: Bearer", `key_prefix: "a\n"`, "line 19: sources[0].request.key_header: has characters that no header can have"},
		{"max_bytes: 1MiB", "max_bytes: 17MiB", "line 21: sources[0].request.max_bytes: is 17MiB, must be from 1 to 16MiB"},
		{"timeout: 5s", "timeout: 31s", "line 22: sources[0].request.timeout: is 31s, must be from 1s to 30s"},
		// Fields.
		{"      label: text", "      Label: text", `line 36: sources[0].fields.Label: "Label" is not like open_interest`},
		{"      label: text", "      name: text",
			"line 36: sources[0].fields.name: name is a member of every row; give the field another name"},
		{"      label: text", "      stale: text",
			"line 36: sources[0].fields.stale: stale is a member of every row; give the field another name"},
		{"      label: text", "      label: string",
			`line 36: sources[0].fields.label.type: "string" is none of price, usd, percent, percent4, number, count, text, time, date, bool`},
		{"      label: text", "      label: {type: text, changed: 1h}",
			"line 36: sources[0].fields.label: change and changed are for numbers, not for type text"},
		{"      label: text", "      load: percent", "line 36: sources[0].fields.load is set in line 34 already"},
		{"      label: text", "      load_pct: percent",
			"line 36: sources[0].fields.load_pct: its loadPct would stand beside that of load; give the field another name"},
		{"[1h, 7d]", "[4m]", "line 34: sources[0].fields.load: the span 4m is not from 5m to 7d"},
		{"changed: 24h", "changed: 8d", "line 34: sources[0].fields.load: the span 8d is not from 5m to 7d"},
		{"[1h, 7d]", "[1h, 2h, 3h, 4h, 5h]", "line 34: sources[0].fields.load.change: has 5 entries, must have at most 4"},
		{"[1h, 7d]", "[1h, 60m]",
			"line 34: sources[0].fields.load: its loadChange1hPct would stand beside that of load; give the field another name"},
		{"      label: text\n", many(23, "      f%d: text\n"), "line 33: sources[0].fields: has 25 entries, must have at most 24"},
		// Members.
		{"  first:", "  flags:",
			`line 39: members.flags: "flags" cannot be the name of a member; it is like most_funded, and neither flags nor source_status`},
		{"{from: [acme-load], rows: 5}", "{rows: 5}", "line 39: members.first.from: is missing; it is the id of a source"},
		{"{from: [acme-load], rows: 5}", "{from: acme-laod}",
			`line 39: members.first.from: there is no source "acme-laod"; did you mean acme-load?`},
		{"{from: [acme-load], rows: 5}", "{from: other}", `line 39: members.first.from: there is no source "other"; there are acme-load`},
		{"{from: [acme-load], rows: 5}", "{from: acme-load, rows: 41}", "line 39: members.first.rows: is 41, must be from 1 to 40"},
		{"{from: [acme-load], rows: 5}", "{from: acme-load, rows: 5, select: .}",
			"line 39: members.first: has both select and rows; keep one of them"},
		{"{from: [acme-load], rows: 5}", "{from: acme-load, fields: [lod]}",
			`line 39: members.first.fields: acme-load has no field "lod"; did you mean load?`},
		{"'sort_by(-.load)'", "'sort_by('", "line 38: members.busiest.select: jq: unexpected EOF"},
		// Flags.
		{"kind: load_high", "kind: Load", `line 41: flags[0].kind: "Load" is not like load_high`},
		{"kind: load_high", "kind: price_move", "line 41: flags[0].kind: price_move is a kind of the program; choose another"},
		{"over: acme-load\n    when", "over: acme\n    when", `line 42: flags[0].over: there is no source "acme"`},
		{"    when: .load > 90\n", "", "line 41: flags[0].when: is missing; such as '.load > 90'"},
		{"when: .load > 90", "when: .load >", "line 43: flags[0].when: jq: unexpected EOF"},
		{"clear: .load < 80", "clear: ')'", `line 44: flags[0].clear: jq: unexpected token ")"`},
		{"severity: notice", "severity: high", `line 45: flags[0].severity: "high" is none of notice, warning and critical`},
		{"warning: .load > 95", "warning: '('", "line 46: flags[0].warning: jq: unexpected EOF"},
		{"critical: .load > 99", "critical: '('", "line 47: flags[0].critical: jq: unexpected EOF"},
		{"value: load", "value: lod", `line 48: flags[0].value: acme-load has no field "lod"; did you mean load?`},
		{"value: load", "value: label", "line 48: flags[0].value: label is no number"},
		{"at: seen", "at: load", `line 50: flags[0].at: "load" is no time of acme-load`},
		{"      load: {type: percent, words: [cpu], change: [1h, 7d], changed: 24h}", "      other: text",
			"line 48: flags[0].value: acme-load has no field \"load\""},
		{"message: '{name} is at {load}'", "message: '{lead}'",
			"line 51: flags[0].message: {lead}: acme-load has no such field; did you mean {load}?"},
		{"    message: '{name} is at {load}'\n", "", "line 41: flags[0].message: is missing; such as '{name} is at {load}'"},
		{"brief:", "  - {kind: load_high, over: acme-load, when: 'true', message: '{name}'}\nbrief:",
			"line 52: flags[1].kind: load_high is the kind of flags[0] over the same source"},
		// Sentences.
		{"over: busiest", "over: busy", `line 53: brief[0].over: there is no member "busy"; there are busiest, first`},
		{"by: load", "by: label", `line 54: brief[0].by: "label" is no number of acme-load`},
		{"rows: 3", "rows: 11", "line 56: brief[0].rows: is 11, must be from 1 to 10"},
		{"    item: '{name} at {load}'\n", "", "line 53: brief[0].item: is missing: what stands in the list for a row"},
		{"{list}", "{name}", "line 57: brief[0].say: has no {list} for the items"},
		{"say: 'Busiest are {list}.'\n    item: '{name} at {load}'", "say: '{name}'",
			"line 56: brief[0].rows: more than one row needs {list} and item"},
		{"item: '{name} at {load}'", "item: '{lod}'", "line 58: brief[0].item: {lod}: acme-load has no such field; did you mean {load}?"},
		{"    say: 'Busiest are {list}.'\n    item: '{name} at {load}'\n", "", "brief[0].say: is missing; such as '{name} is at {load}'"},
	} {
		text := strings.Replace(sound, c.old, c.new, 1)
		if text == sound {
			t.Errorf("%q is not in the manifest", c.old)
		}
		_, err := manifest.Read([]byte(text), false)
		if err == nil || !strings.Contains("\n"+err.Error()+"\n", c.want) || strings.HasPrefix(c.want, "line") &&
			!strings.HasPrefix(first(err, c.want), c.want) {
			t.Errorf("%.60q instead of %.60q:\n%v\nwant\n%s", c.new, c.old, err, c.want)
		}
	}
}

// first is the first line of an error that contains a text.
func first(err error, text string) string {
	for line := range strings.Lines(err.Error()) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// many is a line that is repeated with its number.
func many(n int, line string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, line, i)
	}
	return b.String()
}

// TestReadTellsAll: every mistake is told, in the order of their lines, and the same each time.
func TestReadTellsAll(t *testing.T) {
	t.Parallel()
	text := strings.NewReplacer("version: 1", "version: 0", "when: .load > 90", "when: '('", "every: 5m", "every: 40d",
		"critical: .load > 99", "critical: ')'").Replace(sound)
	const want = "line 2: version: must be a whole number from 1; it grows with every other order of sources\n" +
		"line 23: sources[0].every: is 40d, must be from 1s to 31d\n" +
		"line 43: flags[0].when: jq: unexpected EOF\n" +
		"line 47: flags[0].critical: jq: unexpected token \")\""
	for range 5 {
		if _, err := manifest.Read([]byte(text), false); err == nil || err.Error() != want {
			t.Fatalf("%v\nwant\n%s", err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(sound))
	f.Add([]byte(perps))
	for _, id := range manifest.Shipped() {
		text, _ := manifest.ShippedText(id)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := manifest.Read(text, false)
		if err != nil {
			said := err.Error()
			if !utf8.ValidString(said) || strings.ContainsFunc(strings.ReplaceAll(said, "\n", ""), unicode.IsControl) {
				t.Errorf("error %q", said)
			}
			return
		}
		e, err := manifest.NewLocal(m)
		if err != nil {
			t.Fatalf("read, but not compiled: %v", err)
		}
		if _, _, err := m.Make(e); err != nil {
			t.Fatalf("read, but not made: %v", err)
		}
	})
}

// TestReplaces: a manifest is served in place of a pack of the program as long as anchors mean the same sources, and says so.
func TestReplaces(t *testing.T) {
	t.Parallel()
	for _, id := range manifest.Shipped() {
		text, _ := manifest.ShippedText(id)
		m, err := manifest.Read(text, false)
		if err != nil || !slices.ContainsFunc(m.Warnings(), func(w string) bool {
			return strings.Contains(w, "served in place of the program's "+id)
		}) {
			t.Errorf("%s: %v, %v", id, m, err)
		}
		if own, err := manifest.Read(text, true); err != nil || len(own.Warnings()) > 0 {
			t.Errorf("%s of the program: %v, %v", id, own.Warnings(), err)
		}
		for name, change := range map[string][2]string{
			"another version": {"version: 1", "version: 2"}, "another source": {"- id: ", "- id: x"},
		} {
			if _, err := manifest.Read(bytes.Replace(text, []byte(change[0]), []byte(change[1]), 1), false); err == nil ||
				!strings.Contains(err.Error(), "in this order, or refs would mean others") {
				t.Errorf("%s with %s: %v", id, name, err)
			}
		}
	}
}
