package sdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// verbs are format verbs, those that do not fit a string too: package fmt is outspoken about these.
func verbs() []string {
	return []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%t", "%c", "%U", "%e", "%p", "%80s", "%!", "%z", "%T"}
}

// TestKeyIsHidden looks for the secret in every way a key, or what holds one, can be written out.
func TestKeyIsHidden(t *testing.T) {
	t.Parallel()
	key := sdk.NewKey(secret)
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithAPIKey(key))
	if err != nil {
		t.Fatal(err)
	}
	type holder struct{ Key sdk.Key }
	type hidden struct {
		client *sdk.Client
		key    sdk.Key
	}
	for _, v := range []any{key, &key, holder{key}, []sdk.Key{key}, map[string]sdk.Key{"k": key}, client, *client,
		hidden{client, key}, fmt.Errorf("with %w and %v", errors.New("x"), key), sdk.NewKey("SECRET of another form")} {
		for _, verb := range verbs() {
			hides(t, fmt.Sprintf("%T with %s", v, verb), fmt.Sprintf(verb, v))
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		hides(t, fmt.Sprintf("%T as JSON", v), string(text))
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", v)
		hides(t, fmt.Sprintf("%T in a log", v), log.String())
	}
}

// hides fails if text shows the secret, spelled out or as hex.
func hides(t *testing.T, where, text string) {
	t.Helper()
	plain := strings.ToLower(strings.ReplaceAll(text, " ", ""))
	if strings.Contains(text, "SECRET") || strings.Contains(plain, fmt.Sprintf("%x", "SECRET")) {
		t.Errorf("%s shows the secret: %s", where, text)
	}
}

func TestKeyShows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		key      string
		id, text string
		env      api.KeyEnv
	}{
		{secret, "cv_test_ab12cd34", "cv_test_ab12…", api.EnvTest},
		{"cv_live_0123456789abcdefABCDEF0123456789", "cv_live_01234567", "cv_live_0123…", api.EnvLive},
		{"", "", "", ""},
		{"cv_test_short", "", "(not a key)", ""},
		{"cv_prod_0123456789abcdefABCDEF0123456789", "", "(not a key)", ""},
		{"cv_live_0123456789abcdefABCDEF01234567-9", "", "(not a key)", ""},
		{"xx_live_0123456789abcdefABCDEF0123456789", "", "(not a key)", ""},
	} {
		key := sdk.NewKey(c.key)
		if key.KeyID() != c.id || key.String() != c.text || key.Env() != c.env || key.Valid() != (c.id != "") ||
			key.IsZero() != (c.key == "") || key.Secret() != c.key {
			t.Errorf("%q: id %q, text %q, env %q, valid %v", c.key, key.KeyID(), key.String(), key.Env(), key.Valid())
		}
	}
	if got := fmt.Sprintf("%-16v|%#v", sdk.NewKey(secret), sdk.NewKey(secret)); got != `cv_test_ab12…   |sdk.Key("cv_test_ab12…")` {
		t.Errorf("formatted as %s", got)
	}
}

// TestTokenIsHidden checks that the URL in an error says nothing of the key in its token parameter.
func TestTokenIsHidden(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }, sdk.WithRetries(0))
	_, err := client.Do(t.Context(), sdk.Request{Path: "/v1/subscribe?pack=crypto&token=" + secret})
	var lost *sdk.TransportError
	if !errors.As(err, &lost) {
		t.Fatalf("got %v", err)
	}
	for _, verb := range verbs() {
		hides(t, "error with "+verb, fmt.Sprintf(verb, err))
	}
	if !strings.Contains(lost.URL, "token=redacted") || !strings.Contains(lost.URL, "pack=crypto") {
		t.Errorf("URL %s", lost.URL)
	}
}
