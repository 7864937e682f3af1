package bridge

import "testing"

// TestPlain undoes what encoding/json escapes for HTML, and nothing else.
func TestPlain(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":"\u003cb\u003e \u0026"}`: `{"a":"<b> &"}`, `{"a":"\\u003c"}`: `{"a":"\\u003c"}`, `{"a":"\\\u003c"}`: `{"a":"\\<"}`,
		`{"a":"\u00e4\n\""}`: `{"a":"\u00e4\n\""}`, `\`: `\`, `\u003`: `\u003`, ``: ``,
	} {
		if got := string(plain([]byte(text))); got != want {
			t.Errorf("plain(%s) is %s, want %s", text, got, want)
		}
	}
}
