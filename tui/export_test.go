package tui

import tea "github.com/charmbracelet/bubbletea"

// Second is the message of a second that has gone by.
func Second() tea.Msg { return tickMsg{} }
