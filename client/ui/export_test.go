package ui

import (
	"github.com/contextd/contextd/client/app"
	"github.com/contextd/contextd/tui"
)

// Config is what ctx ui begins with.
func Config(a *app.App) (tui.Config, error) {
	return (&options{app: a, theme: themeAuto}).config(a, nil)
}

// Other is what ctx ui goes over to.
func Other(a *app.App, profile string) (tui.Config, error) {
	return (&options{app: a, theme: themeAuto}).other(profile)
}
