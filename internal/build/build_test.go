package build_test

import (
	"encoding/json"
	"runtime"
	"testing"

	"github.com/contextd/contextd/internal/build"
)

func TestRead(t *testing.T) {
	t.Cleanup(build.Link("", "", ""))
	info := build.Read()
	if info.Version == "" || info.Version == "(devel)" {
		t.Errorf("version outside a release is %q, want a word for it", info.Version)
	}
	if info.Go != runtime.Version() || info.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("built with %q for %q", info.Go, info.Platform)
	}

	t.Cleanup(build.Link("v1.2.3", "abc", "2026-11-20T20:05:00Z"))
	info.Version, info.Commit, info.Date = "v1.2.3", "abc", "2026-11-20T20:05:00Z"
	if got := build.Read(); got != info {
		t.Errorf("read %+v, want what the linker says and the same rest, %+v", got, info)
	}
}

func TestInfoMembers(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(build.Info{Version: "v1", Commit: "abc", Date: "today", Go: "go1", Platform: "linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"version":"v1","commit":"abc","date":"today","go":"go1","platform":"linux/amd64"}`
	if string(got) != want {
		t.Errorf("encoded %s, want %s", got, want)
	}
}
