package sdk_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// TestLeft reads what answers say that is left, and never takes an older service for one that charges nothing.
func TestLeft(t *testing.T) {
	t.Parallel()
	const knows = "X-Request-Id, " + api.HeaderCreditsLeft
	for _, c := range []struct {
		status int
		header [][2]string
		want   string
	}{
		{200, [][2]string{{"Access-Control-Expose-Headers", knows}, {api.HeaderCreditsLeft, "7"}}, "credits 7 free - 0s false"},
		{200, [][2]string{{"Access-Control-Expose-Headers", knows}, {api.HeaderFreeLeft, "0"}, {api.HeaderFreeReset, "60"}}, "credits - free 0 1m0s false"},
		{200, [][2]string{{"Access-Control-Expose-Headers", knows}}, "credits - free - 0s true"},
		{200, nil, "credits - free - 0s false"},
		{200, [][2]string{{api.HeaderCreditsLeft, "-1"}, {api.HeaderFreeLeft, "x"}}, "credits - free - 0s false"},
		{429, [][2]string{{"Access-Control-Expose-Headers", knows}}, "credits - free - 0s false"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for _, h := range c.header {
				w.Header().Set(h[0], h[1])
			}
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte("{}"))
		}))
		defer server.Close()
		client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(server.URL), sdk.WithRetries(0), sdk.WithAPIKey(sdk.NewKey("cv_test_x")))
		if err != nil {
			t.Fatal(err)
		}
		var r sdk.Response
		_, _ = client.Fresh(t.Context(), "", sdk.WithResponse(&r))
		number := func(n *int64) string {
			if n == nil {
				return "-"
			}
			return fmt.Sprint(*n)
		}
		left := r.Left()
		if got := fmt.Sprintf("credits %s free %s %v %v", number(left.Credits), number(left.FreeCalls), left.Reset.Round(time.Second), left.Unmetered); got != c.want {
			t.Errorf("%d %v: %s, want %s", c.status, c.header, got, c.want)
		}
	}
}
