// Command contextbench measures what the answers of a context service are worth, against what its upstreams said.
//
//	go -C internal/bench run ./contextbench
//
// It boots a real daemon over a market that lives by a seed (daemon/source/replay), with planted incidents, dead and frozen upstreams
// and hostile names, and walks it through 200 refreshes by a clock of its own. At every step it asks in public, over HTTP and
// MCP, and judges the answers by the raw payloads that upstream sent, never by the service's own state. Seven tests are scored: T1 look
// up, T2 the past, T3 what changed, T4 honesty about dead and frozen upstreams, T5 the brief, T6 what a right answer costs, T7 hostile
// text. Two baselines answer the same questions in the same run: all raw payloads one after another, and an adapter that forwards one
// upstream per tool, both read by a reader who makes no mistake.
//
// The shipped packs perps, markets and ai take T1 to T5 as well, each on a daemon of its own, whose upstreams say the numbers of the first
// recorded tick, wandering by the seed. What they say is read here by code that knows nothing of manifests.
//
// With -questions it asks the questions of a set instead, which were written from the list of tables and fields alone, without the
// words that the product reads (questions/open.jsonl, questions/held.jsonl, split by a hash of the question's id). Each says by structure
// what a right answer holds; the truth is computed here from what upstream said, at the tick that the question is about. An answer is
// right, a right refusal, nothing where there would be an answer, or false: unmarked and not the truth. A false one counts ten times. The
// open set is there to work with. The held set is scored once, at the end of the work, and is neither read nor quoted before.
// The other sets were written one after the other, from tables, fields and raw payloads, by people who had seen neither the reader nor its
// answers; those of fresh to fifth had seen some of the words that packs declare, or of the older questions. Each was scored once, unseen,
// and that figure stands. Since then they are open to work with, as the open set is.
//
// With -statements it holds sentences about real states against the check that a model's brief has to pass (brief.Check). The sentences of
// statements.txt are filled with what a state says, and are true; ten kinds of false ones have the figure of another row, another span,
// a flag, another count, another market or a part in place of a total, are reversed, or of another week, direction or unit. 2,000 more are
// true ones of which one thing was changed: subject, figure, field, unit, span or direction.
//
// With -check it holds texts against the operation check, of each pack or that of -pack: true sentences (A), false ones with one thing
// changed (B), such as were true before (C), such as no data decide (D), those of other languages (E), each brief of the service with one
// figure changed after the other (F), texts that are made to take long (G), and false ones in which the figure stands next to the name (T).
// Of B and T it also tells how many are refuted of those that lie beyond where upstream was all day and three usual moves: what lies nearer
// is not to be refuted. The sentences are made of what upstream said, rounded here, and the naive rule, that the figure stands anywhere in
// the state, is told beside.
//
// There is no network, no language model and no chance but the seed's: the same seed gives the same scores. What the daemon
// does not serve is "not measured". A test below its aim ends the program with status 1, after the table.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

// config is what is measured.
type config struct {
	seed      uint64
	ticks     int    // refreshes of five minutes
	questions int    // of T1
	wrong     int    // of each class, how many wrong answers are shown
	only      string // the pack that is measured alone; "" for all
}

func main() {
	cfg := config{}
	flag.Uint64Var(&cfg.seed, "seed", 16, "`number` that the market lives by")
	flag.IntVar(&cfg.ticks, "ticks", 200, "refreshes of five minutes, at least 8")
	flag.IntVar(&cfg.questions, "lookups", 500, "questions of T1")
	flag.IntVar(&cfg.wrong, "wrong", 3, "wrong answers shown of each class")
	flag.StringVar(&cfg.only, "pack", "", "measure this shipped `pack` alone")
	set := flag.String("questions", "", "ask this `set` of questions alone: "+strings.Join(questionSets, ", ")+" or "+every)
	statements := flag.Bool("statements", false, "judge the check of briefs by true and false sentences alone")
	checks := flag.Bool("check", false, "hold texts against the operation check alone")
	verbose := flag.Bool("v", false, "with -questions and -statements, list each case that is wrong")
	dir := flag.String("o", "", "write contextbench.md and contextbench.json to this `directory` too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := measure(ctx, cfg, *set, *statements, *checks, *verbose, *dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "contextbench:", err)
		os.Exit(1)
	}
}

// measure prints what is asked for.
func measure(ctx context.Context, cfg config, set string, statements, checks, verbose bool, dir string) error {
	switch {
	case set != "":
		list, err := askSet(ctx, cfg, set)
		if err == nil {
			fmt.Print(tally(list, verbose))
		}
		return err
	case checks:
		table, err := judgeChecks(ctx, cfg, verbose)
		fmt.Print(table)
		return err
	case statements:
		table, err := judgeStatements(ctx, cfg, verbose)
		fmt.Print(table)
		return err
	}
	r, err := run(ctx, cfg)
	if err == nil {
		err = write(r, dir, os.Stdout)
	}
	if err == nil {
		err = r.missed()
	}
	return err
}

// run measures the crypto pack, then the shipped ones.
func run(ctx context.Context, cfg config) (r *report, err error) {
	if cfg.ticks < minTicks {
		return nil, fmt.Errorf("%d ticks are too few, at least %d", cfg.ticks, minTicks)
	}
	r = &report{Seed: cfg.seed, Ticks: cfg.ticks}
	if cfg.only == "" {
		if r, err = runCrypto(ctx, cfg); err != nil {
			return nil, err
		}
	}
	for _, p := range shippedPacks() {
		if cfg.only != "" && cfg.only != p.id {
			continue
		}
		tests, err := runPack(ctx, cfg, p)
		if err != nil {
			return nil, err
		}
		r.Packs = append(r.Packs, packReport{p.id, tests})
	}
	return r, nil
}

// runCrypto measures the crypto pack.
func runCrypto(ctx context.Context, cfg config) (r *report, err error) {
	w, err := newWorld(ctx, cfg)
	if err != nil {
		return nil, err
	}
	defer func() {
		if closed := w.close(); err == nil {
			err = closed
		}
	}()
	b := newBench(w)
	for {
		if err := b.tick(ctx); err != nil {
			return nil, fmt.Errorf("tick %d: %w", w.tick, err)
		}
		if w.tick+1 == cfg.ticks {
			break
		}
		if err := w.advance(ctx); err != nil {
			return nil, err
		}
	}
	if err := b.end(ctx); err != nil {
		return nil, err
	}
	return b.report(), nil
}

// write prints the table and, where there is a directory, puts both forms there.
func write(r *report, dir string, out io.Writer) error {
	table := r.markdown()
	if _, err := io.WriteString(out, table); err != nil || dir == "" {
		return err
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode report: %w", err)
	}
	for name, content := range map[string][]byte{"contextbench.md": []byte(table), "contextbench.json": append(text, '\n')} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
