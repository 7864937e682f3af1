package usdg_test

import (
	"testing"

	"github.com/contextd/contextd/internal/usdg"
)

func TestRedactRPC(t *testing.T) {
	t.Parallel()
	const address = "https://rpc.example.org/v2/secret-in-path?key=secret-in-query&x=1"
	for text, want := range map[string]string{
		"post " + address + ": refused":         "post …: refused",
		"bad key secret-in-query, 1 of 2 in v2": "bad key …, 1 of 2 in v2",
		"no route /v2/secret-in-path":           "no route /v2/…",
		"dial rpc.example.org: no such host":    "dial rpc.example.org: no such host",
	} {
		if got := usdg.RedactRPC(text, address); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
