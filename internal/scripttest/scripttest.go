// Package scripttest is what tests share that run the programs by scripts: how a script runs, the commands it has beside those of
// testscript, and scripts made of the recipes in a text.
package scripttest

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Command is a command of scripts.
type Command = func(ts *testscript.TestScript, neg bool, args []string)

// Params are those of the scripts in dir, with more commands and with what else a script is set up by.
func Params(dir string, more map[string]Command, setup func(*testscript.Env) error) testscript.Params {
	commands := map[string]Command{"await": Await, "exits": exits, "mode": mode}
	maps.Copy(commands, more)
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands,
		Setup: func(env *testscript.Env) error {
			env.Vars = append(env.Vars, "TZ=UTC", "LANG=C.UTF-8", "COLUMNS=80", "TERM=xterm",
				"GORACE=atexit_sleep_ms=0") // else each program takes a second to end under the race detector
			return setup(env)
		},
	}
}

// AtHome gives a script's programs a home of their own, and no source to reach.
func AtHome(env *testscript.Env) error {
	env.Vars = append(env.Vars, "HOME="+env.WorkDir, "XDG_CONFIG_HOME="+filepath.Join(env.WorkDir, ".config"),
		"XDG_DATA_HOME="+filepath.Join(env.WorkDir, ".data"), "CTX_CONFIG_DIR="+filepath.Join(env.WorkDir, ".ctx"),
		"HTTPS_PROXY=http://127.0.0.1:1", "HTTP_PROXY=", "NO_PROXY=127.0.0.1")
	return nil
}

// Await waits until a file holds a text: await FILE TEXT.
func Await(ts *testscript.TestScript, _ bool, args []string) {
	const tries = 6000
	for range tries {
		if text, err := os.ReadFile(ts.MkAbs(args[0])); err == nil && strings.Contains(string(text), args[1]) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	text, _ := os.ReadFile(ts.MkAbs(args[0]))
	ts.Fatalf("%s never came to hold %q:\n%s", args[0], args[1], text)
}

// exits runs a command and checks its exit code: exits 3 ctx state --bad.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\n%s%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// mode checks the mode of a file: mode 0600 FILE.
func mode(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("mode of %s is %s, want %s", args[1], got, args[0])
	}
}

// Blocks are the blocks of code of a language in a text.
func Blocks(text, language string) (list []string) {
	for _, b := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)```").FindAllStringSubmatch(text, -1) {
		list = append(list, b[1])
	}
	return list
}

// RunRecipes runs recipes, each in a shell of its own. around is the script around each, in which RECIPE is where it runs; after is the end
// of the script.
func RunRecipes(t *testing.T, p testscript.Params, recipes []string, around func(i int, recipe string) string, after string) {
	t.Helper()
	var script, files strings.Builder
	for i, recipe := range recipes {
		script.WriteString(strings.Replace(around(i, recipe), "RECIPE", fmt.Sprintf("exec sh -e -u %d.sh\n", i), 1))
		fmt.Fprintf(&files, "-- %d.sh --\n%s", i, recipe)
	}
	Run(t, p, script.String()+after+files.String())
}

// Run runs a script with the files behind it.
func Run(t *testing.T, p testscript.Params, archive string) {
	t.Helper()
	p.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(p.Dir, strings.ToLower(t.Name())+".txtar"), []byte(archive), 0o600); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, p)
}
