package history_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/chance"
)

func TestNumbersApart(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]string{
		"":                         "\x00",
		"no number":                "\x09no number",
		`{"a":-1.50,"b":[2,30]}`:   "\x11" + `{"a":0,"b":[0,0]}` + "-1.50 2 30 ",
		"2026-11-20T20:05:01.234Z": "\x0a000T0:0:0Z2026 -11 -20 20 05 01.234 ",
		"a-b .5 6. -- -7-8":        "\x0fa-b .0 0. -- 005 6 -7 -8 ",
		"0":                        "\x0100 ",
		"00 000":                   "\x030 000 000 ",
	} {
		moved := history.Apart([]byte(content))
		if string(moved) != want {
			t.Errorf("%q becomes %q, want %q", content, moved, want)
		}
		back, err := history.Together(moved)
		if err != nil || string(back) != content {
			t.Errorf("%q becomes %q and that %q, %v", content, moved, back, err)
		}
	}
}

// TestApartAndTogether: whatever the content, it comes back as it was.
func TestApartAndTogether(t *testing.T) {
	t.Parallel()
	chance.Check(t, func(t *rapid.T) {
		content := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.SliceOf(rapid.SampledFrom([]byte("0019-. ,:\x00é{}"))),
		).Draw(t, "content")
		back, err := history.Together(history.Apart(content))
		if err != nil || !bytes.Equal(back, content) {
			t.Fatalf("%q comes back as %q, %v", content, back, err)
		}
	})
}

func TestTogetherRefusesWhatApartDoesNotMake(t *testing.T) {
	t.Parallel()
	for what, moved := range map[string]string{
		"nothing":           "",
		"text cut off":      "\x09{}",
		"length cut off":    "\x80",
		"huge length":       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01{}",
		"number missing":    "\x030,01 ",
		"number cut off":    "\x0101",
		"a number too many": "\x0101 2 ",
	} {
		if content, err := history.Together([]byte(moved)); !errors.Is(err, history.ErrDamaged) {
			t.Errorf("%s: %q, %v; want ErrDamaged", what, content, err)
		}
	}
	chance.Check(t, func(t *rapid.T) { // and never panics
		_, _ = history.Together(rapid.SliceOf(rapid.Byte()).Draw(t, "moved"))
	})
}
