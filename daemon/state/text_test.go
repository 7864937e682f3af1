package state_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/state"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"plain", "Zcash extends rally", state.CapHeadline, "Zcash extends rally"},
		{"empty", "", 1, ""},
		{"white space", " \ta\r\n\u00a0 \u2028b\v\f\u0085c\u3000 ", 16, "a b c"},
		{"nothing but white space", " \n\t\u2003", 16, ""},
		{"colours", "\x1b[1;31mred\x1b[0m alert", 16, "red alert"},
		{"colours of one byte", "\u009b1;31mred\u009b0m", 16, "red"},
		{"title sequence", "\x1b]0;owned\x07safe\x1b]8;;https://x.test\x1b\\link\x1b]8;;\x1b\\", 16, "safelink"},
		{"title sequence of one byte", "\u009d0;owned\u009csafe", 16, "safe"},
		{"unfinished sequence", "a\x1b", 16, "a"},
		{"two letters", "a\x1bMb\x1b(0c", 16, "ab(0c"},
		{"sequence hidden by a control", "\x1b\x00[31mred", 16, "[31mred"},
		{"controls", "a\x00b\x07c\x7fd\u0080e", 16, "abcde"},
		{"bidirectional", "\u202eevil\u202c \u2066x\u2069\u200e", 16, "evil x"},
		{"invisible", "zero\u200bwidth\ufeff\u00ad\u2060!", 16, "zerowidth!"},
		{"private use and tags", "a\ue000b\U000e0041c\U0010fffdd", 16, "abcd"},
		{"not UTF-8", "a\xff\xfeb\xc3", 16, "a\uFFFDb\uFFFD"},
		{"anchor", "up 20% [1] says [12]", 32, "up 20% (1) says (12)"},
		{"anchor with spaces", "[ 1 ] [\t2\n]", 32, "( 1 ) ( 2 )"},
		{"nested anchor", "[[1]]", 32, "[(1)]"},
		{"anchor behind what goes", "[\u200b3] [\x1b[0m4] [\x005]", 32, "(3) (4) (5)"},
		{"no anchor", "[a] [] [1a] [1,2] 1]", 32, "[a] [] [1a] [1,2] 1]"},
		{"just fits", "abcd", 4, "abcd"},
		{"one too long", "abcde", 4, "abc…"},
		{"runes are counted, not bytes", "ßßßß", 4, "ßßßß"},
		{"runes are cut, not bytes", "ßßßßß", 4, "ßßß…"},
		{"no space before the ellipsis", "abc def", 5, "abc…"},
		{"what goes does not count", "\u200babcd\x1b[0m ", 4, "abcd"},
		{"least limit", "ab", 1, "…"},
	} {
		if got := state.Clean(c.in, c.limit); got != c.want {
			t.Errorf("%s: Clean(%+q, %d) = %+q, want %+q", c.name, c.in, c.limit, got, c.want)
		}
	}
	if state.CapSymbol != 16 || state.CapName != 48 || state.CapHeadline != 96 {
		t.Error("a cap is not that of the design")
	}
}

// checkClean fails where the cleaned form of s is unsafe, too long or not settled.
func checkClean(t *testing.T, s string, limit int) {
	t.Helper()
	got := state.Clean(s, limit)
	switch {
	case !utf8.ValidString(got):
		t.Fatalf("Clean(%+q, %d) = %+q is not UTF-8", s, limit, got)
	case utf8.RuneCountInString(got) > limit:
		t.Fatalf("Clean(%+q, %d) = %+q is over the limit", s, limit, got)
	case got != strings.Join(strings.Fields(got), " "):
		t.Fatalf("Clean(%+q, %d) = %+q keeps white space", s, limit, got)
	case regexp.MustCompile(`\[\s*\d+\s*\]`).MatchString(got):
		t.Fatalf("Clean(%+q, %d) = %+q holds an anchor", s, limit, got)
	case strings.ContainsFunc(got, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) }):
		t.Fatalf("Clean(%+q, %d) = %+q holds what cannot be seen", s, limit, got)
	case state.Clean(got, limit) != got:
		t.Fatalf("Clean(%+q, %d) = %+q, cleaned again %+q", s, limit, got, state.Clean(got, limit))
	}
}

// hostile are the pieces that an attack on Clean would be made of.
var hostile = []string{
	"\x1b", "\x1b[", "\x1b]", "31m", "\x07", "\\", "\u009b", "\u009d", "\u009c", "[", "]", "1", "23", " ", "\n", "\u200b", "\u202e", "\x00", "\xff", "\ue000", "a", "ß",
	"🚀", "\u0301", "…", "\u2028", "\u00a0", "\U000e0001",
}

func TestCleanHostileMixtures(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		var b strings.Builder
		for range 1 + random.IntN(10) {
			b.WriteString(hostile[random.IntN(len(hostile))])
		}
		checkClean(t, b.String(), 1+random.IntN(12))
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31m[1]\u200b \xff…", uint16(5))
	for _, s := range hostile {
		f.Add(s+"[1"+s+"]", uint16(3))
	}
	f.Fuzz(func(t *testing.T, s string, limit uint16) { checkClean(t, s, 1+int(limit)) })
}
