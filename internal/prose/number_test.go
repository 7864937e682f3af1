package prose_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/prose"
)

// TestNumbers: each number is read by its own shape, in the ways of twelve languages.
func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"1,234.5 and 1.234,5 and 1’234.5 and 1 234,5 and 1\u202f234,5", "1234.5, 1234.5, 1234.5, 1234.5, 1234.5"},
		{"1,57% and −5,13 % and 0,188 and 12,5 Mrd. Euro", "1.57%, 5.13%, 0.188, 12500000000c"},
		{"2,237", "2237|2.237"}, {"2.237", "2.237|2237"}, {"234,567 $", "234567$|234.567$"}, {"0.237", "0.237"}, {"$2,237", "2237$"}, {"2,237 $", "2237$|2.237$"}, {"2,23", "2.23"},
		{"1,234,567", "1234567"}, {"1.234.567", "1234567"}, {"1.234.567,89", "1234567.89"}, {"1,2 and 3", "1.2, 3"},
		{"1, 2 and 3", "1, 2, 3"}, {"1400,1777", "1400.1777?"}, {"$1400,1777", "1400.1777$"},
		{"1,00,000 and 3.5 lakh and 2 crore", "100000, 350000, 20000000"}, {"12,34,567.8", "1234567.8"},
		{"5万 and 1.2亿 and 3兆 and 1.5万亿", "50000, 120000000, 3000000000000, 1500000000000"}, {"比特币92286美元", "92286$"},
		{"90k, 90K, 3M, 3Mn, 3mln, 3 mio, 3 Mio. und", "90000, 90000, 3000000, 3000000, 3000000, 3000000, 3000000"},
		{"2bn, 2 B, 2 Mrd., 2 Md et 2 milliards de dollars, 2 млрд долларов", "2000000000, 2, 2000000000, 2000000000, 2000000000$, 2000000000$"},
		{"3 тыс. 4", "3000, 4"}, {"3 T", "3"}, {"3T", "3000000000000"}, {"3 bilhões", "3000000000"}, {"3 Billionen", "3000000000000"},
		{"5m", "5000000"}, {"5m ago", "5000000|span"}, {"$5m now", "5000000$"},
		{"B2B, Web3, L2, v4, MA200, COVID-19, 1inch", ""}, {"52-week", "span"}, {"24h", "span"},
		{"1２,5％ and ٢٣٫٥٪ and १२%", "12.5%, 23.5%, 12%"}, {"1.2.3 and 20.11.2026 and 2026-11-20 and 12:30", "date, date, date, clock"},
		{"92.286 $, US$ 5, $5, 5 USD, USD 5, 5 dollars", "92.286$|92286$, 5$, 5$, 5$, 5$, 5$"},
		{"85 €, EUR 85k, £3, 3 BTC", "85c, 85000c, 3c, 3c"}, {"12 basis points, 5 pp, 3 Prozent, 4 pour cent", "12bp, 5%, 3%, 4%"},
		{"1.23e-5 and $0.0000123", "1.23e-05, 1.23e-05$"}, {".5 and -$3 and +21%", "0.5, 3$, 21%"}, {"12 300 coins", "12300?"},
		{"in 2025 300 coins", "2025, 300"}, {"12 300 456", "12300456"}, {"12 30", "12, 30"}, {"1'234'567", "1234567"},
	} {
		var got []string
		for _, w := range prose.Numbers(prose.Flatten(c.text).Text, 100) {
			var ways []string
			for _, f := range w.Readings() {
				way := fmt.Sprintf("%.15g", f.Value) + map[prose.Unit]string{prose.USD: "$", prose.Percent: "%", prose.Basis: "bp",
					prose.Currency: "c"}[f.Unit]
				if kind := map[prose.Kind]string{prose.Span: "span", prose.Clock: "clock", prose.Date: "date"}[f.Kind]; kind != "" {
					way = kind
				}
				ways = append(ways, way)
			}
			got = append(got, strings.Join(ways, "|")+map[bool]string{true: "?"}[w.Odd])
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%q: got %q, want %q", c.text, text, c.want)
		}
	}
}

// TestFlatten: a place leads back to the code point that was written there.
func TestFlatten(t *testing.T) {
	t.Parallel()
	text := "à\u200b−５\u00a0％ ＄9"
	f := prose.Flatten(text)
	if f.Text != "à-5 % $9" {
		t.Fatalf("%q", f.Text)
	}
	runes := []rune(text)
	for i, want := range map[int]string{0: "à", 2: "−", 3: "５", 5: "％", 7: "＄", 8: "9"} {
		if got := string(runes[f.At(i)]); got != want {
			t.Errorf("byte %d: %q, want %q", i, got, want)
		}
	}
	if f.At(len(f.Text)) != len(runes) {
		t.Errorf("the end is %d", f.At(len(f.Text)))
	}
}

// TestNumbersOfHostileText: what is long is read once.
func TestNumbersOfHostileText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("9", 16<<10), strings.Repeat("1,", 8<<10), strings.Repeat("1 ", 8<<10),
		strings.Repeat("1,000", 3<<10), strings.Repeat("$", 16<<10) + "1", strings.Repeat("[1", 8<<10), strings.Repeat("1m ", 5<<10)} {
		begun := time.Now()
		prose.Numbers(prose.Flatten(text).Text, 1000)
		if took := time.Since(begun); took > time.Second {
			t.Errorf("%.10q took %s", text, took)
		}
	}
}

func FuzzNumbers(f *testing.F) {
	f.Add("1.234,5 $ and 5m or 1’234 万")
	f.Fuzz(func(t *testing.T, text string) {
		flat := prose.Flatten(text)
		end := 0
		for _, w := range prose.Numbers(flat.Text, 1000) {
			if w.Start < end || w.End <= w.Start || flat.At(w.End) <= flat.At(w.Start) {
				t.Fatalf("%q: %d to %d after %d", text, w.Start, w.End, end)
			}
			end = w.End
		}
	})
}
