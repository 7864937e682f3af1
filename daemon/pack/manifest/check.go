package manifest

import (
	"fmt"
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Forms of names.
var (
	packID     = regexp.MustCompile(`^[a-z][a-z0-9-]{1,31}$`)
	sourceID   = regexp.MustCompile(`^[a-z][a-z0-9-]{1,63}$`)
	wordName   = regexp.MustCompile(`^[a-z][a-z0-9_]{0,39}$`)
	keyName    = regexp.MustCompile(`^\.[a-z0-9_-]{1,40}\.key$`)
	headerName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,63}$`)
)

// Methods that a source may be asked by.
const (
	methodGet  = "GET"
	methodPost = "POST"
)

// reserved are the packs that are part of the program.
func reserved() []string { return append([]string{api.PackCrypto}, Shipped()...) }

// checker finds what is wrong with a manifest that was read.
type checker struct {
	m    *Manifest
	fail func(line int, format string, args ...any)
}

func (c *checker) wrong(path, format string, args ...any) {
	line := 0
	for at := path; line == 0 && at != ""; {
		line = c.m.lines[at]
		at = at[:max(strings.LastIndexAny(at, ".["), 0)]
	}
	c.fail(line, "%s: "+format, append([]any{path}, args...)...)
}

// need notes that something is missing or has not the form that it must have.
func (c *checker) need(path, text string, form *regexp.Regexp, example string) {
	switch {
	case text == "":
		c.wrong(path, "is missing; such as %s", example)
	case form != nil && !form.MatchString(text):
		c.wrong(path, "%q is not like %s", text, example)
	case human.Label(text, 200) != text:
		c.wrong(path, "is longer than 200 characters, or has some that cannot be shown")
	}
}

func (c *checker) check() {
	m := c.m
	c.need("pack", m.Pack, packID, "my-pack")
	if !c.m.shipped {
		c.replaces()
	}
	if m.Version < 1 || m.Version > 1<<20 {
		c.wrong("version", "must be a whole number from 1; it grows with every other order of sources")
	}
	c.need("title", m.Title, nil, "title: My numbers")
	between(c, "limits.state_bytes", m.Limits.StateBytes, 1024, maxState)
	between(c, "limits.rows", m.Limits.Rows, 1, maxRows)
	if m.Description != "" {
		c.need("description", m.Description, nil, "")
	}
	c.count("sources", len(m.Sources), 1, MaxSources)
	c.count("members", len(m.Members), 1, MaxMembers)
	c.count("flags", len(m.Flags), 0, MaxFlags)
	c.count("brief", len(m.Brief), 0, MaxSay)
	seen := make(map[string]bool)
	for i, s := range m.Sources {
		path := fmt.Sprintf("sources[%d]", i)
		if seen[s.ID] {
			c.wrong(path+".id", "%s is the id of another source", s.ID)
		}
		seen[s.ID] = true
		c.source(path, s)
	}
	c.kinds()
	for _, member := range m.Members {
		c.member("members."+member.Name, member)
	}
	for i, f := range m.Flags {
		path := fmt.Sprintf("flags[%d]", i)
		if j := slices.IndexFunc(m.Flags, func(g Flag) bool { return g.Kind == f.Kind && g.Over == f.Over }); j < i {
			c.wrong(path+".kind", "%s is the kind of flags[%d] over the same source", f.Kind, j)
		}
		c.flag(path, f)
	}
	for i, s := range m.Brief {
		c.sentence(fmt.Sprintf("brief[%d]", i), s)
	}
}

// replaces notes a manifest that stands in for a pack of the program with other anchors than that has. The crypto pack is no manifest.
func (c *checker) replaces() {
	m := c.m
	text, shipped := ShippedText(m.Pack)
	if m.Pack == api.PackCrypto {
		c.wrong("pack", "%s is the name of a pack of the program; choose another, such as my-%s", m.Pack, m.Pack)
	}
	if !shipped {
		return
	}
	base, err := Read(text, true)
	if err != nil {
		c.wrong("pack", "%v", err)
		return
	}
	var want, have []string
	for _, s := range base.Sources {
		want = append(want, s.ID)
	}
	for _, s := range m.Sources {
		have = append(have, s.ID)
	}
	if m.Version != base.Version || !slices.Equal(want, have) {
		c.wrong("pack", "%s is a pack of the program: version %d with the sources %s in this order, or refs would mean others; "+
			"keep them, or choose another name, such as my-%[1]s", m.Pack, base.Version, strings.Join(want, ", "))
	}
	m.replaces = true
}

// count notes that there are too few or too many of something.
func (c *checker) count(path string, n, least, most int) {
	switch {
	case n < least:
		c.wrong(path, "has nothing in it; there must be at least one")
	case n > most:
		c.wrong(path, "has %d entries, must have at most %d", n, most)
	}
}

// between notes a number, or a span, that is out of bounds.
func between[N int | time.Duration | Size](c *checker, path string, n, least, most N) {
	if n < least || n > most {
		c.wrong(path, "is %v, must be from %v to %v", shown(n), shown(least), shown(most))
	}
}

// shown is a number, or a span, as a manifest has it.
func shown(n any) any {
	switch d, is := n.(time.Duration); {
	case !is:
		return n
	case d >= 24*time.Hour && d%(24*time.Hour) == 0:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Minute && d%time.Minute == 0:
		return spanName(d)
	}
	return n
}

func (c *checker) source(path string, s Source) {
	c.need(path+".id", s.ID, sourceID, "acme-prices")
	c.need(path+".name", s.Name, nil, "name: Acme")
	c.need(path+".licence", s.Licence, nil, "licence: public API, with attribution")
	c.use(path+".use", s.Use)
	c.need(path+".kind", s.Kind, wordName, "kind: price")
	c.address(path+".public_url", s.PublicURL)
	c.request(path+".request", s.Request)
	c.fallbacks(path+".fallbacks", s)
	between(c, path+".every", s.Every, time.Second, longestSpan)
	between(c, path+".stale_after", s.StaleAfter, time.Second, 10*longestSpan)
	between(c, path+".per_minute", s.PerMinute, 1, 120)
	if !slices.Contains(source.Formats(), source.Format(s.Format)) {
		c.wrong(path+".format", "%q is none of %v", s.Format, source.Formats())
	}
	if s.Format != string(source.FormatCSV) && (s.CSV.Comma != "" || s.CSV.Skip != 0 || s.CSV.Header != nil) {
		c.wrong(path+".csv", "is for format: csv alone")
	}
	if n := len([]rune(s.CSV.Comma)); n > 1 || strings.ContainsAny(s.CSV.Comma, "\"\r\n\uFFFD") {
		c.wrong(path+".csv.comma", "must be one character, and no quotation mark")
	}
	between(c, path+".csv.skip", s.CSV.Skip, 0, 1000)
	c.link(path+".link", s.Link)
	if s.Rows == "" {
		c.wrong(path+".rows", "is missing; such as '.[] | {key: .name, price: .price}'")
	}
	c.jq(path+".expect", s.Expect)
	c.jq(path+".rows", s.Rows)
	c.count(path+".fields", len(s.Fields), 1, MaxFields)
	wire := make(map[string]string)
	for _, f := range s.Fields {
		c.field(path+".fields."+f.Name, f, wire)
	}
	if f := s.field(s.Time); s.Time != "" && (f == nil || f.Type != typeTime) {
		c.wrong(path+".time", "%q is no field of type time", s.Time)
	}
}

// use checks what terms are said to allow. That they allow something is for who has read them to say.
func (c *checker) use(path string, u Use) {
	allows := false
	for _, p := range []struct{ name, value string }{
		{".commercial", u.Commercial}, {".redistribute", u.Redistribute}, {".store", u.Store},
	} {
		if !slices.Contains(api.Permissions(), api.Permission(p.value)) {
			c.wrong(path+p.name, "%q is none of %v", p.value, api.Permissions())
		}
		allows = allows || p.value == string(api.UseYes) || p.value == string(api.UseSilent)
	}
	if u.Terms != "" || allows {
		c.address(path+".terms", u.Terms)
	}
	if _, err := time.Parse(time.DateOnly, u.Read); err != nil && (u.Read != "" || allows) {
		c.wrong(path+".read", "%q is no day such as 2026-11-24, on which the terms were read", u.Read)
	}
	if len([]rune(u.Notice)) > maxNotice {
		c.wrong(path+".notice", "has more than %d characters", maxNotice)
	}
	if rest := strings.ReplaceAll(u.Notice, pack.NoticeService, ""); strings.ContainsAny(rest, "{}") {
		c.wrong(path+".notice", "has braces of another name than %s", pack.NoticeService)
	}
}

// maxNotice bounds what is told with each citation.
const maxNotice = 800

// fallbacks checks who is asked in place of a source. A key would go to whoever a manifest names, so they get none.
func (c *checker) fallbacks(path string, s Source) {
	c.count(path, len(s.Fallbacks), 0, 2)
	for i, b := range s.Fallbacks {
		path := fmt.Sprintf("%s[%d]", path, i)
		c.need(path+".name", b.Name, nil, "name: Acme")
		c.use(path+".use", b.Use)
		c.request(path+".request", b.Request)
		if b.Request.KeyFile != "" {
			c.wrong(path+".request.key_file", "is for the source itself alone")
		}
		if !slices.Contains(source.Formats(), source.Format(b.Format)) {
			c.wrong(path+".format", "%q is none of %v", b.Format, source.Formats())
		}
		c.jq(path+".as", b.As)
		if d := s.derived(b.Compare); b.Compare != "" && (d == nil || !d.number) {
			c.wrong(path+".compare", "%q is no number of %s", b.Compare, s.ID)
		}
		if b.Within <= 0 || b.Within > 1000 {
			c.wrong(path+".within", "is %v, must be above 0 and at most 1000", b.Within)
		}
	}
}

func (c *checker) address(path, link string) {
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.ContainsAny(u.Host, "{}") {
		c.wrong(path, "%q is no address such as https://example.org/", link)
	}
}

// link checks the form of a row's page. What upstream calls a row never decides on whose site that is.
func (c *checker) link(path, link string) {
	if link == "" {
		return
	}
	before, _, _ := strings.Cut(link, "{key}")
	switch u, err := url.Parse(before); {
	case strings.ContainsAny(strings.ReplaceAll(link, "{key}", ""), "{}"):
		c.wrong(path, "knows no place but {key}")
	case before != link && err == nil && (u.Host == "" || u.Path == "" && u.RawQuery == "" && u.Fragment == ""):
		c.wrong(path, "must have {key} after the host, as in https://example.org/{key}")
	default:
		c.address(path, strings.ReplaceAll(link, "{key}", "key"))
	}
}

// Names of what holds a secret.
var (
	secretHeader = regexp.MustCompile(`(?i)auth|cookie|secret|token|passw|key`)
	secretQuery  = regexp.MustCompile(`(?i)^(api|access|auth|client)?[-_]?(token|secret|password)$|^(api|access)[-_]?key$`)
)

const secretHint = "a secret has no place in a manifest; use key_file and key_header"

func (c *checker) request(path string, r Request) {
	if r.Method != methodGet && r.Method != methodPost {
		c.wrong(path+".method", "%q is neither GET nor POST", r.Method)
	}
	if r.Method == methodGet && r.JSON != nil {
		c.wrong(path+".json", "a GET has no body; say method: POST")
	}
	c.address(path+".url", source.ExpandURL(r.URL, time.Unix(0, 0)))
	if name := source.UnknownMoment(r.URL); name != "" {
		c.wrong(path+".url", "%s is none of {date}, {month}, {year}, {unix}, {unix_ms}, each perhaps less a span as in {date-7d}", name)
	}
	if u, err := url.Parse(r.URL); err == nil {
		for name := range u.Query() {
			if secretQuery.MatchString(name) {
				c.wrong(path+".url", "%s: %s", name, secretHint)
			}
		}
	}
	for _, h := range r.Headers {
		c.header(path+".headers."+h.Name, h.Name, h.Value)
		if secretHeader.MatchString(h.Name) {
			c.wrong(path+".headers."+h.Name, secretHint)
		}
	}
	c.key(path, r)
	between(c, path+".max_bytes", r.MaxBytes, 1, maxBody)
	between(c, path+".timeout", r.Timeout, time.Second, maxTimeout)
}

// header checks a header that the daemon adds.
func (c *checker) header(path, name, value string) {
	switch {
	case !headerName.MatchString(name):
		c.wrong(path, "%q is no name of a header", name)
	case strings.ContainsFunc(value, unicode.IsControl):
		c.wrong(path, "has characters that no header can have")
	case slices.Contains(strings.Fields("Host Content-Length Transfer-Encoding Connection Accept-Encoding If-None-Match"),
		textproto.CanonicalMIMEHeaderKey(name)):
		c.wrong(path, "%s is set by the daemon", name)
	}
}

// key checks which file a key is read from, and where it goes.
func (c *checker) key(path string, r Request) {
	if (r.KeyFile == "") != (r.KeyHeader == "") {
		c.wrong(path+".key_file", "and key_header go together")
	}
	// Any other file would go to whatever host the manifest names.
	own, f := c.m.Pack+".key", r.KeyFile
	if rest, of := strings.CutPrefix(f, c.m.Pack); f != "" && f != own && (!of || !keyName.MatchString(rest)) {
		c.wrong(path+".key_file", "%q is no key file of this pack: call it %s, beside the manifest, or %s.NAME.key", f, own, c.m.Pack)
	}
	if r.KeyHeader != "" {
		c.header(path+".key_header", r.KeyHeader, r.KeyPrefix)
	}
}

// field checks a field; wire are the names on the wire that are taken.
func (c *checker) field(path string, f Field, wire map[string]string) {
	if !wordName.MatchString(f.Name) {
		c.wrong(path, "%q is not like open_interest", f.Name)
	}
	if slices.Contains(append(rowMembers(), "id", "ref", "stale"), f.Name) {
		c.wrong(path, "%s is a member of every row; give the field another name", f.Name)
	}
	if !slices.Contains(fieldTypes(), f.Type) {
		c.wrong(path+".type", "%q is none of %s", f.Type, strings.Join(fieldTypes(), ", "))
		return
	}
	if !f.number() && (len(f.Change) > 0 || f.Changed > 0) {
		c.wrong(path, "change and changed are for numbers, not for type %s", f.Type)
	}
	c.count(path+".change", len(f.Change), 0, 4)
	for _, span := range append(slices.Clone(f.Change), f.Changed) {
		if span != 0 && (span < 5*time.Minute || span > 7*24*time.Hour) {
			c.wrong(path, "the span %v is not from 5m to 7d", shown(span))
		}
	}
	for _, d := range f.derived() {
		if other, taken := wire[d.wire]; taken {
			c.wrong(path, "its %s would stand beside that of %s; give the field another name", d.wire, other)
		}
		wire[d.wire] = f.Name
	}
}

func (c *checker) kinds() {
	for _, k := range c.m.Kinds {
		path := "kinds." + k.Name
		if !slices.ContainsFunc(c.m.Sources, func(s Source) bool { return s.Kind == k.Name }) {
			c.wrong(path, "no source has rows of this kind")
			continue
		}
		for _, w := range k.Words {
			if len(strings.Fields(w)) > 3 {
				c.wrong(path+".words", "%q has more than three words", w)
			}
		}
		c.numberOf(path+".order", k.Name, k.Order)
		for i, o := range k.Orders {
			c.numberOf(fmt.Sprintf("%s.orders[%d].field", path, i), k.Name, o.Field)
		}
	}
}

func (c *checker) numberOf(path, kind, name string) {
	if name == "" {
		return
	}
	for _, s := range c.m.Sources {
		if d := s.derived(name); s.Kind == kind && d != nil && d.number {
			return
		}
	}
	c.wrong(path, "%q is no number of rows of kind %s", name, kind)
}

func (c *checker) member(path string, m Member) {
	if !wordName.MatchString(m.Name) || m.Name == "flags" || m.Name == "source_status" {
		c.wrong(path, "%q cannot be the name of a member; it is like most_funded, and neither flags nor source_status", m.Name)
	}
	if len(m.From) == 0 {
		c.wrong(path+".from", "is missing; it is the id of a source")
		return
	}
	kind := ""
	for _, id := range m.From {
		s, _ := c.m.source(id)
		switch {
		case s == nil:
			c.unknownSource(path+".from", id)
			return
		case kind != "" && kind != s.Kind:
			c.wrong(path+".from", "rows of %s are of kind %s, those before of kind %s; a member has one kind", id, s.Kind, kind)
		}
		kind = s.Kind
		for _, name := range m.Fields {
			if s.derived(name) == nil {
				c.unknownField(path+".fields", s, name)
			}
		}
	}
	if m.Select != "" && m.Rows != 0 {
		c.wrong(path, "has both select and rows; keep one of them")
	}
	if m.Select == "" {
		between(c, path+".rows", m.Rows, 1, mostShown)
	}
	c.jq(path+".select", m.Select)
}

func (c *checker) unknownSource(path, id string) {
	var ids []string
	for _, s := range c.m.Sources {
		ids = append(ids, s.ID)
	}
	if near := human.Nearest(id, ids); near != "" {
		c.wrong(path, "there is no source %q; did you mean %s?", id, near)
		return
	}
	c.wrong(path, "there is no source %q; there are %s", id, strings.Join(ids, ", "))
}

// unknownField notes a field that rows of s do not have.
func (c *checker) unknownField(path string, s *Source, name string) {
	names := s.names()
	if near := human.Nearest(name, names); near != "" {
		c.wrong(path, "%s has no field %q; did you mean %s?", s.ID, name, near)
		return
	}
	c.wrong(path, "%s has no field %q; it has %s", s.ID, name, strings.Join(names, ", "))
}

func (c *checker) flag(path string, f Flag) {
	c.need(path+".kind", f.Kind, wordName, "load_high")
	if slices.Contains(api.FlagKinds(), f.Kind) && !c.m.shipped && !c.m.replaces {
		c.wrong(path+".kind", "%s is a kind of the program; choose another", f.Kind)
	}
	s, _ := c.m.source(f.Over)
	if s == nil {
		c.unknownSource(path+".over", f.Over)
		return
	}
	if api.Severity(f.Severity).Rank() == 0 {
		c.wrong(path+".severity", "%q is none of notice, warning and critical", f.Severity)
	}
	if f.When == "" {
		c.wrong(path+".when", "is missing; such as '.load > 90'")
	}
	c.jq(path+".when", f.When)
	if f.Clear != f.clearUsually() { // else it is told of when
		c.jq(path+".clear", f.Clear)
	}
	c.jq(path+".warning", f.Warning)
	c.jq(path+".critical", f.Critical)
	switch value := s.derived(s.valueOf(f)); {
	case f.Value == "" && value == nil:
		c.wrong(path+".value", "%s has no number that a flag could show", s.ID)
	case value == nil:
		c.unknownField(path+".value", s, f.Value)
	case !value.number:
		c.wrong(path+".value", "%s is no number", f.Value)
	}
	if at := s.derived(f.At); f.At != "" && (at == nil || at.kind != typeTime && at.kind != typeDate) {
		c.wrong(path+".at", "%q is no time of %s", f.At, s.ID)
	}
	c.template(path+".message", f.Message, s)
}

func (c *checker) template(path, text string, s *Source) {
	if text == "" {
		c.wrong(path, "is missing; such as '{name} is at {%s}'", s.Fields[0].Name)
		return
	}
	if _, err := s.template(text); err != nil {
		c.wrong(path, "%v", err)
	}
}

func (c *checker) sentence(path string, s Say) {
	i := slices.IndexFunc(c.m.Members, func(m Member) bool { return m.Name == s.Over })
	if i < 0 || len(c.m.Members[i].From) == 0 {
		var names []string
		for _, m := range c.m.Members {
			names = append(names, m.Name)
		}
		c.wrong(path+".over", "there is no member %q; there are %s", s.Over, strings.Join(names, ", "))
		return
	}
	of, _ := c.m.source(c.m.Members[i].From[0])
	if of == nil {
		return // told of the member
	}
	between(c, path+".rows", s.Rows, 1, 10)
	if d := of.derived(s.by(of)); s.bounded() && (d == nil || !d.number) {
		c.wrong(path+".by", "%q is no number of %s", s.by(of), of.ID)
	}
	c.list(path, s)
	if s.Item != "" {
		c.template(path+".item", s.Item, of)
	}
	c.template(path+".say", strings.ReplaceAll(s.Say, "{list}", "{name}"), of)
}

// bounded reports whether a number decides which rows are told, or in which order.
func (s Say) bounded() bool { return s.By != "" || s.Above != nil || s.Below != nil }

// list checks that a sentence has a list where it needs one.
func (c *checker) list(path string, s Say) {
	listed := strings.Contains(s.Say, "{list}")
	switch {
	case listed && s.Item == "":
		c.wrong(path+".item", "is missing: what stands in the list for a row")
	case !listed && s.Item != "":
		c.wrong(path+".say", "has no {list} for the items")
	case !listed && s.Rows > 1:
		c.wrong(path+".rows", "more than one row needs {list} and item")
	}
}

// by is the number that rows are told by, their first where none is named.
func (s Say) by(of *Source) string {
	if s.By != "" {
		return s.By
	}
	return of.firstNumber()
}

// jq compiles a program to see whether it can be.
func (c *checker) jq(path, text string) {
	if text == "" {
		return
	}
	if _, err := compile(text); err != nil {
		c.wrong(path, "%v", err)
	}
}
