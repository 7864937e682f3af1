// Package build says which version of the programs this is. The values come from the linker or, failing that, from what the
// Go tool stamped into the binary.
package build

import (
	"runtime"
	"runtime/debug"
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
