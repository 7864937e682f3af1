package witness_test

import (
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/translog/witness"
	"github.com/contextd/contextd/sdk"
)

// TestCheck refuses settings that no witness has.
func TestCheck(t *testing.T) {
	t.Parallel()
	made, err := sdk.NewWitnessKey("witness.example.org")
	if err != nil {
		t.Fatal(err)
	}
	key := made.Public()
	for name, c := range map[string]struct {
		witness witness.Witness
		good    bool
	}{
		"good":                {witness.Witness{Key: key, URL: "https://[::1]:1/w"}, true},
		"no address":          {witness.Witness{Key: key}, false},
		"another scheme":      {witness.Witness{Key: key, URL: "ftp://a"}, false},
		"name and password":   {witness.Witness{Key: key, URL: "http://u:p@a"}, false},
		"no key":              {witness.Witness{URL: "http://a"}, false},
		"key without a start": {witness.Witness{Key: key[1:], URL: "http://a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := witness.Check([]witness.Witness{c.witness})
			if (err == nil) != c.good || err != nil && !strings.HasPrefix(err.Error(), "log.witnesses[0]: ") {
				t.Error(err)
			}
		})
	}
}
