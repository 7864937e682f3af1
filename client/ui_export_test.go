package client

import (
	"github.com/contextd/contextd/tui"
)

// Config is what ctx ui begins with.
func Config(a *App) (tui.Config, error) {
	return (&options{app: a, theme: themeAuto}).config(a, nil)
}

// Other is what ctx ui goes over to.
func Other(a *App, profile string) (tui.Config, error) {
	return (&options{app: a, theme: themeAuto}).other(profile)
}
