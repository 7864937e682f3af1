package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// How much of what is calm the text of changes tells: rows at least, rows that moved by largeMove at most, and headlines.
const (
	calmRows     = 5
	maxMoves     = 12
	largeMove    = 1.0 // percent, or points
	maxHeadlines = 3
)

func changesText(pack string, body []byte) (string, error) {
	var r api.ChangesResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	c := changesWriter{r: r, refs: make(map[int]bool), read: r.Freshness.Told()}
	from, to := r.From.UTC().Format(time.RFC3339Nano), r.To.UTC().Format(time.RFC3339Nano)
	c.line("Pack %s from %s to %s, %s.", pack, from, to, old(r.Freshness))
	for _, f := range r.Flags {
		c.refs[f.Ref] = true
		c.line("%s", flagLine(f))
	}
	c.rows()
	for i, h := range r.Headlines {
		if i == maxHeadlines {
			c.line("and %s", human.Plural(len(r.Headlines)-i, "more headline"))
			break
		}
		c.refs[h.Ref] = true
		c.line("new: %s [%d] %s", quoted(h.Title), h.Ref, h.At.UTC().Format("15:04"))
	}
	var closing, links []string
	for _, cell := range state.Closing(r) {
		closing = append(closing, cell.Text)
	}
	c.line("%s", strings.Join(closing, ", "))
	for _, s := range r.Citations {
		if !c.refs[s.Ref] { // of a row that the text leaves out
			continue
		}
		links = append(links, fmt.Sprintf("[%d] %s", s.Ref, shortLink(s.URL)))
	}
	if len(links) > 0 {
		c.line("%s", strings.Join(links, "  "))
	}
	return c.b.String(), nil
}

// old says how old a state is, and its data where a source is overdue.
func old(f api.Freshness) string {
	_, text, _ := strings.Cut(age(f), ", ")
	return text
}

type changesWriter struct {
	b    strings.Builder
	r    api.ChangesResponse
	refs map[int]bool // that were told
	read time.Time    // when the answer is read
}

func (c *changesWriter) line(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

func flagLine(f api.ChangedFlag) string {
	severity := strings.ToUpper(string(f.Severity))
	if f.Was != "" && f.Was != f.Severity {
		severity = strings.ToUpper(string(f.Was)) + " → " + severity
	}
	change := string(f.Change)
	if state.Passed(f) {
		change = "came and went"
	}
	text := fmt.Sprintf("%s %s: %s [%d], since %s", severity, change, f.Message, f.Ref, f.Since.UTC().Format(time.RFC3339))
	if f.EventAt != nil {
		text += ", happened " + f.EventAt.UTC().Format(time.RFC3339)
	}
	if f.EndedAt != nil {
		text += ", over by " + f.EndedAt.UTC().Format(time.RFC3339)
	}
	return text
}

// rows tells the rows that moved most.
func (c *changesWriter) rows() {
	for i, r := range c.r.Rows {
		if large := move(r) >= largeMove; i == maxMoves || i >= calmRows && !large {
			c.line("and %s that moved by no more than %s", human.Plural(len(c.r.Rows)-i, "row"), moveText(r))
			return
		}
		moved := state.Moved(r, c.r.Citations)
		text := state.Called(label(r.Name), label(r.Symbol))
		for _, cell := range moved.Cells {
			text += " " + cell.Text
		}
		text += fmt.Sprintf(" [%d]", r.Ref)
		if r.Stale || r.Of != "" {
			text += " " + moved.Age(c.read)
		}
		c.refs[r.Ref] = true
		c.line("%s", text)
	}
}

func move(r api.ChangedRow) float64 {
	if r.ChangePct != nil {
		return max(*r.ChangePct, -*r.ChangePct)
	}
	return max(r.To-r.From, r.From-r.To)
}

// moveText is the size of a row's move in words.
func moveText(r api.ChangedRow) string {
	return strings.TrimPrefix(human.Percent(move(r)), "+")
}
