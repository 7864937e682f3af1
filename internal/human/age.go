package human

import (
	"fmt"
	"time"
)

// Age is d in its two largest units: 42s, 1m42s, 2h05m, 3d4h. A negative d is 0s.
func Age(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	const day = 24 * time.Hour
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

// Clock is d as a clock shows it: 0:03, 1:42, 2:14:09. A negative d is 0:00.
func Clock(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	if d < time.Hour {
		return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}
