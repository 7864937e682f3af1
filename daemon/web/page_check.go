package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/feed"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// pageCheck is the form for a text that is to be checked, and what became of one.
type pageCheck struct {
	Self    string
	At      string // the moment of the past that the page is of, "" for now
	Text    string // that was sent
	Problem string
	Found   *api.CheckResponse
	Parts   []checkPart
	Marks   []checkMark
}

// checkPart is a part of the text: prose, or what was judged.
type checkPart struct {
	Text string
	Mark *checkMark
}

// checkMark is what became of a figure. N numbers those of a text from 1.
type checkMark struct {
	api.CheckFinding
	N         int
	Sign, Row string // Row is the link to the row in the state
	Marked    bool   // in the text
}

// check is the form on the page of a pack, with what became of the text that r sends.
func (p *Page) check(w http.ResponseWriter, r *http.Request, at place, v pageVisitor, made *pageMade) (*feed.Frame, error) {
	c, window := pageCheck{Self: at.self(), At: made.moment}, api.TierFree.SnapshotWindow()
	if c.At != "" {
		c.Self, window = c.Self+"?"+url.Values{"at": {c.At}}.Encode(), v.window
	}
	if r.Method == http.MethodPost {
		if err := p.judge(&c, w, r, at.Pack, window); err != nil {
			e := api.AsError(err)
			c.Problem = strings.TrimSuffix(e.Message+". "+e.Hint, ". ")
		}
	}
	text, err := p.text("check", c)
	return feed.NewText([]byte(text)), err
}

func (p *Page) judge(c *pageCheck, w http.ResponseWriter, r *http.Request, pack string, window time.Duration) error {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return api.Errorf(api.ReasonCrossOrigin, "the form is for the pages of this service")
	}
	if err := p.asks.AllowAll(p.cfg.Console.cfg.TrustedProxies.ClientsOf(r)...); err != nil {
		return err
	}
	if err := p.cfg.Crowd.Take(r, CostOf(api.Query{Op: api.OpCheck})+CostOfBody(r.ContentLength)); err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, api.MaxBodyBytes)
	if err := r.ParseForm(); err != nil {
		return api.Errorf(api.ReasonInvalidText, "the text has more than %d bytes, or cannot be read", api.MaxCheckBytes).
			WithHint("send it in parts")
	}
	text := strings.ReplaceAll(r.PostForm.Get("text"), "\r\n", "\n") // as browsers send lines
	if len(text) <= api.MaxCheckBytes {
		c.Text = human.Text(text)
	}
	found, err := p.cfg.Sheets.Check(r.Context(), pack, text, c.At, window)
	if err != nil {
		return err
	}
	c.mark([]rune(text), found)
	return nil
}

// mark parts a text by what became of its figures.
func (c *pageCheck) mark(text []rune, found api.CheckResponse) {
	c.Found, c.Marks = &found, make([]checkMark, 0, len(found.Findings))
	done := 0
	prose := func(to int) {
		if done < to {
			c.Parts = append(c.Parts, checkPart{Text: human.Text(string(text[done:to]))})
		}
	}
	for _, f := range found.Findings {
		m := checkMark{CheckFinding: f, N: len(c.Marks) + 1, Sign: api.CheckMark(f.Verdict)}
		if f.Path != "" {
			row := url.Values{"row": {f.Row}}
			if c.At != "" {
				row.Set("at", c.At)
			}
			m.Row = "?" + row.Encode() + "#row"
		}
		m.Text, m.Marked = human.Text(f.Text), done <= f.Start && f.End <= len(text)
		c.Marks = append(c.Marks, m)
		if !m.Marked { // a character in a figure
			continue
		}
		prose(f.Start)
		c.Parts, done = append(c.Parts, checkPart{m.Text, &c.Marks[len(c.Marks)-1]}), f.End
	}
	prose(len(text))
}

// Counts says how many figures became what.
func (c pageCheck) Counts() string {
	f := c.Found
	return fmt.Sprintf("%d verified, %d refuted, %d stale, %d unknown", f.Verified, f.Refuted, f.Stale, f.Unknown)
}

// Why says why a figure is not verified, in words.
func (m checkMark) Why() string {
	if m.Reason == "" || m.Reason == api.CheckOtherValue {
		return ""
	}
	return strings.ReplaceAll(string(m.Reason), "_", " ")
}
