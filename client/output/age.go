package output

import (
	"fmt"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// Age is d in its two largest units: 42s, 1m42s, 2h5m, 3d4h. A negative d is 0s.
func Age(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	day := 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}

// stringWidth is how many columns s takes, escape sequences left out.
func stringWidth(s string) int { return ansi.StringWidth(s) }
