package usdg_test

import (
	"errors"
	"fmt"
	"net/url"
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
		if got := usdg.RedactRPC(errors.New(text), address); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	wrapped := fmt.Errorf("call: %w", &url.Error{Op: "Post", URL: address, Err: errors.New("refused by secret-in-path")})
	if got := usdg.RedactRPC(wrapped, address); got != "refused by …" {
		t.Errorf("an error of net/http becomes %q", got)
	}
}
