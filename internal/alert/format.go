package alert

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// Format is the form of a post.
type Format string

// The formats.
const (
	FormatJSON     Format = "json" // the Event
	FormatSlack    Format = "slack"
	FormatDiscord  Format = "discord"
	FormatTelegram Format = "telegram" // the method sendMessage of a bot, with chat_id in the address
	FormatNtfy     Format = "ntfy"     // a topic
)

// Formats are all of them.
func Formats() []Format {
	return []Format{FormatJSON, FormatSlack, FormatDiscord, FormatTelegram, FormatNtfy}
}

// maxText is how long the text for a chat is, in runes: Discord takes 2,000.
const maxText = 1900

// Title is e in a line, for people.
func (e Event) Title() string {
	what := cmp.Or(string(e.Severity), e.Alert)
	if e.Change != Appeared {
		what += ", " + string(e.Change)
	}
	return fmt.Sprintf("[%s] %s", what, e.Message)
}

// Text is e in some lines, for people.
func (e Event) Text() string {
	text := fmt.Sprintf("%s\n%s, state of %s", e.Title(), e.Pack, e.At.UTC().Format(time.RFC3339))
	if e.Late {
		text += ", told late"
	}
	if e.Demo {
		text += "\nThis is synthetic data."
	}
	return text
}

// templated is what a template is executed over.
type templated struct {
	Event
	Value any // decoded; an object without members where there is none
}

// writer writes events in a format.
type writer struct {
	format Format
	text   *template.Template // nil means Event.Text
	to     string             // the topic of ntfy, or the chat of Telegram
}

// newWriter makes the writer for a hook at u, from which it takes the topic: ntfy is posted to beside it.
func newWriter(h Hook, u *url.URL) (w writer, err error) {
	w.format = cmp.Or(h.Format, FormatJSON)
	chat := w.format == FormatSlack || w.format == FormatDiscord || w.format == FormatTelegram
	switch {
	case !slices.Contains(Formats(), w.format):
		return w, fmt.Errorf("the format %q is none of %s", w.format, api.List(Formats()))
	case w.format == FormatJSON && h.Text != "":
		return w, errors.New("the format json takes no text: it has all of the event")
	case chat && len(h.Secret) > 0:
		return w, fmt.Errorf("%s checks no signature: the address is its secret", w.format)
	case w.format == FormatTelegram:
		if w.to = u.Query().Get("chat_id"); w.to == "" || path.Base(u.Path) != "sendMessage" {
			return w, errors.New("the address is not like https://api.telegram.org/botTOKEN/sendMessage?chat_id=CHAT")
		}
	case w.format == FormatNtfy:
		if w.to = path.Base(u.Path); w.to == "/" || strings.HasSuffix(u.Path, "/") {
			return w, errors.New("the address names no topic: it is not like https://ntfy.sh/TOPIC")
		}
		u.Path, u.RawPath = path.Dir(u.Path), ""
	}
	if h.Text == "" {
		return w, nil
	}
	if w.text, err = template.New("text").Parse(h.Text); err == nil {
		_, err = w.words(Event{})
	}
	if err != nil {
		return w, fmt.Errorf("the text: %w", err)
	}
	return w, nil
}

// words is what a chat is told of e.
func (w writer) words(e Event) (string, error) {
	text := e.Text()
	if w.text != nil {
		of := templated{e, map[string]any{}}
		if len(e.Value) > 0 {
			if err := json.Unmarshal(e.Value, &of.Value); err != nil {
				return "", err
			}
		}
		var b strings.Builder
		if err := w.text.Execute(&b, of); err != nil {
			return "", err
		}
		text = b.String()
	}
	return human.Clip(strings.TrimSpace(text), maxText), nil
}

// body is the post that tells e, nil for none.
func (w writer) body(e Event) ([]byte, error) {
	if w.format == FormatJSON {
		return json.Marshal(e)
	}
	text, err := w.words(e)
	if err != nil || text == "" {
		return nil, err
	}
	switch w.format {
	case FormatSlack:
		text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
		return json.Marshal(map[string]string{"text": text})
	case FormatDiscord: // whose text names nobody, whatever a source says
		return json.Marshal(map[string]any{"content": text, "allowed_mentions": map[string][]string{"parse": {}}})
	case FormatTelegram:
		return json.Marshal(map[string]string{"chat_id": w.to, "text": text})
	}
	m := Ntfy{Topic: w.to, Message: text}
	if w.text == nil {
		m.Title, m.Message = e.Title(), strings.TrimPrefix(text, e.Title()+"\n")
	}
	switch e.Severity {
	case api.SeverityCritical:
		m.Priority = 5
	case api.SeverityWarning:
		m.Priority = 4
	}
	return json.Marshal(m)
}

// Ntfy is a post to the address of a server of ntfy. Unlike the headers that it takes too, it can say anything.
type Ntfy struct {
	Click    string `json:"click,omitempty"` // a link
	Message  string `json:"message"`
	Priority int    `json:"priority,omitempty"` // 1 to 5; 0 means 3
	Title    string `json:"title,omitempty"`
	Topic    string `json:"topic"`
}
