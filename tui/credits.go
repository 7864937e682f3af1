package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/tui/view"
)

const usageDays = 30

// Credits is the screen of the owner's credits and what they were spent on.
type Credits struct {
	env     *Env
	balance *api.CreditBalanceResponse // nil before it came
	usage   []api.UsageRow
	loading bool
	list    view.List // of days
	buying  buying
}

// creditsMsg is what came; a nil balance means that it did not.
type creditsMsg struct {
	balance *api.CreditBalanceResponse
	usage   []api.UsageRow
}

// NewCredits makes the screen.
func NewCredits(env *Env) *Credits { return &Credits{env: env, buying: newBuying(env)} }

// Enter asks for the numbers.
func (s *Credits) Enter() tea.Cmd { return s.load() }

func (s *Credits) load() tea.Cmd {
	account, ctx := s.env.Account, s.env.Ctx
	if account == nil || s.loading {
		return nil
	}
	s.loading = true
	return func() tea.Msg {
		balance, err := account.Balance(ctx, "")
		if err != nil {
			return tea.BatchMsg{Send(Fail(err)), Send(creditsMsg{})}
		}
		usage, err := account.Usage(ctx, usageDays)
		if err != nil {
			return tea.BatchMsg{Send(Fail(err)), Send(creditsMsg{balance: balance})}
		}
		return creditsMsg{balance, usage.Days}
	}
}

// Typing reports whether a sign-in or a hash is being typed, or the code of a purchase fills the terminal.
func (s *Credits) Typing() bool { return s.env.form().typing() || s.buying.typing() }

// Full is what fills the terminal in place of everything, nil for nothing.
func (s *Credits) Full(width, height int) []string { return s.buying.full(width, height) }

// Bindings are the keys of the screen.
func (s *Credits) Bindings() []key.Binding {
	if s.env.Account == nil {
		return s.env.form().bindings()
	}
	list := s.buying.bindings()
	if s.buying.active() {
		return list
	}
	return append(list, s.env.Keys.Reload, s.env.Keys.Copy)
}

// Update applies keys and answers.
func (s *Credits) Update(msg tea.Msg) tea.Cmd {
	if got, ok := msg.(creditsMsg); ok {
		s.loading = false
		if got.balance == nil {
			return nil
		}
		s.balance, s.usage = got.balance, got.usage
		return Send(BalanceMsg{Credits: got.balance.Balance, Foreign: s.env.Session.Foreign})
	}
	pressed, ok := msg.(tea.KeyMsg)
	switch {
	case s.env.Account == nil && ok:
		return s.env.form().press(pressed)
	case s.env.Account == nil:
		return nil
	}
	if cmd, ok := s.buying.update(msg); ok {
		if at, ended := msg.(depositMsg); ended && at.d != nil {
			cmd = tea.Batch(cmd, s.load())
		}
		return cmd
	}
	switch {
	case s.env.Move(&s.list, len(s.days()), msg), !ok:
	case key.Matches(pressed, s.env.Keys.Reload):
		return s.load()
	case key.Matches(pressed, s.env.Keys.Copy) && s.balance != nil:
		return CopyText(fmt.Sprint(s.balance.Balance), "the balance")
	}
	return nil
}

type day struct {
	date  string
	total int64
	byOp  map[api.Op]int64
}

func (s *Credits) days() []day {
	byDate := map[string]*day{}
	for _, r := range s.usage {
		d := byDate[r.Day]
		if d == nil {
			d = &day{date: r.Day, byOp: map[api.Op]int64{}}
			byDate[r.Day] = d
		}
		d.total += r.Calls
		d.byOp[r.Op] += r.Calls
	}
	var list []day
	for _, d := range byDate {
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b day) int { return strings.Compare(b.date, a.date) })
	return list
}

// View draws the balance, what credits cost, and the days.
func (s *Credits) View(width, height int) []string {
	t := *s.env.Theme
	if s.env.Account == nil {
		return view.Box{Title: "Credits", Focus: true}.Draw(t, s.env.form().lines("Credits", width), width, height)
	}
	if s.balance == nil {
		line := " Loading."
		if !s.loading {
			line = " The credits could not be loaded; " + view.KeyLabel(s.env.Keys.Reload) + " tries again."
		}
		return view.Box{Title: "Credits", Focus: true}.Draw(t, []string{"", line}, width, height)
	}
	const top, purchase = 7, 11 // lines of the balance, and the fewest that a purchase needs
	if s.buying.active() && height < top+purchase {
		return s.buying.draw(width, height)
	}
	left := view.Box{Title: "Balance"}.Draw(t, s.balanceLines(), width/2, top)
	right := view.Box{Title: "What credits cost", Note: api.AssetUSDG}.Draw(t, s.offers(), width-width/2, top)
	upper := view.Beside(left, right)
	if s.buying.active() {
		return slices.Concat(upper, s.buying.draw(width, height-top))
	}
	bought := s.purchases(width, height-top)
	return slices.Concat(upper, s.spent(width, height-top-len(bought)), bought)
}

func (s *Credits) spent(width, height int) []string {
	t, days := *s.env.Theme, s.days()
	most := int64(1)
	for _, d := range days {
		most = max(most, d.total)
	}
	lines := s.list.Rows(t, len(days), width-2, height-2, true, func(i int) string { return s.day(days[i], most, width-4) })
	if len(days) == 0 {
		lines = []string{"", fmt.Sprintf(" No call in %d days.", usageDays)}
	}
	title := fmt.Sprintf("Calls by day, %d days", usageDays)
	return view.Box{Title: title, Note: "UTC", Focus: true}.Draw(t, lines, width, height)
}

// purchases draws the newest purchases, where there are any and there is room for them below the days.
func (s *Credits) purchases(width, height int) []string {
	const days, most = 10, 5 // lines that the days need, purchases that are shown
	list := s.balance.RecentDeposits
	rows := min(len(list), most)
	if rows == 0 || height < days+rows+3 {
		return nil
	}
	t, zone := *s.env.Theme, s.env.Session.Now.Location()
	columns := []view.Column{{Title: "BEGUN", Width: 16}, {Title: "PACKAGE", Width: 8}, {Title: "CREDITS", Width: 9, Right: true},
		{Title: api.AssetUSDG, Width: 12, Right: true}, {Title: "STATE", Width: 10}, {Title: "PURCHASE", Width: max(width-66, 0)}}
	rails := slices.ContainsFunc(list, api.Deposit.Elsewhere)
	if rails {
		const wide = 12
		last := &columns[len(columns)-1]
		last.Width = max(last.Width-wide-1, 0)
		columns = slices.Insert(columns, len(columns)-1, view.Column{Title: "RAIL", Width: wide})
	}
	lines := []string{view.Header(t, columns)}
	for _, d := range list[:rows] {
		state := t.Warn.On(string(d.Status))
		switch d.Status {
		case api.DepositVerified:
			state = t.Good.On(t.Glyphs.OK + " " + string(d.Status))
		case api.DepositExpired:
			state = t.Dim.On(string(d.Status))
		}
		row := []string{
			d.CreatedAt.In(zone).Format("2006-01-02 15:04"), view.Line(string(d.Pack)), human.Count(d.Credits),
			view.Line(d.AmountUSDC), state, view.Line(d.ID),
		}
		if rails {
			row = slices.Insert(row, len(row)-1, view.Line(d.Rail))
		}
		lines = append(lines, " "+view.Row(t, columns, row))
	}
	return view.Box{Title: "Purchases", Note: human.Plural(len(list), "purchase")}.Draw(t, lines, width, rows+3)
}

func (s *Credits) balanceLines() []string {
	t, b := *s.env.Theme, s.balance
	pending := 0
	for _, d := range b.RecentDeposits {
		if d.Status == api.DepositPending {
			pending++
		}
	}
	have := t.Bold.On(human.Count(b.Balance) + " credits")
	if b.FreeCalls > 0 {
		have += ", and " + human.Count(int64(b.FreeCalls)) + " free calls in 24 h"
	}
	lines := []string{" " + have, " on " + human.Plural(b.KeyCount, "active key"),
		fmt.Sprintf(" %s spent since the start", s.env.Session.Costs(s.env.Session.Spent.Total()))}
	if s.env.Session.Foreign {
		lines = append(lines, " "+t.Warn.On(t.Glyphs.Warn+" another account's key is in use"))
	}
	if pending > 0 {
		lines = append(lines, " waiting for payment: "+human.Plural(pending, "purchase"))
	}
	return lines
}

func (s *Credits) offers() []string {
	var lines []string
	for _, p := range api.CreditPacks() {
		o, _ := p.Offer() // there is one for each
		less := ""
		if o.DiscountPercent > 0 {
			less = fmt.Sprintf("-%d%%", o.DiscountPercent)
		}
		lines = append(lines, fmt.Sprintf(" %-7s %9s %4d %4s", p, human.Count(o.Credits), o.PriceMicros/1_000_000, less))
	}
	return lines
}

// day is a day as a line: its calls as a bar, and by operation.
func (s *Credits) day(d day, most int64, width int) string {
	t := *s.env.Theme
	var parts []string
	for _, op := range api.CountedOps() {
		if n := d.byOp[op]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", op, human.Count(n)))
		}
	}
	bar := view.Bar(float64(d.total)/float64(most), max(min(width/4, 30), 8), t.Glyphs)
	return d.date + " " + view.AlignRight(human.Count(d.total), 8, "") + " " + bar + " " + t.Dim.On(strings.Join(parts, ", "))
}
