package prose_test

import (
	"slices"
	"testing"

	"github.com/contextd/contextd/internal/prose"
)

// names are two that a careless reader would cut.
func names() []prose.Phrase {
	return []prose.Phrase{{Text: "Yahoo! Inc. Coin", Name: true}, {Text: "ether.fi", Name: true}}
}

func TestSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"One thing. Another thing.", []string{"One thing.", "Another thing."}},
		{"One thing! Another? A third…", []string{"One thing!", "Another?", "A third…"}},
		{"In the U.S. market vs. others, e.g. Japan, it fell. So did Mr. Smith.", []string{"In the U.S. market vs. others, e.g. Japan, it fell.", "So did Mr. Smith."}},
		{"Approx. all of it. Etc. and so on.", []string{"Approx. all of it.", "Etc. and so on."}},
		{"Cut. [1] Not cut", []string{"Not cut"}},
		{"It fell.[1] Rose after. [1][1] Why", []string{"Why"}},
		{"He said “It fell. It rose.” Then he left.", []string{"He said “It fell. It rose.”", "Then he left."}},
		{"He said \"It fell. It rose\" and left.", []string{"He said \"It fell. It rose\" and left."}},
		{"Yahoo! Inc. Coin fell. ether.fi rose.", []string{"Yahoo! Inc. Coin fell.", "ether.fi rose."}},
		{"Soft\nwrapped line.\n\nNew paragraph without end\n\n- item one\n- item two", []string{"Soft\nwrapped line.", "New paragraph without end", "item one", "item two"}},
		{"# Heading\nText under it.", []string{"Text under it."}},
		{"**Bold heading**\n\nText under it.", []string{"Text under it."}},
		{"What matters now:\n\n1. First.\n2) Second.", []string{"First.", "Second."}},
		{"At a price of 1.5 it. is odd", []string{"At a price of 1.5 it. is odd"}},
		{"...!? ", nil},
		{"! a", []string{"! a"}},
		{"One thing.\n\n! a", []string{"One thing.", "! a"}},
	} {
		var got []string
		for _, s := range prose.Sentences(c.text, prose.Find(c.text, names())) {
			if len(s.Anchors) == 0 && !s.Silent() {
				got = append(got, s.Text)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"5 and 1,234 and 1,234.5 and 0.5 and .5", []string{"5", "1,234", "1,234.5", "0.5", ".5"}},
		{"$5, US$5, -$5, $-5, +5 and €5", []string{"$5", "$5", "-$5", "$-5", "+5", "€5"}},
		{"5%, 5 %, 5 percent, 5 per cent, 5 percentage points, 5 pp", []string{"5%", "5 %", "5 percent", "5 per cent", "5 percentage points", "5 pp"}},
		{"5 bps and 5 basis points", []string{"5 bps", "5 basis points"}},
		{"$5K, $5M, $5bn, 5T, 5 million, 5 trillion dollars, 5-million", []string{"$5K", "$5M", "$5bn", "5T", "5 million", "5 trillion dollars", "5-million"}},
		{"3–5% and 3-5 and $3-$5", []string{"3", "5%", "3", "5", "$3", "$5"}},
		{"(−5) and –5 and - 5", []string{"-5", "–5", "5"}},
		{"24 hours, 24h, 7-day, 7 days, 1 hour, one week", nil},
		{"48 hours, 3-day, 2 weeks, 5 minutes", []string{"48 hours", "3-day", "2 weeks", "5 minutes"}},
		{"Aave V3, Web3, L2, Layer-2, ERC-20, 1inch, 0xdead, USDT0, A.5, x_1", nil},
		{"1st, 22nd, 5x", []string{"1st", "22nd", "5x"}},
		{"12:30 and 12:30:15 and 2026-11-22", []string{"12:30", "12:30:15", "2026-11-22"}},
		{"1e5 and 1.5e-3 and 1e999", []string{"1e5", "1.5e-3", "1e999"}},
		{"½ and ٣٤ and 5", []string{"½", "٣٤", "5"}},
		{"$9.9Bn, $9.9BN, 5Mn, 5Tn, 9.9 Billion, 5billion", []string{"$9.9Bn", "$9.9BN", "5Mn", "5Tn", "9.9 Billion", "5billion"}},
		{"$92,000USD, 92,000USD, 5USD, $5abc, 5.5abc, -5abc", []string{"$92,000USD", "92,000USD", "5USD", "$5abc", "5.5abc", "-5abc"}},
		{"USD92,000, USD5, xUSD5, EUR92,000", []string{"USD92,000", "USD5", "EUR92,000"}},
		{"sub-$50,000, sub-5%, sub-50,000, sub-5.5, sub-5bn, sub-5B, sub-50 Bps", []string{"$50,000", "5%", "50,000", "5.5", "5bn", "5B", "50 Bps"}},
		{"V3.1, x5%, x5bn, fell.5%, x_1.5", []string{"V3.1", "x5%", "x5bn", "5%", "x_1.5"}},
		{"B2B, P2P, ERC-1155, 3Com, Base64", nil},
		{"1,23 and 1,2345", []string{"1", "23", "1,234", "5"}},
	} {
		var got []string
		for _, f := range prose.Figures(prose.Fold(c.text)) {
			if !f.UsualSpan() {
				got = append(got, f.Raw)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
