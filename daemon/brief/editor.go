package brief

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/brief/ground"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk/api"
)

// EditorStore keeps prompts, what was written by them, and what models took.
type EditorStore interface {
	// Prompt returns an owner's prompt for a pack, "" if they have none.
	Prompt(ctx context.Context, ownerID, pack string) (string, error)
	// OwnerBrief returns the newest brief by an owner's own prompt, zero if there is none.
	OwnerBrief(ctx context.Context, ownerID, pack string) (state.OwnerBrief, error)
	// SaveOwnerBrief replaces it.
	SaveOwnerBrief(ctx context.Context, ownerID, pack string, b state.OwnerBrief) error
	// OwnerBriefs counts the briefs that owners have by their own prompts, and those that no model could write.
	OwnerBriefs(ctx context.Context, pack string) (written, failed int, err error)
	// Writing returns what models took on a day, as brief.Day names it.
	Writing(ctx context.Context, day string) (Usage, error)
}

// EditorHistory has what was published.
type EditorHistory interface {
	// Briefs returns the newest briefs of pack, newest first, at most limit.
	Briefs(ctx context.Context, pack string, limit int) ([]state.Brief, error)
	// PulseBefore returns the newest pulse of pack with GeneratedAt before t, or state.ErrNoPulse.
	PulseBefore(ctx context.Context, pack string, t time.Time) (state.Pulse, error)
}

// EditorConfig is what an Editor needs.
type EditorConfig struct {
	Packs   func() []string          // ids of those that are served
	ByRules func(pack string) Writer // that of a pack that is served; nil means BuiltIn, as a nil function does
	Models  []Writer                 // that heed prompts, in order of preference; none means that there are only built-in briefs
	Store   EditorStore
	History EditorHistory
	Limit   Limit // of what models take in a day, to report it

	Refused    func(pack, writer, why string) // told of texts that are not taken; nil means nobody
	TextWithin time.Duration                  // bound of one text; 0 means any time
	Wait       time.Duration                  // of an owner for their brief; 0 means 15 s
	Now        func() time.Time               // nil means time.Now
	Logger     *slog.Logger                   // nil means slog.Default
}

// Editor sees to briefs. Make one with New, and Close it; it is safe for concurrent use.
type Editor struct {
	cfg        EditorConfig
	background context.Context // of what is written in the background
	end        context.CancelFunc
	busy       sync.WaitGroup
	slots      chan struct{} // holds a token for each text under way

	mu   sync.Mutex // guards jobs
	jobs map[place]*job
}

// defaultWait is less than what the server gives a call.
const defaultWait = 15 * time.Second

// NewEditor makes an Editor. What it writes in the background has the values of ctx, and ends with Close.
func NewEditor(ctx context.Context, cfg EditorConfig) *Editor {
	if cfg.Wait == 0 {
		cfg.Wait = defaultWait
	}
	if cfg.Refused == nil {
		cfg.Refused = func(string, string, string) {}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	e := &Editor{cfg: cfg, slots: make(chan struct{}, atOnce), jobs: map[place]*job{}}
	e.background, e.end = context.WithCancel(context.WithoutCancel(ctx))
	return e
}

// Close ends what is being written and waits for that.
func (e *Editor) Close() {
	e.end()
	e.busy.Wait()
}

// Models write the pack's daily brief, in order of preference.
func (e *Editor) Models() []Writer { return slices.Clone(e.cfg.Models) }

// Writers are those of a pack's own brief, in order: the models, then the writer by rules.
func (e *Editor) Writers(pack string) []Writer {
	return append(slices.Clone(e.cfg.Models), e.byRules(pack))
}

// Claims lists the figures of a brief about a state. What a writer by rules has written is written again, to learn where it is from.
func (e *Editor) Claims(ctx context.Context, told state.Brief, of state.Pulse) ([]ground.Claim, error) {
	in := Input{Pack: of.Pack, State: of.Read(), Citations: of.Citations}
	var origins []ground.Origin
	if byRules := e.byRules(of.Pack); told.Writer == byRules.Name() {
		if draft, err := byRules.Write(ctx, in); err == nil && draft.Text == told.Text { // else another version wrote it
			origins = draft.Origins
		}
	}
	return ground.Claims(told.Text, in.State, in.Citations, origins...)
}

// byRules is the writer of a pack that needs no model.
func (e *Editor) byRules(pack string) Writer {
	if e.cfg.ByRules != nil {
		if own := e.cfg.ByRules(pack); own != nil {
			return own
		}
	}
	return BuiltIn()
}

// Preview is a brief that was tried out.
type Preview struct {
	Pack        string    `json:"pack"`
	GeneratedAt time.Time `json:"generatedAt"` // of the state
	Writer      string    `json:"writer"`      // "" if none wrote a text that passes
	Text        string    `json:"text"`
	Refused     []Attempt `json:"refused"` // the texts before, in order
	Usage       Usage     `json:"usage"`   // of all texts
}

// Attempt is a text that was not taken.
type Attempt struct {
	Writer   string   `json:"writer"`
	Text     string   `json:"text,omitempty"`
	Error    string   `json:"error,omitempty"` // why there is none
	Findings []string `json:"findings,omitempty"`
}

// Preview writes a brief of the newest state in history without publishing it, as the schedule would or, unless it is "", by the
// writer with the given name alone. It costs what a brief costs.
func (e *Editor) Preview(ctx context.Context, pack, writer string) (Preview, error) {
	if err := e.served(pack); err != nil {
		return Preview{}, err
	}
	writers := e.Writers(pack)
	if writer != "" {
		var names []string
		writers = slices.DeleteFunc(writers, func(w Writer) bool {
			names = append(names, w.Name())
			return w.Name() != writer
		})
		if len(writers) == 0 {
			return Preview{}, api.Errorf(api.ReasonInvalidRequest, "there is no writer %q", writer).
				WithHint("writers: %s", strings.Join(names, ", "))
		}
	}
	pulse, err := e.cfg.History.PulseBefore(ctx, pack, e.cfg.Now().Add(time.Hour))
	if err != nil {
		return Preview{}, api.Errorf(api.ReasonStateUnavailable, "pack %s has no state for a brief yet: %v", pack, err)
	}
	in := Input{Pack: pack, State: pulse.Read(), Citations: pulse.Citations}
	result, err := Narrate(ctx, writers, in, e.cfg.TextWithin)
	if ctx.Err() != nil {
		return Preview{}, err
	}
	p := Preview{
		Pack: pack, GeneratedAt: pulse.GeneratedAt, Writer: result.Writer, Text: result.Text,
		Refused: []Attempt{}, Usage: result.Usage,
	}
	for _, r := range result.Refused {
		a := Attempt{Writer: r.Writer, Text: r.Text, Findings: lines(r.Findings)}
		if r.Err != nil {
			a.Error = r.Err.Error()
		}
		p.Refused = append(p.Refused, a)
	}
	return p, nil
}

func (e *Editor) served(pack string) error {
	packs := e.cfg.Packs()
	if slices.Contains(packs, pack) {
		return nil
	}
	return api.Errorf(api.ReasonPackNotFound, "pack %q is not served here", pack).WithHint("packs: %s", strings.Join(packs, ", "))
}

// lines are findings, each on a line.
func lines(findings []Finding) (list []string) {
	for _, f := range findings {
		list = append(list, f.String())
	}
	return list
}
