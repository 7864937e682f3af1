package client

import (
	"github.com/contextd/contextd/client/command"
	"github.com/contextd/contextd/tui"
)

// Config is what ctx ui begins with.
func Config(a *command.Factory) (tui.Config, error) {
	return (&uiOptions{factory: a, theme: themeAuto}).config(a, nil)
}

// Other is what ctx ui goes over to.
func Other(a *command.Factory, profile string) (tui.Config, error) {
	return (&uiOptions{factory: a, theme: themeAuto}).other(profile)
}
