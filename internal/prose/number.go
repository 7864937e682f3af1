package prose

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Written is a number as a text of any language has it, with each way in which it can be read. Its own shape alone decides on them: how
// another number of the text is written says nothing.
type Written struct {
	Figure          // as read first
	Also   []Figure // the other ways
	Odd    bool     // it may be two numbers
}

// Readings are all ways to read w.
func (w *Written) Readings() []Figure { return append([]Figure{w.Figure}, w.Also...) }

// Numbers finds the numbers of a text that Flatten has made, in order and at most so many. Digits in a name are none, as in Figures.
func Numbers(t string, most int) (list []Written) {
	last := 0
	for i := 0; i < len(t) && len(list) < most; {
		r, size := utf8.DecodeRuneInString(t[i:])
		switch {
		case r >= '0' && r <= '9':
			w, ok := readWritten(t, i, last)
			if ok {
				list = append(list, w)
				last = w.End
			}
			i = max(w.End, i+1)
		case r > unicode.MaxASCII && unicode.IsLetter(r) && unspaced(r):
			i += size
			last = i // no word runs from such a letter into a number
		default:
			i += size
		}
	}
	return list
}

// unspaced reports whether r is of a script that has no spaces between words.
func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai)
}

// Unspaced reports whether a text begins with a letter of a script that has no spaces between words.
func Unspaced(t string) bool { return unspacedAt(t, 0) }

// numeral is one way to read digits with separators.
type numeral struct {
	value    float64
	decimals int
	exponent int
}

// readWritten reads the number whose first digit is at i; last is where the one before it ends.
func readWritten(t string, i, last int) (w Written, ok bool) {
	f := Figure{Start: i}
	if kind, end := readTime(t[i:]); end > 0 && !digitAt(t, i+end) {
		f.Kind, f.End, f.Raw = kind, i+end, t[i:i+end]
		return Written{Figure: f}, true
	}
	length, list, odd := numerals(t[i:], last == 0 || i > last)
	f.End = i + length
	named := f.readPrefix(t, last)
	if strings.HasPrefix(t[f.Start:], ".") && len(list) > 0 {
		list = numbersOf("0."+t[i:i+length], 0)
	}
	if len(list) == 0 { // a version, an address, a day as 20.11.2026
		f.Kind, f.Raw = Date, t[f.Start:f.End]
		return Written{Figure: f}, true
	}
	if t[f.Start] == '$' && len(list) == 2 && list[0].decimals == 0 { // a sign in front is of who writes 1,234.5
		list = list[:1]
	}
	bare, behind := !strings.ContainsAny(t[f.Start:f.End], ".,+-–"), f.End
	for _, n := range list {
		g := f
		g.Value, g.Half = n.value, 0.5*math.Pow10(n.exponent-n.decimals)
		g.Loose = n.decimals > 0 || n.exponent != 0 || n.value >= 1000
		w.Also = append(w.Also, g.suffixes(t)...)
	}
	w.Figure, w.Also, w.Odd = w.Also[0], w.Also[1:], odd && w.Also[0].Unit == Plain
	glued := w.End < len(t) && !strings.HasPrefix(t[w.End:], " ") && wordLength(t[w.End:]) > 0 && !unspacedAt(t, w.End)
	if bare && w.Unit == Plain && (glued || named && !f.scaled(t, t[behind:w.End])) {
		if glued {
			w.End += wordLength(t[w.End:])
		}
		return w, false
	}
	if before := t[min(last, w.Start):w.Start]; w.Unit == Plain {
		if unit, cut := currencyBefore(before); unit != Plain {
			w.Unit = unit
			w.Start -= cut
			for j := range w.Also {
				w.Also[j].Unit, w.Also[j].Start = unit, w.Start
			}
		}
	}
	w.Raw = t[w.Start:w.End]
	for j := range w.Also {
		w.Also[j].Raw = t[w.Also[j].Start:w.Also[j].End]
	}
	return w, true
}

func digitAt(t string, i int) bool { return i >= 0 && i < len(t) && t[i] >= '0' && t[i] <= '9' }

func unspacedAt(t string, i int) bool {
	r, _ := utf8.DecodeRuneInString(t[i:])
	return unspaced(r)
}

var moneyCode = regexp.MustCompile(`(?:^|[^\pL\d])(USD|(?:US)?\$|EUR|GBP|JPY|CHF|CNY|BTC|ETH|€|£) ?$`)

// currencyBefore is the currency that a text ends with, and how much of it that is.
func currencyBefore(t string) (Unit, int) {
	tail := t[max(0, len(t)-8):]
	m := moneyCode.FindStringSubmatchIndex(tail)
	switch {
	case m == nil:
		return Plain, 0
	case tail[m[2]:m[3]] == "USD" || strings.HasSuffix(tail[m[2]:m[3]], "$"):
		return USD, len(tail) - m[2]
	}
	return Currency, len(tail) - m[2]
}

// numerals reads digits and the separators between them: how long they are, and the values that they may have, none for what is no number.
// odd says that they may be two numbers.
func numerals(t string, spaces bool) (length int, list []numeral, odd bool) {
	var groups []string
	var seps []byte
	at := 0
	run := func() string {
		n := at
		for digitAt(t, n) {
			n++
		}
		g := t[at:n]
		at = n
		return g
	}
	groups = append(groups, run())
	for at < len(t) {
		sep, size := t[at], 1
		if strings.HasPrefix(t[at:], "’") {
			sep, size = '\'', len("’")
		}
		if !digitAt(t, at+size) {
			break
		}
		next := at + size
		for digitAt(t, next) {
			next++
		}
		three := next-at-size == 3 && len(groups[0]) <= 3
		if sep == ' ' && (!spaces || !three || groups[0] == "0") || sep == '\'' && !three || !strings.ContainsRune(" '.,", rune(sep)) {
			break
		}
		if n := len(seps); sep == ' ' && n > 0 && seps[n-1] != ' ' { // the number before is over
			break
		}
		seps = append(seps, sep)
		at += size
		groups = append(groups, run())
	}
	exponent := 0
	if m := power.FindString(t[at:]); m != "" && len(seps) < 2 {
		exponent, _ = strconv.Atoi(strings.TrimPrefix(m[1:], "+"))
		at += len(m)
	}
	list, odd = shapes(groups, string(seps), exponent)
	return at, list, odd
}

var power = regexp.MustCompile(`^[eE][-+]?\d{1,3}\b`)

// shapes are the values of groups of digits with separators between.
func shapes(groups []string, seps string, exponent int) (list []numeral, odd bool) {
	whole := func(from []string) string { return strings.Join(from, "") }
	n := len(seps)
	if n == 0 {
		return numbersOf(groups[0], exponent), false
	}
	last := seps[n-1]
	thousands := inThrees(groups)
	switch kinds := strings.Trim(seps, string(last)); {
	case kinds == "" && n == 1 && (last == '.' || last == ','):
		a, b := groups[0], groups[1]
		decimal := numbersOf(a+"."+b, exponent)
		switch {
		case thousands && a[0] != '0' && last == ',':
			return append(numbersOf(a+b, 0), decimal...), false
		case thousands && a[0] != '0':
			return append(decimal, numbersOf(a+b, 0)...), false
		case last == ',' && len(a) > 3:
			return decimal, true
		}
		return decimal, false
	case kinds == "" && last == ',' && indian(groups), kinds == "" && thousands:
		return numbersOf(whole(groups), 0), last == ' ' && n == 1
	case strings.Count(seps, string(last)) == 1 && (last == '.' || last == ',') && (inThrees(groups[:n]) || indian(groups[:n])) &&
		strings.Trim(seps[:n-1], seps[:1]) == "":
		return numbersOf(whole(groups[:n])+"."+groups[n], 0), false
	}
	return nil, false
}

// inThrees reports whether all groups but the first have three digits.
func inThrees(groups []string) bool {
	return len(groups[0]) <= 3 && !slices.ContainsFunc(groups[1:], func(g string) bool { return len(g) != 3 })
}

// indian reports whether groups are those of a lakh or a crore: 1,00,000.
func indian(groups []string) bool {
	n := len(groups)
	return n > 2 && len(groups[0]) <= 2 && len(groups[n-1]) == 3 &&
		!slices.ContainsFunc(groups[1:n-1], func(g string) bool { return len(g) != 2 })
}

func numbersOf(text string, exponent int) []numeral {
	_, decimals, _ := strings.Cut(text, ".")
	if exponent != 0 {
		text += "e" + strconv.Itoa(exponent)
	}
	v, _ := strconv.ParseFloat(text, 64) // out of range: infinite, which nothing equals
	return []numeral{{v, len(decimals), exponent}}
}

// powerOf is what a word for a power of ten in one of several languages comes to, besides those that Figures reads; 0 for other words.
func powerOf(word string) float64 {
	switch word {
	case "千", "mil", "тыс", "tys", "tsd", "tausend", "mille", "тысяч", "ألف", "हजार", "हज़ार":
		return 1e3
	case "万", "萬":
		return 1e4
	case "lakh", "लाख":
		return 1e5
	case "mio", "mln", "millions", "millionen", "millones", "millón", "milhões", "milhão", "milioni", "milione", "milionów", "miliona",
		"миллионов", "миллиона", "млн", "مليون", "百万":
		return 1e6
	case "crore", "करोड़":
		return 1e7
	case "亿", "億":
		return 1e8
	case "mrd", "md", "mld", "bln", "billions", "milliard", "milliards", "milliarden", "milliarde", "miliardi", "miliardo", "miliardów",
		"miliarda", "bilhões", "bilhão", "mil millones", "миллиардов", "миллиарда", "млрд", "مليار", "अरब", "十亿":
		return 1e9
	case "兆", "万亿", "trillions", "billionen", "billones", "billón", "трлн", "триллионов", "триллиона", "trilhões", "trilhão",
		"تريليون", "bilioni", "bilionów", "biliona":
		return 1e12
	}
	return 0
}

var (
	foreignScale = regexp.MustCompile(`(?i)^ ?(十亿|百万|万亿|[万萬亿億兆千]|mil millones|[\p{L}\p{M}]+)\.?`)
	foreignUSD   = regexp.MustCompile(`(?i)^ ?(?:(?:de|di) )?(?:US ?)?(?:\$(?:[^\pL\d]|$)|d[oó]lares?\b|d[oó]llari\b|dollari\b|dollars?\b|dolar[óo]w\b|долл|доллар|美元|ドル|डॉलर|دولار)`)
	foreignPct   = regexp.MustCompile(`(?i)^ ?(?:prozent\b|pour cent\b|por ?ciento\b|por cento\b|per cento\b|percento\b|процент[\pL]*|proc\.|パーセント|प्रतिशत|بالمئة|في المئة)`)
	foreignCoin  = regexp.MustCompile(`(?i)^ ?(?:€|£|¥|元|円|₹|₽|zł|(?:eur|gbp|jpy|chf|cny|inr|rub|brl|btc|eth|sol|xau)\b|euros?\b|rubles?\b|руб|рупий|rupees?\b|yuan\b|yen\b)`)
)

// suffixes are the readings of g with what stands behind its digits: scale, then unit.
func (f Figure) suffixes(t string) []Figure {
	g := f
	if m := foreignScale.FindStringSubmatch(t[f.End:]); m != nil {
		if scale := powerOf(strings.ToLower(m[1])); scale > 0 {
			if g.End += len(m[0]); strings.HasSuffix(m[0], ".") && !strings.HasPrefix(t[g.End:], " ") {
				g.End-- // it ends the sentence
			}
			g.Value, g.Half, g.Loose = g.Value*scale, g.Half*scale, true
			g.foreignUnit(t)
			return []Figure{g}
		}
	}
	behind := t[g.End:]
	g.readSuffix(t)
	g.foreignUnit(t)
	list := []Figure{g}
	if strings.HasPrefix(behind, "m") && g.Unit != USD && g.Kind == Number && !strings.HasPrefix(behind, "mi") && len(behind) > 1 &&
		!isWordByte(behind[1]) { // minutes or metres
		other := f
		other.End, other.Kind = g.End, Span
		list = append(list, other)
	}
	return list
}

func isWordByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b >= utf8.RuneSelf
}

// foreignUnit reads a unit that Figures does not know.
func (f *Figure) foreignUnit(t string) {
	if f.Kind != Number || f.Unit == Percent || f.Unit == Basis {
		return
	}
	behind := t[f.End:]
	for _, u := range []struct {
		form *regexp.Regexp
		unit Unit
	}{{percentEnd, Percent}, {dollarWord, USD}, {foreignPct, Percent}, {foreignUSD, USD}, {foreignCoin, Currency}} {
		m := u.form.FindString(behind)
		if m == "" || f.Unit != Plain && f.Unit != Other {
			continue
		}
		if u.unit == USD && !strings.HasSuffix(strings.ToLower(m), "s") { // a sign with what is behind it
			if i := strings.Index(m, "$"); i >= 0 {
				m = m[:i+1]
			}
		}
		f.Unit = u.unit
		f.End += len(m)
		return
	}
}
