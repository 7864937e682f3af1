package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/tui/session"
	"github.com/contextd/contextd/tui/view"
)

func (m *Model) copy(c CopyMsg) tea.Cmd {
	board, ctx, ok := m.clip, m.env.Ctx, m.theme.Glyphs.OK
	return func() tea.Msg {
		how, err := board.Copy(ctx, c.Text)
		if err != nil {
			return Fail(err)
		}
		return NoticeMsg{Text: ok + " copied " + c.What + " (" + how + ")"}
	}
}

// browse opens an address. One that is no web address is not opened: it came from the service.
func (m *Model) browse(url string) tea.Cmd {
	url = view.Line(url)
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		return Notify("not opened, it is no web address: " + url)
	}
	open, ctx := m.cfg.Browse, m.env.Ctx
	if open == nil {
		return Notify(url)
	}
	m.notify("opening " + url)
	return func() tea.Msg {
		if err := open(context.WithoutCancel(ctx), url); err != nil { // the browser outlives this screen
			return Fail(&Unopened{URL: url})
		}
		return nil
	}
}

func (m *Model) save() tea.Cmd {
	events := append(m.env.Session.Events()[:0:0], m.env.Session.Events()...)
	if len(events) == 0 {
		return Notify("nothing has come yet that could be saved")
	}
	pack := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == '.' {
			return '_'
		}
		return r
	}, m.env.Session.Pack)
	name := fmt.Sprintf("ctx-%s-%s.ndjson", pack, m.env.Session.Now.Format("20060102-150405"))
	path := filepath.Join(m.cfg.SaveDir, name)
	return func() tea.Msg {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return Fail(fmt.Errorf("save: %w", err))
		}
		err = session.WriteRecording(file, events)
		if closed := file.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return Fail(fmt.Errorf("save: %w", err))
		}
		return NoticeMsg{Text: fmt.Sprintf("saved %d events to %s; ctx ui --replay shows them", len(events), path)}
	}
}

// noteCrash writes what led to a panic to a file and lets the panic go on: the program gives the terminal back then.
func (m *Model) noteCrash() {
	r := recover()
	if r == nil {
		return
	}
	if m.cfg.CrashDir != "" && m.crashed == "" {
		path := filepath.Join(m.cfg.CrashDir, "ctx-crash-"+m.cfg.Now().Format("20060102-150405")+".txt")
		report := fmt.Sprintf("ctx ui, screen %d, %dx%d\n\n%v\n\n%s", m.at+1, m.width, m.height, r, debug.Stack())
		if os.MkdirAll(m.cfg.CrashDir, 0o700) == nil && os.WriteFile(path, []byte(report), 0o600) == nil {
			m.crashed = path
		}
	}
	panic(r)
}

func (m *Model) crashNote() string {
	if m.crashed == "" {
		return ""
	}
	return "; what happened is in " + m.crashed
}
