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

// TestNewer: a notice is due for a later release alone, whatever else a version may be.
func TestNewer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		version, than string
		want          bool
	}{
		{"v1.3.0", "v1.2.9", true}, {"v1.2.10", "v1.2.9", true}, {"v2.0.0", "v1.9.9", true}, {"v1.3.0", "v1.3.0-rc.1", true},
		{"v1.3.0", "v1.3.0", false}, {"v1.2.9", "v1.3.0", false}, {"v1.4.0-rc.1", "v1.3.0", false}, {"dev", "v1.3.0", false},
		{"v1.3.0", "dev", false}, {"", "v1.3.0", false}, {"v1.3.0", "", false}, {"\x1b[31mv9.0.0", "v1.3.0", false},
	} {
		if got := build.Newer(tt.version, tt.than); got != tt.want {
			t.Errorf("%q is newer than %q: %t", tt.version, tt.than, got)
		}
	}
}

func TestRelease(t *testing.T) {
	for version, want := range map[string]string{
		"v1.2.3": "v1.2.3", "v1.2.3-rc.1": "", "v1.2.3+dirty": "", "dev": "", "v0.0.0-20261122200000-abcdef012345": "",
	} {
		undo := build.Link(version, "", "")
		if got := build.Release(); got != want {
			t.Errorf("%s is the release %q", version, got)
		}
		undo()
	}
}
