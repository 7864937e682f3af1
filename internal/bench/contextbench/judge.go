package main

import (
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// verdict is what an answer is worth.
type verdict struct {
	right, cited, dated bool
	wrong               string // the class of what is wrong
	said                string // what was answered
}

// whole reports an answer that is right, cited and dated.
func (v verdict) whole() bool { return v.right && v.cited && v.dated }

// judge holds the rows that answer a question against what upstream says. Only the first row counts: it is what an agent quotes.
func judge(q question, a api.LookupResponse, result api.LookupResult, fetched, now time.Time) (v verdict) {
	if len(result.Rows) == 0 {
		v.wrong, v.said = "nothing found", "near: "+strings.Join(result.Near, ", ")
		return v
	}
	row := result.Rows[0]
	v.said = fmt.Sprintf("%s/%s %s %v asked %v", row.Kind, row.Key, row.Name, row.Fields, row.Asked)
	switch value := row.Fields.Get(q.want.field); {
	case q.want.text != "":
		if v.right = row.Name == q.want.text || row.Key == q.want.key && strings.Contains(row.Name, q.want.text); !v.right {
			v.wrong = "another headline"
		}
	case row.Kind != q.want.kind && (value == nil || !q.want.near(toFloat(value))):
		v.wrong = "another kind of row"
	case value == nil:
		v.wrong = "no such field"
	case !q.want.near(toFloat(value)):
		v.wrong = "another value"
	case len(row.Asked) > 0 && !slices.Contains(row.Asked, q.want.field): // none where the question names none
		v.wrong = "field not marked as asked"
	default:
		v.right = true
	}
	v.judgeProof(q, a, row, fetched, now)
	return v
}

// judgeProof says whether a row is cited and dated.
func (v *verdict) judgeProof(q question, a api.LookupResponse, row api.LookupRow, fetched, now time.Time) {
	i := slices.IndexFunc(a.Citations, func(c api.AnchoredCitation) bool { return c.Ref == row.Ref })
	if i >= 0 && a.Citations[i].SourceID == q.want.source {
		v.cited = deep(row, a.Citations[i].URL)
	}
	v.dated = row.FetchedAt.Sub(fetched).Abs() < time.Second && row.AgeSeconds == int64(now.Sub(row.FetchedAt)/time.Second)
	switch {
	case v.right && !v.cited:
		v.wrong = "not cited"
		v.said += " " + row.URL
	case v.right && !v.dated:
		v.wrong = "not dated"
		v.said += fmt.Sprintf(" fetched %s, %d s old", row.FetchedAt, row.AgeSeconds)
	}
}

// deep reports whether a row's link leads to the thing itself. Readings of the whole market have the page of their source.
func deep(row api.LookupRow, source string) bool {
	u, err := url.Parse(row.URL)
	if err != nil || u.Host == "" {
		return false
	}
	return row.URL != source || slices.Contains(pageless(), row.Kind)
}

// pageless are the kinds of rows that have no page of their own anywhere.
func pageless() []string {
	return []string{
		"market", "index", "fee", "hack", "funding", "volatility", "options", "yield", "reference_rate", "fx", "indicator", "release",
		"service",
	}
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case string:
		for _, layout := range []string{time.RFC3339, time.DateOnly} {
			if at, err := time.Parse(layout, v); err == nil {
				return float64(at.Unix())
			}
		}
	case float64:
		return v
	case int64:
		return float64(v)
	case int:
		return float64(v)
	}
	return math.NaN()
}

// judgeText holds the text of a tool, as a model reads it, against what upstream says.
func judgeText(q question, text string, ref int) (v verdict) {
	v.said = clip(text, 300)
	line := text
	for l := range strings.Lines(text) {
		if strings.HasPrefix(strings.ToLower(l), strings.ToLower(q.text)+":") {
			line = l
			break
		}
	}
	if q.want.text != "" {
		v.right = strings.Contains(line, q.want.text)
	} else {
		v.right = q.want.in(line)
	}
	v.cited = strings.Contains(line, fmt.Sprintf("[%d] ", ref)) && strings.Contains(text, fmt.Sprintf("\n[%d] ", ref))
	v.dated = aged.MatchString(line)
	switch {
	case strings.Contains(line, "nothing") || strings.TrimSpace(text) == "":
		v.wrong = "text: nothing found"
	case !v.right:
		v.wrong = "text: the value is not there"
	case !v.cited:
		v.wrong = "text: not cited"
	case !v.dated:
		v.wrong = "text: not dated"
	}
	return v
}

var (
	aged   = regexp.MustCompile(`\b\d+ ?(?:s|min|h|d)\b|\bof \d{4}\b`) // its age, or what it is about where that is older
	figure = regexp.MustCompile(`([−+-]?)\$?(\d[\d,]*)(\.\d+)?(?:[eE](-?\d+))?([KMBT]?)`)
)

// in reports whether a text shows f's value, rounded to no less than three digits or, for percents, a decimal.
func (f fact) in(text string) bool {
	if f.slack == moment {
		return strings.Contains(text, time.Unix(int64(f.value), 0).UTC().Format("2006-01-02T15:04")) ||
			strings.Contains(text, time.Unix(int64(f.value), 0).UTC().Format("2006-01-02 15:04"))
	}
	for _, m := range figure.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(strings.ReplaceAll(m[2], ",", "")+m[3], 64)
		if err != nil {
			continue
		}
		unit := math.Pow10(-max(len(m[3])-1, 0))
		scale := map[string]float64{"": 1, "K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}[m[5]]
		if exponent, err := strconv.Atoi(m[4]); err == nil {
			scale = math.Pow10(exponent)
		}
		if m[1] == "−" || m[1] == "-" {
			value = -value
		}
		off, half := math.Abs(value*scale-f.value), unit*scale/2*1.01
		fine := half <= math.Abs(f.value)/190 || f.slack == percent && half <= 0.051 || f.slack == percent4 && half <= 0.00051
		if off <= half && fine || f.near(value*scale) {
			return true
		}
	}
	return false
}

// clip shortens a text to one line for the list of wrong answers.
func clip(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return text
}
