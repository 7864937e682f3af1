package llm

import (
	"context"
	"errors"
	"fmt"

	"github.com/contextd/contextd/daemon/brief"
)

// Ledger keeps what models took, by the day and, with a space behind the day, by the owner. What its methods have returned is on disk.
type Ledger interface {
	// ReserveWriting adds u to what day has taken, unless the day would then have more than limit. A limit of 0 is none.
	ReserveWriting(ctx context.Context, day string, u brief.Usage, limit brief.Limit) (ok bool, err error)
	// CorrectWriting adds by, whose members may be negative, to what day has taken.
	CorrectWriting(ctx context.Context, day string, by brief.Usage) error
	// Writing returns what day has taken.
	Writing(ctx context.Context, day string) (brief.Usage, error)
}

// forReaders is the part of a bound that briefs with a reader's own prompt may use, nine tenths: the rest is for the brief of the
// pack. It is at least 1, because 0 is no bound.
func forReaders(bound int64) int64 { return min(bound, max(1, bound/10*9+bound%10*9/10)) }

// forOwner is the part of what is for readers that one owner's prompts may use, a fourth. It is at least 1.
func forOwner(bound int64) int64 { return min(bound, max(1, bound/4)) }

// accounts are what a text of in counts in on day: that of all, and before it that of the owner whose prompt it is by, each with its bound.
func (w *Writer) accounts(day string, in brief.Input) (names []string, limits []brief.Limit) {
	l := share(w.cfg.Limit, in)
	if in.Prompt != "" && in.Owner != "" {
		names = append(names, day+" "+in.Owner)
		limits = append(limits, brief.Limit{Tokens: forOwner(l.Tokens), CostMicros: forOwner(l.CostMicros)})
	}
	return append(names, day), append(limits, l)
}

// share is the part of l that the brief of in may use.
func share(l brief.Limit, in brief.Input) brief.Limit {
	if in.Prompt == "" {
		return l
	}
	return brief.Limit{Tokens: forReaders(l.Tokens), CostMicros: forReaders(l.CostMicros)}
}

// Prices are millionths of a US dollar for a million tokens. Zero where they are not known, or nothing.
type Prices struct{ Input, Output int64 }

// cost is u with its cost at p, rounded up.
func (p Prices) cost(u brief.Usage) brief.Usage {
	const million = 1_000_000
	u.CostMicros = (u.InputTokens*p.Input + u.OutputTokens*p.Output + million - 1) / million
	return u
}

// bytesPerToken is how few bytes a token has on average, at worst, in text like a state.
const bytesPerToken = 2

// reserve takes the most that a call can cost from the budget of today.
func (w *Writer) reserve(ctx context.Context, in brief.Input, talk []message) (most brief.Usage, day string, err error) {
	size := len(rules)
	for _, t := range talk {
		size += len(t.text)
	}
	most = w.cfg.Prices.cost(brief.Usage{InputTokens: int64(size / bytesPerToken), OutputTokens: w.cfg.MaxTokens})
	if w.cfg.Ledger == nil {
		return most, "", nil
	}
	day = brief.Day(w.cfg.Now())
	names, limits := w.accounts(day, in)
	for i, name := range names {
		ok, err := w.cfg.Ledger.ReserveWriting(ctx, name, most, limits[i])
		if err == nil && !ok {
			whose := "the budget"
			if name != day {
				whose = "the owner's part of the budget"
			}
			err = fmt.Errorf("%s of %s for language models is used up: a text may take %d tokens", whose, day, most.Tokens())
		}
		if err != nil {
			return most, day, errors.Join(err, w.correct(ctx, names[:i], brief.Usage{}.Minus(most)))
		}
	}
	return most, day, nil
}

// reconcile puts what a call really took in the place of what was reserved for it. It does so after the end of ctx too.
func (w *Writer) reconcile(ctx context.Context, day string, in brief.Input, most, used brief.Usage) error {
	if w.cfg.Ledger == nil {
		return nil
	}
	names, _ := w.accounts(day, in)
	return w.correct(ctx, names, used.Minus(most))
}

func (w *Writer) correct(ctx context.Context, names []string, by brief.Usage) (err error) {
	for _, name := range names {
		err = errors.Join(err, w.cfg.Ledger.CorrectWriting(context.WithoutCancel(ctx), name, by))
	}
	return err
}
