package brief_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/brief/ground"
)

// says is a writer with a fixed answer.
type says struct {
	name, text string
	err        error
}

func (w says) Name() string { return w.name }
func (w says) Write(context.Context, brief.Input) (brief.Draft, error) {
	return brief.Draft{Text: w.text, Usage: brief.Usage{InputTokens: 1}}, w.err
}

var errSilent = errors.New("silent")

func TestNarrateTakesTheFirstThatPasses(t *testing.T) {
	t.Parallel()
	in := input(t, readState(t, "tick3"))
	writers := []brief.Writer{
		says{name: "broken", err: errSilent},
		says{name: "liar", text: "Bitcoin trades at $92,000 [1]. Nothing else matters."},
		says{name: "honest", text: "Bitcoin trades at $91,286 [1]."},
		brief.BuiltIn(),
	}
	got, err := brief.Narrate(t.Context(), writers, in, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got.Writer != "honest" || got.Text != "Bitcoin trades at $91,286 [1]." {
		t.Errorf("got %q by %s", got.Text, got.Writer)
	}
	if len(got.Refused) != 2 {
		t.Fatalf("refused %v, want two", got.Refused)
	}
	if r := got.Refused[0]; r.Writer != "broken" || !errors.Is(r, errSilent) || len(r.Findings) > 0 {
		t.Errorf("first refusal %+v", r)
	}
	if r := got.Refused[1]; r.Writer != "liar" || len(r.Findings) != 2 || r.Findings[0].Kind != ground.KindFigure || r.Findings[1].Kind != ground.KindUncited {
		t.Errorf("second refusal %+v", r)
	}
}

func TestNarratePublishesNothingFalse(t *testing.T) {
	t.Parallel()
	in := input(t, readState(t, "tick3"))
	got, err := brief.Narrate(t.Context(), []brief.Writer{
		says{name: "liar", text: "Bitcoin trades at $92,000 [1]."},
		says{name: "sloppy", text: "Bitcoin fell. So did Ethereum."},
		says{name: "broken", err: errSilent},
	}, in, 0)
	if !errors.Is(err, brief.ErrNoBrief) || !errors.Is(err, errSilent) || got.Text != "" {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, part := range []string{"$92,000", "sloppy: uncited", "and 1 more", "broken: silent"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q lacks %q", err, part)
		}
	}
	if _, err := brief.Narrate(t.Context(), nil, in, 0); !errors.Is(err, brief.ErrNoBrief) {
		t.Errorf("without writers: %v", err)
	}
}

func TestNarrateStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := brief.Narrate(ctx, []brief.Writer{brief.BuiltIn()}, input(t, readState(t, "tick3")), 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the end of the context", err)
	}
}
