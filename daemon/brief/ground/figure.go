package ground

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// figure is a number as a text writes it.
type figure struct {
	raw        string // with currency, sign and unit
	start, end int
	kind       figureKind
	value      float64 // without sign, scaled; of a clock or a date 0
	sign       int     // -1 or 1 if one is written
	half       float64 // half a unit of the last digit written
	unit       unit
	loose      bool // decimals, separators, a scale or four digits: an amount even without a unit
}

type figureKind int

const (
	figureNumber figureKind = iota
	figureSpan              // a length of time: 24h, 7-day
	figureClock             // 12:00
	figureDate              // 2026-11-20
	figureOther             // digits of another script
)

var (
	digits     = regexp.MustCompile(`^(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d{1,3}\b)?`)
	clock      = regexp.MustCompile(`^\d{1,2}:\d{2}(?::\d{2})?`)
	date       = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}`)
	scaleWord  = regexp.MustCompile(`(?i)^(?:[ -]?(thousand|million|billion|trillion|bn|mn|tn)|([kmbt]))\b`)
	dollarWord = regexp.MustCompile(`^ ?(?:U\.?S\.? )?(?:dollars?|USD[CT]?)\b`)
	percentEnd = regexp.MustCompile(`(?i)^ ?(?:%|percent\b|per cent\b|percentage points?\b|pp\b|pct\b)`)
	basisEnd   = regexp.MustCompile(`(?i)^ ?(?:bps?|basis points?)\b`)
	spanEnd    = regexp.MustCompile(`^[ -]?(?:hours?|hrs?|h|days?|d|weeks?|w|months?|minutes?|mins?|seconds?|secs?|s)\b`)
	countEnd   = regexp.MustCompile(`^(?:st|nd|rd|th|x)\b`)
)

// scanFigures finds the figures of a text in order. Digits alone within a word that starts with a letter (V3, Layer-2, ERC-20) or
// ends in letters that are no unit (1inch) are part of a name and no figure. What has a sign, a currency, a unit, a point or a comma
// is a figure, whatever is glued to it.
func scanFigures(t string) []figure {
	var list []figure
	for i := 0; i < len(t); {
		r, size := utf8.DecodeRuneInString(t[i:])
		switch {
		case r >= '0' && r <= '9':
			last := 0
			if len(list) > 0 {
				last = list[len(list)-1].end
			}
			f, ok := readFigure(t, i, last)
			if ok {
				list = append(list, f)
			}
			i = f.end
		case r > unicode.MaxASCII && unicode.IsNumber(r):
			end := i + len(t[i:]) - len(strings.TrimLeftFunc(t[i:], unicode.IsNumber))
			list = append(list, figure{raw: t[i:end], start: i, end: end, kind: figureOther})
			i = end
		default:
			i += size
		}
	}
	return list
}

// readFigure reads the figure whose first digit is at i; last is where the figure before it ends. Where there is none, the end
// of what it returns is the end of the word.
func readFigure(t string, i, last int) (figure, bool) {
	f := figure{start: i}
	if kind, end := readTime(t[i:]); end > 0 {
		f.kind = kind
		f.end = i + end
		f.raw = t[f.start:f.end]
		return f, true
	}
	named := f.readPrefix(t, last)
	text := digits.FindString(t[i:])
	f.end = i + len(text)
	f.readValue(t[f.start:i], text)
	bare, behind := !strings.ContainsAny(t[f.start:f.end], ".,+-–"), f.end
	glued := !f.readSuffix(t)
	if glued {
		f.end += wordLength(t[f.end:])
	}
	if bare && f.unit == unitPlain && (glued || named && !f.scaled(t, t[behind:f.end])) {
		return f, false
	}
	if before := t[:f.start]; f.unit == unitPlain && strings.HasSuffix(before, "USD ") && wordEdge(before, len(before)-4) {
		f.unit = unitUSD
	}
	f.raw = t[f.start:f.end]
	return f, true
}

func readTime(t string) (figureKind, int) {
	if s := date.FindString(t); s != "" {
		return figureDate, len(s)
	}
	if s := clock.FindString(t); s != "" {
		return figureClock, len(s)
	}
	return figureNumber, 0
}

// readPrefix moves the start of f over currency, sign and a leading point, and reports whether the digits belong to a name.
func (f *figure) readPrefix(t string, last int) (named bool) {
	before := func(i int) (rune, int) { return utf8.DecodeLastRuneInString(t[last:i]) }
	if r, n := before(f.start); r == '.' {
		if r, _ := before(f.start - n); unicode.IsLetter(r) {
			return true
		}
		f.start -= n
	}
	for range 2 { // $-3 and -$3
		r, n := before(f.start)
		switch r {
		case '$':
			f.unit = unitUSD
			f.start -= n
		case '€', '£', '¥':
			f.unit = unitOther
			f.start -= n
		case '-', '+', '–':
			p, _ := before(f.start - n)
			if r == '-' && unicode.IsLetter(p) {
				return true
			}
			if (f.start-n > last || last == 0) && isSign(p) {
				f.sign = map[bool]int{true: 1, false: -1}[r == '+']
				f.start -= n
			}
		}
	}
	return f.unit == unitPlain && f.readWord(t[last:f.start])
}

// readWord moves the start of f over the letters that before ends with, and reports whether there are any. USD is a currency.
func (f *figure) readWord(before string) bool {
	word := before[len(strings.TrimRightFunc(before, func(r rune) bool { return unicode.IsLetter(r) || r == '_' })):]
	f.start -= len(word)
	if word == "USD" {
		f.unit = unitUSD
	}
	return word != ""
}

// scaled reports whether behind, which stands behind digits that letters stand before, is a scale. A letter alone may belong to
// the name (B2B), unless a dash is between.
func (f *figure) scaled(t, behind string) bool {
	return scaleWord.MatchString(behind) && (len(behind) > 1 || strings.HasSuffix(t[:f.start], "-"))
}

// isSign reports whether a dash behind p is a sign, and not that of a range or of a compound.
func isSign(p rune) bool {
	return !unicode.IsLetter(p) && !unicode.IsNumber(p) && p != '%' && p != ')'
}

// readValue reads the digits and how precise they are. prefix is what stands before them.
func (f *figure) readValue(prefix, text string) {
	if strings.HasSuffix(prefix, ".") {
		text = "0." + text
	}
	f.value, _ = strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64) // out of range: infinite, which nothing equals
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, decimals, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exponent)
	f.half = 0.5 * math.Pow10(e-len(decimals))
	f.loose = decimals != "" || exponent != "" || len(whole) > 3
}

// readSuffix reads scale and unit behind the digits. It reports false if other letters follow: then it was a name.
func (f *figure) readSuffix(t string) bool {
	if m := scaleWord.FindStringSubmatch(t[f.end:]); m != nil {
		scale := scaleOf(m[1] + m[2])
		f.value, f.half, f.loose = f.value*scale, f.half*scale, true
		f.end += len(m[0])
		if s := dollarWord.FindString(t[f.end:]); s != "" {
			f.unit = unitUSD
			f.end += len(s)
		}
		return true
	}
	for _, suffix := range []struct {
		end  *regexp.Regexp
		unit unit
		kind figureKind
	}{{percentEnd, unitPercent, figureNumber}, {basisEnd, unitBasis, figureNumber}, {dollarWord, unitUSD, figureNumber},
		{spanEnd, unitPlain, figureSpan}, {countEnd, unitPlain, figureNumber}} {
		if s := suffix.end.FindString(t[f.end:]); s != "" && f.unit != unitUSD {
			f.unit = suffix.unit
			f.kind = suffix.kind
			f.end += len(s)
			return true
		}
	}
	r, _ := utf8.DecodeRuneInString(t[f.end:])
	return !unicode.IsLetter(r) && r != '_'
}

func scaleOf(word string) float64 {
	word = strings.ToLower(word)
	switch word[0] {
	case 'b':
		return 1e9
	case 'm':
		return 1e6
	case 'k':
		return 1e3
	}
	if word == "thousand" {
		return 1e3
	}
	return 1e12
}

// wordLength is the length of the letters and digits that t starts with.
func wordLength(t string) int {
	return len(t) - len(strings.TrimLeftFunc(t, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '_' }))
}

// usualSpan reports whether f is a length of time of the vocabulary: an hour, 24 hours, a day, 7 days or a week.
func (f *figure) usualSpan() bool {
	if f.kind != figureSpan {
		return false
	}
	rest := strings.TrimLeft(f.raw, "0123456789")
	letter := strings.TrimLeft(rest, " -")[0]
	switch letter {
	case 'h':
		return f.value == 1 || f.value == 24
	case 'd':
		return f.value == 1 || f.value == 7
	case 'w':
		return f.value == 1
	}
	return false
}

// within gives f the unit and the scale of the next figure of a range, as in 3–5% or $3 to 5 billion; both readings count.
func (f *figure) within(next figure, between string) (figure, bool) {
	switch between {
	case "-", "–", "—", " to ", " and ", "/", "-$", "–$", " - ", " – ":
	default:
		return *f, false
	}
	g := *f
	if g.unit == unitPlain {
		g.unit = next.unit
	}
	behind := strings.TrimLeft(next.raw, "$€£¥+-–0123456789,.")
	if m := scaleWord.FindStringSubmatch(behind); m != nil && f.unit != unitPercent && f.value < 1000 {
		scale := scaleOf(m[1] + m[2])
		g.value, g.half, g.loose = g.value*scale, g.half*scale, true
	}
	return g, true
}

// bare reports whether f is a whole number alone, which is among the numbers of many a row.
func (f *figure) bare() bool { return f.kind == figureNumber && f.unit == unitPlain && !f.loose }

// equals reports whether f is n, rounded at the precision that f is written with.
func (f *figure) equals(n number, r *row) bool {
	value, half := f.value, f.half
	if f.unit == unitBasis {
		value, half = value/100, half/100
	}
	if n.share && (f.unit == unitPercent || f.unit == unitBasis) && near(value, n.value*100, half) {
		return true
	}
	return f.counts(n, r) && near(value, math.Abs(n.value), half)
}

// counts reports whether f can be said of n: their units agree. A number without a unit may have any that its row does not use
// for others.
func (f *figure) counts(n number, r *row) bool {
	switch f.unit {
	case unitUSD:
		return (n.unit == unitUSD || n.unit == unitPlain && !r.typed[unitUSD]) && !f.coarse(n.value)
	case unitPercent, unitBasis:
		return n.unit == unitPercent || n.unit == unitPlain && !r.typed[unitPercent]
	case unitOther:
		return n.unit == unitPlain
	}
	return n.unit == unitPlain || f.loose
}

// coarse reports whether f is further from an amount than a twentieth of it: $3 trillion is no honest rounding of $3.32 trillion.
func (f *figure) coarse(amount float64) bool {
	return math.Abs(f.value-math.Abs(amount)) > math.Abs(amount)/20
}

// near reports whether shown is value rounded to half at most, halves either way.
func near(shown, value, half float64) bool {
	return math.Abs(shown-value) <= half*(1+1e-6)+math.Abs(value)*1e-12
}
