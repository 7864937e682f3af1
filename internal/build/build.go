// Package build says which version of the programs this is. The values come from the linker or, failing that, from what the
// Go tool stamped into the binary.
package build

import (
	"runtime"
	"runtime/debug"
)

// version is set by the linker: -ldflags "-X github.com/contextd/contextd/internal/build.version=v1.2.3".
var version string

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
	info := Info{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if bi, ok := debug.ReadBuildInfo(); ok {
		if info.Version == "" {
			info.Version = bi.Main.Version
		}
		for _, s := range bi.Settings {
			switch s.Key {
			case "vcs.revision":
				info.Commit = s.Value
			case "vcs.time":
				info.Date = s.Value
			}
		}
	}
	if info.Version == "" || info.Version == "(devel)" {
		info.Version = "dev"
	}
	return info
}
