package replay

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fixings is a document with the values of business days, the dates of which re finds in front of them in its first group. Each day's are
// told so late after its midnight, and stay: of makes of what stood behind a date, and behind the newest one, what is told of a
// time on our clock.
func (v *outlook) fixings(
	doc, layout string, re *regexp.Regexp, late time.Duration, of func(row, newest string, at time.Time) string,
) string {
	places := re.FindAllStringSubmatchIndex(doc, -1)
	row := func(i int) string {
		if i+1 < len(places) {
			return doc[places[i][3]:places[i+1][2]]
		}
		return doc[places[i][3]:]
	}
	recorded := map[time.Time]int{} // the place of a row by its date
	var dates []time.Time
	for i, p := range places {
		date, err := time.Parse(layout, doc[p[2]:p[3]])
		if _, known := recorded[date]; err == nil && !known {
			dates = append(dates, date)
		}
		recorded[date] = i
	}
	if len(dates) == 0 {
		return doc
	}
	slices.SortFunc(dates, time.Time.Compare)
	newest := row(recorded[dates[len(dates)-1]])
	days := make(map[time.Time]time.Time, len(dates)) // on our clock, by what was recorded
	day := midnight(v.at.Add(-late)).AddDate(0, 0, 1)
	for _, date := range slices.Backward(dates) {
		day = businessDayBefore(day)
		days[date] = day
	}
	shift := v.begun.Sub(v.zero).Truncate(time.Second).Round(24 * time.Hour) // as the times of a source are moved
	var b strings.Builder
	b.WriteString(doc[:places[0][2]])
	for i, p := range places {
		date, _ := time.Parse(layout, doc[p[2]:p[3]])
		b.WriteString(days[date].Add(-shift).Format(layout))
		b.WriteString(of(row(i), newest, days[date].Add(late)))
	}
	return b.String()
}

func businessDayBefore(day time.Time) time.Time {
	for {
		day = day.AddDate(0, 0, -1)
		if w := day.Weekday(); w != time.Saturday && w != time.Sunday {
			return day
		}
	}
}

// asRecorded tells the same of every day.
func asRecorded(row, _ string, _ time.Time) string { return row }

var (
	yieldDay = regexp.MustCompile(`m:type="Edm.DateTime">(\d{4}-\d\d-\d\d)T`)
	yieldIn  = regexp.MustCompile(`BC_(\w+) m:type="Edm.Double">([\d.]+)<`)
	quoteDay = regexp.MustCompile(`"(\d{4}-\d\d-\d\d)": \{`)
	quoteIn  = regexp.MustCompile(`"([A-Z]{3})": ([\d.]+)`)
	closeDay = regexp.MustCompile(`(?m)^(\d\d/\d\d/\d{4}),`)
	rateDay  = regexp.MustCompile(`"effectiveDate": "(\d{4}-\d\d-\d\d)"`)
	debtDay  = regexp.MustCompile(`"record_date": "(\d{4}-\d\d-\d\d)"`)
)

// moved replaces the second group of each match in row by what of makes of the first and of the number beside it in newest, or here where
// that has none, with the decimals of that one.
func moved(re *regexp.Regexp, row, newest string, of func(name string, x float64) float64) string {
	from := map[string]string{}
	for _, g := range re.FindAllStringSubmatch(newest, -1) {
		from[g[1]] = g[2]
	}
	return re.ReplaceAllStringFunc(row, func(match string) string {
		g := re.FindStringSubmatch(match)
		x := cmp.Or(from[g[1]], g[2])
		_, decimals, _ := strings.Cut(x, ".")
		return strings.Replace(match, g[2], strconv.FormatFloat(of(g[1], atof(x)), 'f', len(decimals), 64), 1)
	})
}

// yields are those of the Treasury, by tenor.
func (v *outlook) yields(feed string) string {
	return v.fixings(feed, time.DateOnly, yieldDay, 22*time.Hour, func(row, newest string, at time.Time) string {
		return moved(yieldIn, row, newest, func(tenor string, x float64) float64 {
			tenor = strings.TrimSuffix(tenor, "DISPLAY")
			return x + v.drift("yields", 0.05, at) + v.drift("yield/"+tenor, 0.01, at)
		})
	})
}

// exchange are the reference rates of the European Central Bank.
func (v *outlook) exchange(doc string) string {
	return v.fixings(doc, time.DateOnly, quoteDay, 15*time.Hour, func(row, newest string, at time.Time) string {
		return moved(quoteIn, row, newest, func(currency string, x float64) float64 {
			return x * math.Exp(v.drift("dollar", 0.003, at)+v.drift("fx/"+currency, 0.003, at))
		})
	})
}

// vix is an index at the close of each day.
func (v *outlook) vix(table string) string {
	return v.fixings(table, "01/02/2006", closeDay, 22*time.Hour, func(row, newest string, at time.Time) string {
		cells, lines := strings.Split(strings.TrimSpace(newest), ","), strings.SplitAfterN(row, "\n", 2)
		base := atof(cells[4])
		value := func(at time.Time) float64 { return base * math.Exp(v.drift("vix", 0.05, at)) }
		open, last := value(at.Add(-7*time.Hour)), value(at)
		var b strings.Builder
		for _, x := range [...]float64{open, max(open, last) * 1.01, min(open, last) * 0.99, last} {
			b.WriteString("," + strconv.FormatFloat(round(x, 2), 'f', 6, 64)) // as Cboe does
		}
		return b.String() + "\n" + strings.Join(lines[1:], "")
	})
}

// reference are the rates of the Federal Reserve Bank of New York, told on the morning after.
func (v *outlook) reference(doc string) string {
	return v.fixings(doc, time.DateOnly, rateDay, 12*time.Hour, asRecorded)
}

// debt is that of the United States, told on the evening after.
func (v *outlook) debt(doc string) string {
	return v.fixings(doc, time.DateOnly, debtDay, 44*time.Hour, asRecorded)
}
