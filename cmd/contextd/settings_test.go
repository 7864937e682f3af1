package main

import (
	"slices"
	"testing"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/setting"
)

// TestFlagsAreSettings: a flag that stands for a setting says the same default.
func TestFlagsAreSettings(t *testing.T) {
	t.Parallel()
	root := newRoot(cli.System{Out: t.Output(), Err: t.Output()})
	serve, _, err := root.Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	for flag, key := range map[string]string{"listen": "listen", "log-level": "log.level", "log-format": "log.format"} {
		i := slices.IndexFunc(config.Table(), func(s setting.Setting) bool { return s.Key == key })
		f := serve.Flag(flag)
		if f == nil || i < 0 || f.DefValue != config.Table()[i].Default() {
			t.Errorf("--%s does not have the default of %s", flag, key)
		}
	}
}
