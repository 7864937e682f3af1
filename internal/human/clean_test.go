package human_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/contextd/contextd/internal/human"
)

// TestCleaning has every kind of what goes, beside its nearest neighbour that stays.
func TestCleaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, text, line string }{
		{"plain", "Zcash extends rally", "Zcash extends rally", "Zcash extends rally"},
		{"languages", "plain é e\u0301 漢 ไทย नमस्ते עברית 🙂", "plain é e\u0301 漢 ไทย नमस्ते עברית 🙂", "plain é e\u0301 漢 ไทย नमस्ते עברית 🙂"},
		{"lines", "a\n\n b\tc\r\nd\n", "a\n\n b\tc\nd\n", "a  b c d"},
		{"other breaks", "a\rb\vc\fd\u0085e\u2028f\u2029g", "a\nb\nc\nd\ne\nf\ng", "a b c d e f g"},
		{"spaces", " a\u00a0b\u2003c\u3000 ", " a\u00a0b\u2003c\u3000 ", " a b c  "},

		{"colours", "\x1b[1;31mred\x1b[0m alert", "red alert", "red alert"},
		{"colours of one character", "\u009b1;31mred\u009b0m", "red", "red"},
		{"colours without an end", "a \x1b[31", "a ", "a "},
		{"colours without an end before a letter", "\x1b[31é", "é", "é"},
		{"control inside an escape", "\x1b\x00[31mred", "red", "red"},
		{"title", "\x1b]0;owned\x07safe", "safe", "safe"},
		{"title of one character", "\u009d0;owned\u009csafe", "safe", "safe"},
		{"quotation marks in the wrong encoding", "â\u0080\u009cno,â\u0080\u009d they said â\u0080\u009bé", "âno,â they said âé", "âno,â they said âé"},
		{"title without an end", "a\x1b]0;owned\nb", "a", "a"},
		{"title ended by an escape", "\x1b]0;a\x1b[31mred", "red", "red"},
		{"title ended by no byte of a letter", "\x1b]0;\u0e1c x\x07b", "b", "b"},
		{"link", "\x1b]8;;https://x.test\x1b\\link\x1b]8;;\x1b\\", "link", "link"},
		{"clipboard", "\x1b]52;c;ZXZpbA==\x1b\\x", "x", "x"},
		{"picture", "a\x1bPq#0\x1b\\b", "ab", "ab"},
		{"other strings", "a\x1bXs\x1b\\b\x1b^p\x1b\\c\x1b_a\x1b\\d", "abcd", "abcd"},
		{"reset, character set", "a\x1bcb\x1bMc\x1b(0d\x1b7e", "abcde", "abcde"},
		{"escapes", "a\x1b\x1b\x1b[2Jb\x1b", "ab", "ab"},

		{"controls", "a\x00b\x07c\x08d\x1fe\x7ff\u0080g\u009fh", "abcdefgh", "abcdefgh"},
		{"beside controls", " ~\u00a1", " ~\u00a1", " ~\u00a1"},
		{"direction", "\u202aa\u202eb\u2066c\u2069d\u061ce\u200ef\u200fg", "abcdefg", "abcdefg"},
		{"no width", "a\u200bb\u200cc\u200dd\u2060e\u2064f\u206fg\ufeffh\u00adi\u180ej", "abcdefghij", "abcdefghij"},
		{"beside no width", "\u2010\u2030\u2070", "\u2010\u2030\u2070", "\u2010\u2030\u2070"},
		{"fillers", "a\u034fb\u115fc\u1160d\u17b4e\u3164f\uffa0g", "abcdefg", "abcdefg"},
		{"tags", "a\U000e0001\U000e0020\U000e0041\U000e007fb", "ab", "ab"},
		{"variants", "a\ufe00\ufe0db\U000e0100c\U000e01efd\u180be", "abcde", "abcde"},
		{"emoji and their variants", "❤\ufe0f ☎\ufe0e 👍🏽 🇫🇷", "❤\ufe0f ☎\ufe0e 👍🏽 🇫🇷", "❤\ufe0f ☎\ufe0e 👍🏽 🇫🇷"},
		{"run of variants", "❤\ufe0f\ufe0e\ufe0f\u200d\ufe0e!", "❤\ufe0f!", "❤\ufe0f!"},
		{"joined emoji", "👩\u200d👧 🏳\ufe0f\u200d🌈", "👩👧 🏳\ufe0f🌈", "👩👧 🏳\ufe0f🌈"},
		{"private use", "a\ue000b\uf8ffc\U000f0000d\U000ffffde\U00100000f\U0010fffdg", "abcdefg", "abcdefg"},
		{"beside private use", "\ud7fb\uf900", "\ud7fb\uf900", "\ud7fb\uf900"},
		{"not assigned", "a\u0378b\ufffec\U0001fffed", "a\uFFFDb\uFFFDc\uFFFDd", "a\uFFFDb\uFFFDc\uFFFDd"},
		{"not assigned and not to be seen", "a\u2065b\ufff0c\U000e0080d\U000e0fffe", "abcde", "abcde"},
		{"not UTF-8", "a\xff\xfeb\xc3", "a\uFFFDb\uFFFD", "a\uFFFDb\uFFFD"},
		{"surrogate", "a\xed\xa0\x80b", "a\uFFFDb", "a\uFFFDb"},
		{"control of one byte", "a\x9b31mb", "a\uFFFD31mb", "a\uFFFD31mb"},
	} {
		if got := human.Text(c.in); got != c.text {
			t.Errorf("%s: Text(%+q) = %+q, want %+q", c.name, c.in, got, c.text)
		}
		if got := human.Line(c.in); got != c.line {
			t.Errorf("%s: Line(%+q) = %+q, want %+q", c.name, c.in, got, c.line)
		}
	}
}

func TestLabel(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		limit    int
		want     string
	}{
		{"empty", "", 1, ""},
		{"white space", " \ta\r\n\u00a0 \u2028b\v\f\u0085c\u3000 ", 16, "a b c"},
		{"nothing but white space", " \n\t\u2003", 16, ""},
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
		if got := human.Label(c.in, c.limit); got != c.want {
			t.Errorf("%s: Label(%+q, %d) = %+q, want %+q", c.name, c.in, c.limit, got, c.want)
		}
		if got := strings.NewReplacer("[1]", "(1)", "[12]", "(12)", "[ 1 ]", "( 1 )", "[ 2 ]", "( 2 )", "[3]", "(3)", "[4]", "(4)", "[5]", "(5)").
			Replace(human.Short(c.in, c.limit)); got != c.want {
			t.Errorf("%s: Short(%+q, %d) is another text than the label: %+q", c.name, c.in, c.limit, got)
		}
	}
	if got := human.Short("see [1]\x1b[0m", 9); got != "see [1]" {
		t.Errorf("Short is %q", got)
	}
	if got := human.Clip("a\x00b c", 4) + human.Clip("ab", 2) + human.Clip("ab", 0); got != "a\x00b…ab…" {
		t.Errorf("Clip is %+q", got)
	}
}

// checkClean fails where a cleaned form of s is unsafe, too long or not settled.
func checkClean(t *testing.T, s string, limit int) {
	t.Helper()
	text, line := human.Text(s), human.Line(s)
	switch {
	case human.Text(text) != text || human.Line(line) != line:
		t.Fatalf("%+q: cleaned again %+q is %+q, and %+q is %+q", s, text, human.Text(text), line, human.Line(line))
	case strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && human.Hostile(r) }) || strings.ContainsFunc(line, human.Hostile):
		t.Fatalf("%+q: %+q or %+q holds what is hostile", s, text, line)
	case !utf8.ValidString(text) || !utf8.ValidString(line):
		t.Fatalf("%+q: %+q or %+q is not UTF-8", s, text, line)
	}
	got := human.Label(s, limit)
	switch {
	case !utf8.ValidString(got):
		t.Fatalf("Label(%+q, %d) = %+q is not UTF-8", s, limit, got)
	case utf8.RuneCountInString(got) > limit:
		t.Fatalf("Label(%+q, %d) = %+q is over the limit", s, limit, got)
	case got != strings.Join(strings.Fields(got), " "):
		t.Fatalf("Label(%+q, %d) = %+q keeps white space", s, limit, got)
	case regexp.MustCompile(`\[\s*\d+\s*\]`).MatchString(got):
		t.Fatalf("Label(%+q, %d) = %+q holds an anchor", s, limit, got)
	case strings.ContainsFunc(got, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) }):
		t.Fatalf("Label(%+q, %d) = %+q holds what cannot be seen", s, limit, got)
	case human.Label(got, limit) != got:
		t.Fatalf("Label(%+q, %d) = %+q, cleaned again %+q", s, limit, got, human.Label(got, limit))
	}
}

// hostile are the pieces that an attack on cleaning would be made of.
var hostile = []string{
	"\x1b", "\x1b[", "\x1b]", "31m", "\x07", "\\", "\u009b", "\u009d", "\u009c", "[", "]", "1", "23", " ", "\n", "\u200b", "\u202e", "\x00", "\xff", "\ue000", "a", "ß",
	"🚀", "\u0301", "…", "\u2028", "\u00a0", "\U000e0001", "\x1bP", "\x1b(", "\u0090", "\ufe0f", "\u0378", "\r", "\u0085",
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
