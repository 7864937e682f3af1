package prose

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Figure is a number as a text writes it.
type Figure struct {
	Raw        string // with currency, sign and unit
	Start, End int
	Kind       Kind
	Value      float64 // without sign, scaled; of a clock or a date 0
	Sign       int     // -1 or 1 if one is written
	Half       float64 // half a unit of the last digit written
	Unit       Unit
	Loose      bool // decimals, separators, a scale or four digits: an amount even without a unit
}

// Kind is what sort of a figure it is.
type Kind int

// The kinds of figures.
const (
	Number  Kind = iota
	Span         // a length of time: 24h, 7-day
	Clock        // 12:00
	Date         // 2026-11-20
	Foreign      // digits of another script
)

// Unit is what a figure counts.
type Unit int

// The units of figures.
const (
	Plain Unit = iota // not said
	USD
	Percent
	Basis    // hundredths of a percent
	Currency // another than USD
	Other    // one that a word behind it names, as sat/vB
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
	otherUnit  = regexp.MustCompile(`(?i)^ ?(?:sats?|satoshis?|gwei|wei|cents?|pips?|points?|euros?|yen|pounds?|francs?|[a-z]+/[a-z]+)\b`)
)

// Figures finds the figures of a text in order. Digits alone within a word that starts with a letter (V3, Layer-2, ERC-20) or
// ends in letters that are no unit (1inch) are part of a name and no figure. What has a sign, a currency, a unit, a point or a comma
// is a Figure, whatever is glued to it.
func Figures(t string) []Figure {
	var list []Figure
	for i := 0; i < len(t); {
		r, size := utf8.DecodeRuneInString(t[i:])
		switch {
		case r >= '0' && r <= '9':
			last := 0
			if len(list) > 0 {
				last = list[len(list)-1].End
			}
			f, ok := readFigure(t, i, last)
			if ok {
				list = append(list, f)
			}
			i = f.End
		case r > unicode.MaxASCII && unicode.IsNumber(r):
			end := i + len(t[i:]) - len(strings.TrimLeftFunc(t[i:], unicode.IsNumber))
			list = append(list, Figure{Raw: t[i:end], Start: i, End: end, Kind: Foreign})
			i = end
		default:
			i += size
		}
	}
	return list
}

// readFigure reads the figure whose first digit is at i; last is where the figure before it ends. Where there is none, the end
// of what it returns is the end of the word.
func readFigure(t string, i, last int) (Figure, bool) {
	f := Figure{Start: i}
	if kind, end := readTime(t[i:]); end > 0 {
		f.Kind = kind
		f.End = i + end
		f.Raw = t[f.Start:f.End]
		return f, true
	}
	named := f.readPrefix(t, last)
	text := digits.FindString(t[i:])
	f.End = i + len(text)
	f.readValue(t[f.Start:i], text)
	bare, behind := !strings.ContainsAny(t[f.Start:f.End], ".,+-–"), f.End
	glued := !f.readSuffix(t)
	if glued {
		f.End += wordLength(t[f.End:])
	}
	if bare && f.Unit == Plain && (glued || named && !f.scaled(t, t[behind:f.End])) {
		return f, false
	}
	if before := t[:f.Start]; f.Unit == Plain && strings.HasSuffix(before, "USD ") && WordEdge(before, len(before)-4) {
		f.Unit = USD
	}
	f.Raw = t[f.Start:f.End]
	return f, true
}

func readTime(t string) (Kind, int) {
	if s := date.FindString(t); s != "" {
		return Date, len(s)
	}
	if s := clock.FindString(t); s != "" {
		return Clock, len(s)
	}
	return Number, 0
}

// readPrefix moves the start of f over currency, sign and a leading point, and reports whether the digits belong to a name.
func (f *Figure) readPrefix(t string, last int) (named bool) {
	before := func(i int) (rune, int) { return utf8.DecodeLastRuneInString(t[last:i]) }
	if r, n := before(f.Start); r == '.' {
		if r, _ := before(f.Start - n); unicode.IsLetter(r) {
			return true
		}
		f.Start -= n
	}
	for range 2 { // $-3 and -$3
		r, n := before(f.Start)
		switch r {
		case '$':
			f.Unit = USD
			f.Start -= n
		case '€', '£', '¥':
			f.Unit = Currency
			f.Start -= n
		case '-', '+', '–':
			p, _ := before(f.Start - n)
			if r == '-' && unicode.IsLetter(p) {
				return true
			}
			if (f.Start-n > last || last == 0) && isSign(p) {
				f.Sign = map[bool]int{true: 1, false: -1}[r == '+']
				f.Start -= n
			}
		}
	}
	return f.Unit == Plain && f.readWord(t[last:f.Start])
}

// readWord moves the start of f over the letters that before ends with, and reports whether there are any. USD is a currency.
func (f *Figure) readWord(before string) bool {
	word := before[len(strings.TrimRightFunc(before, func(r rune) bool { return unicode.IsLetter(r) || r == '_' })):]
	f.Start -= len(word)
	if word == "USD" {
		f.Unit = USD
	}
	return word != ""
}

// scaled reports whether behind, which stands behind digits that letters stand before, is a scale. A letter alone may belong to
// the name (B2B), unless a dash is between.
func (f *Figure) scaled(t, behind string) bool {
	return scaleWord.MatchString(behind) && (len(behind) > 1 || strings.HasSuffix(t[:f.Start], "-"))
}

// isSign reports whether a dash behind p is a sign, and not that of a range or of a compound.
func isSign(p rune) bool {
	return !unicode.IsLetter(p) && !unicode.IsNumber(p) && p != '%' && p != ')'
}

// readValue reads the digits and how precise they are. prefix is what stands before them.
func (f *Figure) readValue(prefix, text string) {
	if strings.HasSuffix(prefix, ".") {
		text = "0." + text
	}
	f.Value, _ = strconv.ParseFloat(strings.ReplaceAll(text, ",", ""), 64) // out of range: infinite, which nothing equals
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	whole, decimals, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exponent)
	f.Half = 0.5 * math.Pow10(e-len(decimals))
	f.Loose = decimals != "" || exponent != "" || len(whole) > 3
}

// readSuffix reads scale and unit behind the digits. It reports false if other letters follow: then it was a name.
func (f *Figure) readSuffix(t string) bool {
	if m := scaleWord.FindStringSubmatch(t[f.End:]); m != nil {
		scale := scaleOf(m[1] + m[2])
		f.Value, f.Half, f.Loose = f.Value*scale, f.Half*scale, true
		f.End += len(m[0])
		if s := dollarWord.FindString(t[f.End:]); s != "" {
			f.Unit = USD
			f.End += len(s)
		} else if s := percentEnd.FindString(t[f.End:]); s != "" && f.Unit != USD {
			f.Unit = Percent
			f.End += len(s)
		} else if f.Unit == Plain && otherUnit.MatchString(t[f.End:]) {
			f.Unit = Other
		}
		return true
	}
	for _, suffix := range []struct {
		end  *regexp.Regexp
		unit Unit
		kind Kind
	}{{percentEnd, Percent, Number}, {basisEnd, Basis, Number}, {dollarWord, USD, Number},
		{spanEnd, Plain, Span}, {countEnd, Plain, Number}} {
		if s := suffix.end.FindString(t[f.End:]); s != "" && f.Unit != USD && !letter(t[f.End+len(s):]) { // 5 dólares are no days
			f.Unit = suffix.unit
			f.Kind = suffix.kind
			f.End += len(s)
			return true
		}
	}
	if f.Unit == Plain && otherUnit.MatchString(t[f.End:]) {
		f.Unit = Other
	}
	return !letter(t[f.End:]) && !strings.HasPrefix(t[f.End:], "_")
}

// letter reports whether t begins with a letter of any script.
func letter(t string) bool {
	r, _ := utf8.DecodeRuneInString(t)
	return unicode.IsLetter(r)
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

// UsualSpan reports whether f is a length of time of the vocabulary: an hour, 24 hours, a day, 7 days or a week.
func (f *Figure) UsualSpan() bool {
	if f.Kind != Span {
		return false
	}
	rest := strings.TrimLeft(f.Raw, "0123456789")
	letter := strings.TrimLeft(rest, " -")[0]
	switch letter {
	case 'h':
		return f.Value == 1 || f.Value == 24
	case 'd':
		return f.Value == 1 || f.Value == 7
	case 'w':
		return f.Value == 1
	}
	return false
}

// Within gives f the unit and the scale of the next figure of a range, as in 3–5% or $3 to 5 billion; both readings count.
func (f *Figure) Within(next Figure, between string) (Figure, bool) {
	switch between {
	case "-", "–", "—", " to ", " and ", "/", "-$", "–$", " - ", " – ":
	default:
		return *f, false
	}
	g := *f
	if g.Unit == Plain {
		g.Unit = next.Unit
	}
	behind := strings.TrimLeft(next.Raw, "$€£¥+-–0123456789,.")
	if m := scaleWord.FindStringSubmatch(behind); m != nil && f.Unit != Percent && f.Value < 1000 {
		scale := scaleOf(m[1] + m[2])
		g.Value, g.Half, g.Loose = g.Value*scale, g.Half*scale, true
	}
	return g, true
}

// Bare reports whether f is a whole number alone, which is among the numbers of many a row.
func (f *Figure) Bare() bool { return f.Kind == Number && f.Unit == Plain && !f.Loose }

// Near reports whether shown is value rounded to half at most, halves either way.
func Near(shown, value, half float64) bool {
	return math.Abs(shown-value) <= half*(1+1e-6)+math.Abs(value)*1e-12
}
