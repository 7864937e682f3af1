package human

import (
	"fmt"
	"strings"
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
	if d%day < time.Hour {
		return fmt.Sprintf("%dd", d/day)
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}

// Stale marks what a source said so long ago that it is overdue, in minutes from the first on: STALE 45s, STALE 14m, STALE 2h05m.
func Stale(age time.Duration) string {
	told := Age(age)
	if age >= time.Minute && age < time.Hour {
		told, _, _ = strings.Cut(told, "m")
		told += "m"
	}
	return "STALE " + told
}

// Clock is d as a clock shows it: 0:03, 1:42, 2:14:09. A negative d is 0:00.
func Clock(d time.Duration) string {
	d = max(d, 0).Truncate(time.Second)
	if d < time.Hour {
		return fmt.Sprintf("%d:%02d", d/time.Minute, d%time.Minute/time.Second)
	}
	return fmt.Sprintf("%d:%02d:%02d", d/time.Hour, d%time.Hour/time.Minute, d%time.Minute/time.Second)
}

// List is items with commas between, the first few of more than most: "a, b", "a, b and 3 more". It is "" without any.
func List(items []string, most int) string {
	if more := len(items) - most; more > 0 {
		return strings.Join(items[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(items, ", ")
}
