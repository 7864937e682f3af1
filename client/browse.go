package client

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
	"strings"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
)

// browse opens an address of the web in the browser that BROWSER names, or in that of the system. What that says reaches no screen.
func browse(ctx context.Context, env func(string) string, address string) error {
	if err := webAddress(address); err != nil {
		return err
	}
	name, args := "xdg-open", []string{address}
	switch browser := env("BROWSER"); {
	case browser != "":
		name = browser
	case runtime.GOOS == "darwin":
		name = "open"
	case runtime.GOOS == "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	if err := exec.CommandContext(ctx, name, args...).Run(); err != nil {
		return fmt.Errorf("open %s with %s: %w", address, name, err)
	}
	return nil
}

// webAddress refuses what a browser must not be sent to: addresses come from services, and some schemes run programs.
func webAddress(address string) error {
	if address == "" {
		return &cli.Failure{Exit: cli.ExitNotFound, Reason: "no_page", Err: fmt.Errorf("it has no page")}
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil ||
		strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || human.Hostile(r) }) {
		return &cli.Failure{Exit: cli.ExitFailure, Reason: "unsafe_address", Err: fmt.Errorf("%q is not a web address", address),
			Hint: "nothing was opened; an address begins with https:// or http:// and has no user in it"}
	}
	return nil
}

// hasBrowser reports whether there is a browser to open pages in: one that BROWSER names, or that of a desktop.
func hasBrowser(env func(string) string) bool {
	if env("BROWSER") != "" || runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return true
	}
	_, err := exec.LookPath("xdg-open")
	return err == nil && (env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != "")
}
