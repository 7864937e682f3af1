package human_test

import (
	"testing"
	"time"

	"github.com/contextd/contextd/internal/human"
)

// TestAges has both sides of every bound at which the units change.
func TestAges(t *testing.T) {
	t.Parallel()
	const second, minute, hour, day = time.Second, time.Minute, time.Hour, 24 * time.Hour
	written(t, "Age", human.Age, map[time.Duration]string{
		-hour: "0s", -1: "0s", 0: "0s", second - 1: "0s", second: "1s", minute - 1: "59s", minute: "1m00s", 102 * second: "1m42s", hour - 1: "59m59s", hour: "1h00m",
		2*hour + 5*minute: "2h05m", day - 1: "23h59m", day: "1d", 25 * hour: "1d1h", 76 * hour: "3d4h", 4000 * day: "4000d",
	})
	written(t, "Stale", human.Stale, map[time.Duration]string{
		-1: "STALE 0s", minute - 1: "STALE 59s", minute: "STALE 1m", 119 * second: "STALE 1m", hour - 1: "STALE 59m", hour: "STALE 1h00m", day - 1: "STALE 23h59m",
		day: "STALE 1d",
	})
	written(t, "Clock", human.Clock, map[time.Duration]string{
		-1: "0:00", 0: "0:00", 3 * second: "0:03", minute - 1: "0:59", 102 * second: "1:42", hour - 1: "59:59", hour: "1:00:00", 2*hour + 14*minute + 9*second: "2:14:09",
		100 * hour: "100:00:00",
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	for want, items := range map[string][]string{"": nil, "a": {"a"}, "a, b": {"a", "b"}, "a, b and 1 more": {"a", "b", "c"}, "a, b and 2 more": {"a", "b", "c", "d"}} {
		if got := human.List(items, 2); got != want {
			t.Errorf("%q: %q, want %q", items, got, want)
		}
	}
}
