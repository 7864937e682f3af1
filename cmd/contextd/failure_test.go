package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/cli"
)

// TestFailures holds what is told about what goes wrong: what, why and the next step, with its exit code. Parts of what is said stand in
// their order, with | between.
func TestFailures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	none, file := filepath.Join(dir, "none"), filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, []byte("listen: 8402\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing := "there is no data directory " + none + "|try: --data-dir with the directory of your daemon"
	t.Run("each", func(t *testing.T) {
		for args, test := range map[string]struct {
			exit int
			says string
		}{
			"serve --foo":                      {3, "there is no option --foo|usage: contextd serve|try: contextd serve --help"},
			"srve":                             {3, `there is no command "srve"|try: contextd serve`},
			"help frsh":                        {3, `there is no command or topic "frsh"|try: contextd --help`},
			"serve --listen foo":               {3, `listen: "foo" is neither host:port, such as 127.0.0.1:8402, nor unix:/path|try: contextd serve --help`},
			"serve --listen 127.0.0.1:99999":   {3, "has a port that is not a number from 0 to 65535|try: contextd serve --help"},
			"serve --admin-listen foo":         {3, `admin.listen is "foo", not host:port such as|try: contextd serve --help`},
			"serve --config " + none:           {3, "read configuration: " + none + " does not exist|try: contextd config init --config " + none},
			"check-config --config " + file:    {3, `listen: "8402" is neither host:port`},
			"serve --data-dir " + file + "/x":  {1, "make data directory: |is not below a directory|try: check the path"},
			"keys list --data-dir " + none:     {3, missing},
			"keys create x --data-dir " + none: {3, missing},
			"brief check --data-dir " + none:   {3, missing},
			"db status --data-dir " + none:     {3, missing},
			"restore --dry-run " + none:        {1, "open backup: " + none + " does not exist|try: check the spelling of the path"},
			"restore --dry-run " + file:        {1, "this is not a whole backup|try: another backup"},
			"init --config " + file:            {1, "config.yaml exists already and was left unchanged|try: contextd config check --config " + file},
			"keys revoke":                      {3, "KEYID is missing|usage: contextd keys revoke KEYID"},
			"serve --data-dir " + dir + "/d --listen " + taken.Addr().String(): {1, "another process has " + taken.Addr().String() + "|try: another address"},
			"healthcheck --data-dir " + none + " --listen 127.0.0.1:1":         {1, "no daemon answers on 127.0.0.1:1: nothing listens on 127.0.0.1:1|try: contextd serve, or name the running daemon"},
			"man " + file + "/below": {3, "write manual pages: |is not below a directory|try: check the path"},
			"completion foo":         {3, `"foo" is none of bash, zsh, fish, powershell|try: contextd completion --help`},
		} {
			t.Run(args, func(t *testing.T) {
				t.Parallel()
				var told bytes.Buffer
				s := cli.System{In: strings.NewReader(""), Out: io.Discard, Err: &told, Now: time.Now, LookupEnv: nowhere}
				if code := start(t.Context(), strings.Fields(args), s); code != test.exit {
					t.Errorf("exit %d, want %d", code, test.exit)
				}
				rest := told.String()
				for part := range strings.SplitSeq(test.says, "|") {
					_, after, found := strings.Cut(rest, part)
					if !found {
						t.Errorf("does not say %q where it should:\n%s", part, told.String())
					}
					rest = after
				}
				for _, word := range []string{"dial tcp", "strconv.", "no such file", "unknown flag", "missing port in address", "magic number"} {
					if strings.Contains(told.String(), word) {
						t.Errorf("says %q:\n%s", word, told.String())
					}
				}
			})
		}
	})
	if _, err := os.Stat(none); err == nil {
		t.Errorf("a command made %s", none)
	}
}
