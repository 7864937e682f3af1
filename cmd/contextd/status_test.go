package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/contextd/contextd/daemon/admin"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// TestStatusOfABadDay: one screen of 80x24 tells all that is wrong, without colour and in ASCII too; a pipe gets whole lines.
func TestStatusOfABadDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) *time.Time { then := now.Add(-ago); return &then }
	s := admin.Status{
		Version: "1.4.0", URL: "https://context.example.org", DataDir: "/var/lib/contextd", Now: now, StartedAt: *at(75 * time.Hour),
		NotReady: "no disk",
		Packs: []admin.PackStatus{
			{ID: "crypto", GeneratedAt: at(301 * time.Second), AgeSeconds: 301, Sources: 18},
			{ID: "markets", GeneratedAt: at(300 * time.Second), AgeSeconds: 300, Sources: 11, Failing: []api.SourceStatus{
				{ID: "treasury-yields", FetchedAt: at(20 * time.Minute)}, {ID: "sec-filings"}, {ID: "bls-calendar"}, {ID: "ecb-rates"},
			}},
			{ID: "quakes", Sources: 1, Failing: []api.SourceStatus{{ID: "usgs"}}},
		},
		Jobs:   []admin.Job{{Name: "backup", Error: "there is no room for the backup"}},
		Disk:   admin.DiskStatus{FreeBytes: 1<<30 - 1, DatabaseBytes: map[string]int64{"contextd.db": 4096, "history.db": 1e9}},
		Backup: admin.BackupStatus{EverySeconds: 86_400, Late: true, NewestAt: at(49 * time.Hour), Count: 2, Bytes: 5e6},
		Use:    &admin.UseStatus{ActiveKeys: 2, Owners: 1, CallsToday: 1234, Connections: 3, Streams: 1},
		Money: &admin.MoneyStatus{PendingDeposits: 2, ReceivedToday: 3, ReceivedMicros: 3_200_000,
			Lags:  map[string]admin.Lag{"base": {Newest: 500, Looked: 299}, "l2chain": {Newest: 500, Looked: 300}},
			Rails: []x402.Standing{{Rail: "l2chain", By: "0xAb", Off: "no ether"}}},
		Watches: &event.Standing{Active: 5, Failing: 2, Suspended: 1, Paused: 3, Gaps: 1, Waiting: 7, OverdueSeconds: 301},
	}
	var whole bytes.Buffer
	if err := writeStatus(&whole, s, 0, cli.Style{}); err != nil {
		t.Fatal(err)
	}
	want := `contextd 1.4.0, up 3d3h, https://context.example.org
data in /var/lib/contextd

✗ not ready           no disk
✗ pack crypto         5m01s old; 18 of 18 sources ok
! pack markets        5m00s old; 7 of 11 sources ok; not treasury-yields for 20m00s, sec-filings never answered, bls-calendar never answered and 1 more
! pack quakes         no state yet; 0 of 1 sources ok; not usgs never answered
! job backup          there is no room for the backup
! disk                1.1 GB free; contextd.db 4.1 kB; history.db 1.0 GB
! backup              newest 2d1h old, 2 with 5.0 MB in all, though one is due each 24h: contextd jobs run backup
✓ money               3 payments today, 3.2 USDG; 2 deposits pending
! chain base          201 blocks behind
✗ settlement l2chain  standard x402 is not offered: no ether
✗ watches             5 active, 2 of them failing, 1 suspended, 3 unpaid, 1 with gaps; 7 events to deliver, the first overdue for 5m01s
✓ use                 1234 calls with keys today; 2 keys of 1 owner; 3 connections, 1 stream open
`
	if whole.String() != want {
		t.Errorf("got\n%s", whole.String())
	}
	for name, style := range map[string]cli.Style{"ASCII": {ASCII: true}, "words": {Words: true}, "colour": {Color: true}} {
		var screen bytes.Buffer
		if err := writeStatus(&screen, s, 80, style); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(screen.String(), "\n"), "\n")
		if len(lines) > 23 || name == "ASCII" && strings.ContainsFunc(screen.String(), func(r rune) bool { return r > 0x7f }) {
			t.Errorf("%s:\n%s", name, screen.String())
		}
		for _, line := range lines {
			if name != "colour" && utf8.RuneCountInString(line) > 80 {
				t.Errorf("%s: %q is longer than the screen", name, line)
			}
		}
	}

	s = admin.Status{Now: now, StartedAt: now, Disk: admin.DiskStatus{FreeBytes: 1 << 30},
		Backup: admin.BackupStatus{EverySeconds: 86_400, NewestAt: at(time.Hour), Count: 1, Bytes: 10}}
	for _, c := range []struct {
		change func()
		says   string
	}{
		{func() {}, "✓ backup  newest 1h00m old, 1 with 10 B in all, one each 24h\n"},
		{func() { s.Backup.EverySeconds = 0 }, "✓ backup  switched off; newest 1h00m old"},
		{func() { s.Demo = true }, "✓ backup  a demo makes none\n"},
		{func() { s.Backup.Else = "litestream" }, "✓ backup  left to Litestream\n"},
		{func() { s.Backup.Else = "postgresql" }, "✓ backup  left to PostgreSQL: pg_dump\n"},
		{func() {}, "✓ disk    1.1 GB free\n"},
		{func() { s.Watches = &event.Standing{Active: 1, OverdueSeconds: 300, Waiting: 1} }, "✓ watches  1 active; 1 event to deliver\n"},
		{func() { s.Watches.Failing = 1 }, "! watches  1 active, 1 of them failing; 1 event to deliver\n"},
		{func() { s.Watches = &event.Standing{Suspended: 1} }, "! watches  0 active, 1 suspended; 0 events to deliver\n"},
		{func() { s.Watches = &event.Standing{Paused: 1} }, "✓ watches  0 active, 1 unpaid; 0 events to deliver\n"},
		{func() { s.Watches = &event.Standing{} }, "✓ disk    1.1 GB free\n"},
		{func() { s.Agents = &admin.AgentStatus{Agents: 2, Authorized: 1, Tokens: 7, Refused: 3} },
			"✓ agents  2 agents signed in; since the start 1 agent let in, 7 tokens given, 3 steps refused\n"},
		{func() { s.Agents = nil }, "✓ disk    1.1 GB free\n"},
		{func() {}, "! use     calls and money are not known: the books do not answer\n"},
	} {
		c.change()
		whole.Reset()
		if err := writeStatus(&whole, s, 0, cli.Style{}); err != nil || !strings.Contains(whole.String(), c.says) {
			t.Errorf("not %q but\n%s", c.says, whole.String())
		}
	}
}
