package client

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
)

// browse opens an address of the web in the browser that BROWSER names, or in that of the system. What that says reaches no screen.
func browse(ctx context.Context, env func(string) string, address string) error {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") {
		return fmt.Errorf("open %q: it is not a web address", address)
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
