// Package build says which version of the programs this is. The values come from the linker or, failing that, from what the
// Go tool stamped into the binary.
package build

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
)

// These are set by the linker for a release: -ldflags "-X github.com/contextd/contextd/internal/build.version=v1.2.3". The Go tool
// stamps commit and date only where .git is a directory, so that what it builds would depend on the kind of checkout.
var version, commit, date string

// Info describes a build. Commit and Date are empty where the binary was built outside a checkout.
type Info struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"`
	Go       string `json:"go"`
	Platform string `json:"platform"` // os/arch
}

// Read returns the Info of the running program.
func Read() Info {
	info := Info{Version: version, Commit: commit, Date: date, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if bi, ok := debug.ReadBuildInfo(); ok {
		if info.Version == "" {
			info.Version = bi.Main.Version
		}
		for _, s := range bi.Settings {
			switch {
			case s.Key == "vcs.revision" && commit == "":
				info.Commit = s.Value
			case s.Key == "vcs.time" && date == "":
				info.Date = s.Value
			}
		}
	}
	if info.Version == "" || info.Version == "(devel)" {
		info.Version = "dev"
	}
	return info
}

// Code is the version and commit of this program, as leaves of the transparency log name it.
func Code() string {
	program := Read()
	if program.Commit == "" {
		return program.Version
	}
	return program.Version + " " + program.Commit
}

// Release is the version of the running program, "" where it is none that was released.
func Release() string {
	v := Read().Version
	if _, final, ok := parse(v); !ok || !final {
		return ""
	}
	return v
}

// Newer reports whether a version is of a later release than another. What is no version is neither newer nor older.
func Newer(version, than string) bool {
	is, final, ok := parse(version)
	was, finalThan, known := parse(than)
	if !ok || !final || !known {
		return false
	}
	order := slices.Compare(is, was)
	return order > 0 || order == 0 && !finalThan
}

// parse reads a version such as v1.2.3, which is final, or v1.2.3-rc.1, which comes before it.
func parse(version string) (numbers []int, final, ok bool) {
	text, ok := strings.CutPrefix(version, "v")
	core := text
	if i := strings.IndexAny(text, "-+"); i >= 0 {
		core = text[:i]
	}
	for part := range strings.SplitSeq(core, ".") {
		n, err := strconv.ParseUint(part, 10, 31)
		ok = ok && err == nil
		numbers = append(numbers, int(n))
	}
	return numbers, core == text, ok && len(numbers) == 3
}
