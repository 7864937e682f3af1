package tui_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/demo"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui"
	"github.com/contextd/contextd/tui/view"
)

// pictureFile is the picture of the terminal UI that the README shows.
const pictureFile = "ui.svg"

// TestPicture draws the screen Live as the README shows it: of a demo whose first incident is at its height. go test ./tui -run TestPicture
// -update renews it.
func TestPicture(t *testing.T) {
	t.Parallel()
	long.Test(t)
	const width, height = 120, 40
	d := lived(t)
	c := client(t, d.URL(), d.key)
	ui := start(t, width, height, func(cfg *tui.Config) {
		cfg.Stream, cfg.Service, cfg.Account, cfg.Now, cfg.KeyID = tui.Subscribe(c), c, nil, d.clock.Now, c.Key().KeyID()
		cfg.Theme, cfg.Depth, cfg.Where = view.Dark, view.Colors256, "demo"
	})
	ui.shows("BTC")
	ui.press("H", "8")
	ui.until("all trends", func(v string) bool { return paid(v, api.OpSeries) == 5 })
	ui.press("2", "b", "8") // whose answer is the last one, and says what is left
	ui.until("the brief", func(v string) bool { return paid(v, api.OpBrief) == 1 })
	ui.press("1")
	got := picture(ui.view(), width, height)
	if updating() {
		if err := os.WriteFile(pictureFile, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(pictureFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the program shows now; go test ./tui -run TestPicture -update renews it", pictureFile)
	}
}

// livedDemo is a demo that answers.
type livedDemo struct {
	*daemon.Daemon
	clock *clock
	key   string
}

// lived is a demo that was watched for some minutes of a clock of its own, and refreshes no more: the same at every run.
func lived(t *testing.T) livedDemo {
	t.Helper()
	const every, watched = 30 * time.Second, 6 * time.Minute
	c, dir := &clock{now: began().Add(-watched - 5*time.Second)}, t.TempDir()
	open := func(every time.Duration) (*daemon.Daemon, demo.Info) {
		d, info, err := daemon.OpenDemo(t.Context(), daemon.Config{
			DataDir: dir, Serve: daemon.Serve{Listen: "127.0.0.1:0"}, Data: daemon.Data{Every: every}, Now: c.Now,
			Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		}, demo.Play{ChainListen: "127.0.0.1:0", Sparse: 30 * time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		return d, info
	}
	d, _ := open(every)
	for range watched / every {
		c.pass(every)
		if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	c.pass(5 * time.Second)
	d, info := open(24 * time.Hour)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, d.Close()); err != nil {
			t.Error(err)
		}
	})
	return livedDemo{d, c, info.APIKey}
}

// Sizes of a cell, in pixels of the picture.
const cellWidth, cellHeight, baseline, margin = 8.4, 18.0, 13.0, 14.0

// style is how a cell is marked.
type style struct {
	fore, back            string // colours, "" for the usual
	bold, under, reversed bool
}

// picture draws the view of a terminal as SVG. Frames, bars and dots are drawn as shapes, so that they join whatever the font is.
func picture(view string, width, height int) []byte {
	var b bytes.Buffer
	w, h := float64(width)*cellWidth+2*margin, float64(height)*cellHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" fill="%s">`+"\n", w, h, usual)
	b.WriteString("<title>ctx ui</title>\n")
	fmt.Fprintf(&b, `<rect width="%g" height="%g" rx="8" fill="%s"/>`+"\n", w, h, ground)
	for y, line := range strings.Split(view, "\n") {
		drawLine(&b, line, margin+float64(y)*cellHeight)
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// Colours of the terminal in the picture.
const ground, usual = "#14171c", "#d5d9e0"

// drawLine draws a line whose top is at y: runs of letters of one style as text, all else cell by cell.
func drawLine(b *bytes.Buffer, line string, y float64) {
	var now style
	var run strings.Builder
	x, start := 0, 0
	flush := func() {
		drawText(b, run.String(), now, margin+float64(start)*cellWidth, y)
		run.Reset()
		start = x
	}
	for line != "" {
		if rest, ok := strings.CutPrefix(line, "\x1b["); ok {
			flush()
			parameters, after, _ := strings.Cut(rest, "m")
			now = now.apply(strings.Split(parameters, ";"))
			line = after
			continue
		}
		r := []rune(line)[0]
		line = line[len(string(r)):]
		if shape := shapeOf(r, margin+float64(x)*cellWidth, y, now.ink()); shape != "" {
			flush()
			if now.back != "" {
				fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%g" height="%g" fill="%s"/>`+"\n", margin+float64(x)*cellWidth, y, cellWidth, cellHeight, now.back)
			}
			b.WriteString(shape)
			x++
			start = x
			continue
		}
		run.WriteRune(r)
		x++
	}
	flush()
}

// drawText draws letters of one style.
func drawText(b *bytes.Buffer, text string, s style, x, y float64) {
	length := float64(len([]rune(text))) * cellWidth
	if ground := s.ground(); ground != "" && text != "" {
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%g" fill="%s"/>`+"\n", x, y, length, cellHeight, ground)
	}
	trimmed := strings.TrimLeft(text, " ")
	x += float64(len(text)-len(trimmed)) * cellWidth
	if trimmed = strings.TrimRight(trimmed, " "); trimmed == "" {
		return
	}
	marks := ""
	switch {
	case s.reversed:
		marks = ` fill="` + ground + `"`
	case s.fore != "":
		marks = ` fill="` + s.fore + `"`
	}
	if s.bold {
		marks += ` font-weight="bold"`
	}
	if s.under {
		marks += ` text-decoration="underline"`
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" textLength="%.1f" xml:space="preserve"%s>%s</text>`+"\n", x, y+baseline, float64(len([]rune(trimmed)))*cellWidth, marks, html.EscapeString(trimmed))
}

// ink is the colour of what is drawn, or of the ground where that is reversed.
func (s style) ink() string {
	if s.fore == "" {
		return usual
	}
	return s.fore
}

// ground is the colour behind, "" for the usual.
func (s style) ground() string {
	if s.reversed {
		return s.ink()
	}
	return s.back
}

// apply is s after the parameters of a sequence that selects how things are marked.
func (s style) apply(parameters []string) style {
	for i := 0; i < len(parameters); i++ {
		switch parameters[i] {
		case "", "0":
			s = style{}
		case "1":
			s.bold = true
		case "4":
			s.under = true
		case "7":
			s.reversed = true
		case "38": // of the 256, which is all that a theme has
			n, _ := strconv.Atoi(parameters[i+2])
			s.fore = colour(n)
			i += 2
		case "48":
			n, _ := strconv.Atoi(parameters[i+2])
			s.back = colour(n)
			i += 2
		}
	}
	return s
}

// colour is one of the 256 beyond the first 16: a cube of six levels each, then greys.
func colour(n int) string {
	if n >= 232 {
		level := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", level, level, level)
	}
	level := func(n int) int {
		if n == 0 {
			return 0
		}
		return 55 + 40*n
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}

// shapeOf is a character that is drawn as a shape: lines of frames, bars and dots; "" for all others.
func shapeOf(r rune, x, y float64, ink string) string {
	const w, h, radius = cellWidth, cellHeight, 4.0
	cx, cy := x+w/2, y+h/2
	path := func(format string, a ...any) string {
		return fmt.Sprintf(`<path d="`+format+`" fill="none" stroke="%s"/>`+"\n", append(a, ink)...)
	}
	box := func(top, height float64, opacity string) string {
		return fmt.Sprintf(`<rect x="%.1f" y="%.2f" width="%g" height="%.2f" fill="%s"%s/>`+"\n", x, top, w, height, ink, opacity)
	}
	switch {
	case r == '─':
		return path("M%.1f %.1fh%g", x, cy, w)
	case r == '│':
		return path("M%.1f %.1fv%g", cx, y, h)
	case r == '▌':
		return fmt.Sprintf(`<rect x="%.1f" y="%.1f" width="%g" height="%g" fill="%s"/>`+"\n", x, y, w/2, h, ink)
	case r == '╭':
		return path("M%.1f %.1fv%gq0 %g %g %gh%g", cx, y+h, -(h/2 - radius), -radius, radius, -radius, w/2-radius+0.1)
	case r == '╮':
		return path("M%.1f %.1fv%gq0 %g %g %gh%g", cx, y+h, -(h/2 - radius), -radius, -radius, -radius, -(w/2 - radius + 0.1))
	case r == '╰':
		return path("M%.1f %.1fv%gq0 %g %g %gh%g", cx, y, h/2-radius, radius, radius, radius, w/2-radius+0.1)
	case r == '╯':
		return path("M%.1f %.1fv%gq0 %g %g %gh%g", cx, y, h/2-radius, radius, -radius, radius, -(w/2 - radius + 0.1))
	case r >= '▁' && r <= '█':
		eighth := float64(r-'▁'+1) / 8 * (h - 4)
		return box(y+h-2-eighth, eighth, "")
	case r == '▓':
		return box(y+3, h-6, "")
	case r == '░':
		return box(y+3, h-6, ` opacity="0.25"`)
	case r > 0x2800 && r <= 0x28ff:
		return dots(r-0x2800, x, y, ink)
	}
	return ""
}

// dots are the dots of a braille cell.
func dots(bits rune, x, y float64, ink string) string {
	var b strings.Builder
	for i, at := range [][2]float64{{0, 0}, {0, 1}, {0, 2}, {1, 0}, {1, 1}, {1, 2}, {0, 3}, {1, 3}} {
		if bits&(1<<i) != 0 {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.2f" r="1.3" fill="%s"/>`+"\n", x+cellWidth*(0.25+0.5*at[0]), y+cellHeight*(0.125+0.25*at[1]), ink)
		}
	}
	return b.String()
}
