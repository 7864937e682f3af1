package replay

import (
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// feedShape is a recorded feed: what stands before its items, one of them as a mould, and the stories that they tell.
type feedShape struct {
	head, item string
	mould      story // that item tells
	stories    []story
}

// story is a headline with a time and a number that its links are made of.
type story struct {
	title string
	at    time.Time
	slug  string
}

var (
	titleOf = regexp.MustCompile(`<title>(?:<!\[CDATA\[)?(.*?)(?:\]\]>)?</title>`)
	dateOf  = regexp.MustCompile(`<pubDate>(.*?)</pubDate>`)
	slugOf  = regexp.MustCompile(`/(synthetic-[^"<?]*)`)
	builtAt = regexp.MustCompile(`<lastBuildDate>.*?</lastBuildDate>`)
	numbers = regexp.MustCompile(`/\d{5,}/|\?p=\d{5,}|>[0-9a-f]{8}-[0-9a-f-]+<`)
)

// readFeed takes a recorded feed apart.
func readFeed(text string) (feedShape, error) {
	head, rest, ok := strings.Cut(text, "<item>")
	var f feedShape
	if !ok {
		return f, fmt.Errorf("a recorded feed has no items")
	}
	f.head = head
	for item := range strings.SplitSeq(rest, "<item>") {
		item, _, _ = strings.Cut(item, "</item>")
		title, date, slug := titleOf.FindStringSubmatch(item), dateOf.FindStringSubmatch(item), slugOf.FindStringSubmatch(item)
		if title == nil || date == nil || slug == nil {
			return f, fmt.Errorf("an item of a recorded feed has no title, date or link: %s", item)
		}
		at, err := time.Parse(time.RFC1123Z, date[1])
		if err != nil {
			return f, fmt.Errorf("read date of a recorded item: %w", err)
		}
		f.stories = append(f.stories, story{html.UnescapeString(title[1]), at, slug[1]})
		if f.item == "" {
			f.item, f.mould = item, f.stories[0]
		}
	}
	return f, nil
}

// feed is the feed of a publisher, in the shape that it was recorded in.
func (s *scene) feed(publisher int) []byte {
	shape := s.m.base.feeds[publisher]
	escape := func(title string) string { return title }
	if !strings.Contains(shape.item, "<title><![CDATA[") {
		escape = html.EscapeString
	}
	var b strings.Builder
	built := s.at.Add(-45 * time.Second).Format(time.RFC1123Z)
	b.WriteString(builtAt.ReplaceAllLiteralString(shape.head, "<lastBuildDate>"+built+"</lastBuildDate>"))
	for _, t := range s.stories[publisher] {
		number := hash(t.slug + t.at.String())
		item := strings.ReplaceAll(shape.item, escape(shape.mould.title), escape(t.title))
		item = strings.ReplaceAll(item, shape.mould.slug, t.slug)
		item = strings.ReplaceAll(item, shape.mould.at.Format("2006/01/02"), t.at.Format("2006/01/02"))
		item = dateOf.ReplaceAllLiteralString(item, "<pubDate>"+t.at.Format(time.RFC1123Z)+"</pubDate>")
		item = numbers.ReplaceAllStringFunc(item, func(old string) string {
			switch old[0] {
			case '/':
				return fmt.Sprintf("/%d/", 100_000+number%900_000)
			case '?':
				return fmt.Sprintf("?p=%d", 100_000+number%900_000)
			}
			return fmt.Sprintf(">%08x-%04x-4000-8000-%012x<", uint32(number), uint16(number>>32), number>>16)
		})
		b.WriteString("<item>" + item + "</item>\n")
	}
	b.WriteString("</channel>\n</rss>\n")
	return []byte(b.String())
}

// publish adds what publishers write about a tick, and drops their oldest stories for it.
func (m *Market) publish(at *moment, tick int) {
	s := &scene{m: m, moment: at, tick: tick}
	r := m.random("news", tick)
	add := func(publisher int, title string, ago time.Duration) {
		t := story{title, at.at.Add(-ago).Truncate(time.Second), slugFor(title, tick)}
		stories := append([]story{t}, at.stories[publisher]...)
		slices.SortStableFunc(stories, func(a, b story) int { return b.at.Compare(a.at) })
		at.stories[publisher] = stories[:min(len(stories), 20)]
	}
	if tick > 0 && r.Float64() < 0.25 {
		title, first := s.headline(r), r.IntN(3)
		add(first, title, time.Duration(30+r.IntN(200))*time.Second)
		if r.Float64() < 0.3 {
			add((first+1)%3, title, time.Duration(r.IntN(30))*time.Second)
		}
	}
	for i := range m.cfg.Events {
		e := &m.cfg.Events[i]
		if e.Kind == Depeg && e.Fall > 0 && e.Until == tick {
			add(2, s.name(e.Subject)+" is back at its dollar peg as redemptions clear", 30*time.Second)
		}
		if e.From != tick {
			continue
		}
		if p := slices.Index(publishers(), e.Subject); p >= 0 && e.Text != "" {
			add(p, e.Text, 40*time.Second)
		} else if title := s.report(e); title != "" {
			add(0, title, 50*time.Second)
			add(1, title, 20*time.Second)
		}
	}
}

// report is the headline about an event, "" for one that is no news.
func (s *scene) report(e *Event) string {
	switch e.Kind {
	case Depeg:
		return s.name(e.Subject) + " slips from its dollar peg as redemptions queue"
	case Hack:
		return s.name("tvl/"+e.Subject) + " pauses markets after suspected $" + strconv.Itoa(int(e.Size/1e6)) + "M exploit"
	case FeeSpike:
		return "Bitcoin fees jump as blocks fill up"
	case Move:
		return s.name(e.Subject) + " swings sharply in thin trading"
	}
	return ""
}

// headline is a story about how the market stands.
func (s *scene) headline(r *rand.Rand) string {
	rows := list(s.m.base.doc("coins_markets.json"))
	if r.Float64() < 0.35 {
		titles := s.m.base.feeds[r.IntN(3)].stories
		return titles[r.IntN(len(titles))].title
	}
	c := obj(rows[r.IntN(min(60, len(rows)))])
	day := s.standing(text(c["id"])).day
	moods := [...]string{
		"%s holds steady as traders wait for data", "%s volumes thin out ahead of the weekend",
		"%s developers set a date for the next upgrade",
	}
	switch {
	case day >= 1:
		moods = [...]string{
			"%s climbs %.1f%% as buyers return", "Traders rotate into %s, up %.1f%% on the day", "%s leads large caps with a %.1f%% gain",
		}
	case day <= -1:
		moods = [...]string{
			"%s slides %.1f%% as traders cut risk", "%s loses %.1f%% in a day of light volume", "Sellers push %s down %.1f%%",
		}
	}
	mood := moods[r.IntN(len(moods))]
	if strings.Contains(mood, "%.1f") {
		return fmt.Sprintf(mood, text(c["name"]), max(day, -day))
	}
	return fmt.Sprintf(mood, text(c["name"]))
}

// name is what a coin or, with a prefix, a protocol is called.
func (s *scene) name(id string) string {
	file, member := "coins_markets.json", "id"
	if slug, is := strings.CutPrefix(id, "tvl/"); is {
		file, member, id = "protocols.json", "slug", slug
	}
	for _, row := range list(s.m.base.doc(file)) {
		if text(obj(row)[member]) == id {
			return text(obj(row)["name"])
		}
	}
	return id
}

// slugFor is the last part of the link of a story.
func slugFor(title string, tick int) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	return "synthetic-" + strings.Join(words[:min(len(words), 12)], "-") + "-" + strconv.Itoa(tick)
}
