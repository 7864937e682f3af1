// Command crowd plays a crowd against a demo, and measures what honest clients notice of it.
//
//	contextd demo --data-dir d &
//	go -C internal/bench run ./crowd --demo "$PWD/d" --for 1m
//
// Honest clients sign in, buy credits, call with a key, pay single calls, stream and use MCP, twice for the same time: first beside
// harmless requests, then beside a crowd that sends as many: throw-away owners with keys, deposits, MCP sessions, streams and free
// calls, challenges that nobody answers, proofs of payments that nobody made, and mail addresses of 64 KiB. Every rogue and every
// honest client has a loopback address of its own, which works on Linux. The report compares how many honest acts succeeded, how
// long they took, the daemon's memory, its calls of the chain's node and the mails it sent.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// demo is what the crowd needs of the file demo.json, in which a demo tells scripts how to reach it.
type demo struct {
	BaseURL, AdminURL, APIKey, Outbox string
	Chain                             struct {
		RPCURL, Token string
		ChainID       int64
	}
	Wallet struct{ PrivateKey string }
}

// config is what is played.
type config struct {
	demo demo
	rate int           // requests a second that are not honest
	time time.Duration // of each of the two halves
	dir  string        // for the journals of honest wallets
}

func main() {
	dir := flag.String("demo", "", "data `directory` of the demo")
	cfg := config{}
	flag.IntVar(&cfg.rate, "rate", 300, "requests a second that are not honest")
	flag.DurationVar(&cfg.time, "for", time.Minute, "how long each half takes")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if _, err := run(ctx, cfg, *dir, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "crowd:", err)
		os.Exit(1)
	}
}

// run plays both halves against the demo in dir and writes the report to out too.
func run(ctx context.Context, cfg config, dir string, out io.Writer) (report, error) {
	text, err := os.ReadFile(filepath.Join(dir, "demo.json"))
	if err != nil {
		return report{}, fmt.Errorf("find the demo: %w", err)
	}
	if err := json.Unmarshal(text, &cfg.demo); err != nil {
		return report{}, fmt.Errorf("read demo.json: %w", err)
	}
	if cfg.dir, err = os.MkdirTemp("", "crowd-"); err != nil {
		return report{}, err
	}
	defer os.RemoveAll(cfg.dir)
	r, err := play(ctx, cfg)
	if err != nil {
		return report{}, err
	}
	return r, r.write(out)
}

// report is what was seen in each half.
type report struct {
	halves [2]half // beside harmless requests, beside the crowd
}

// half is what was seen in one half.
type half struct {
	honest  tallies
	others  tallies // of what was not honest
	daemon  usage   // what the daemon used in it; memory is that at the end
	seconds float64
}

// play plays both halves.
func play(ctx context.Context, cfg config) (r report, err error) {
	honest, err := newHonest(ctx, cfg)
	if err != nil {
		return r, fmt.Errorf("honest clients: %w", err)
	}
	defer honest.payer.Close()
	for i, begin := range []func(config) *others{harmless, hostile} {
		before, err := look(ctx, cfg.demo)
		if err != nil {
			return r, err
		}
		began := time.Now()
		limited, stop := context.WithTimeout(ctx, cfg.time)
		crowd := begin(cfg)
		done := make(chan struct{})
		go func() { defer close(done); crowd.play(limited) }()
		honest.play(limited)
		<-done
		stop()
		after, err := look(ctx, cfg.demo)
		if err != nil {
			return r, err
		}
		r.halves[i] = half{
			honest.counts.take(), crowd.counts.take(),
			usage{after.memory, after.chainCalls - before.chainCalls, after.mails - before.mails}, time.Since(began).Seconds(),
		}
	}
	return r, ctx.Err()
}

// write writes the report as a table.
func (r report) write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	names := map[string]bool{}
	for _, h := range r.halves {
		for name := range h.honest {
			names[name] = true
		}
	}
	fmt.Fprintln(w, "honest\tbeside harmless\tp50\tp99\tbeside the crowd\tp50\tp99\tp99 ratio")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		a, b := r.halves[0].honest[name], r.halves[1].honest[name]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%.1f\n", name, a, a.quantile(50), a.quantile(99), b, b.quantile(50), b.quantile(99),
			float64(b.quantile(99))/float64(max(a.quantile(99), 1)))
	}
	fmt.Fprintln(w, "\nof the daemon\tbeside harmless\tbeside the crowd")
	a, b := r.halves[0], r.halves[1]
	fmt.Fprintf(w, "memory at the end, MB\t%.0f\t%.0f\n", a.daemon.memory/1e6, b.daemon.memory/1e6)
	fmt.Fprintf(w, "calls of the chain's node\t%.0f\t%.0f\n", a.daemon.chainCalls, b.daemon.chainCalls)
	fmt.Fprintf(w, "mails\t%d\t%d\n", a.daemon.mails, b.daemon.mails)
	for _, h := range r.halves {
		fmt.Fprintln(w, "\nnot honest\tanswered\trefused or failed\ta second")
		for _, name := range slices.Sorted(maps.Keys(h.others)) {
			t := h.others[name]
			fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\n", name, len(t.took), t.failed, float64(len(t.took)+t.failed)/h.seconds)
		}
	}
	for _, h := range r.halves {
		for _, name := range slices.Sorted(maps.Keys(h.honest)) {
			if t := h.honest[name]; t.failed > 0 {
				fmt.Fprintf(w, "\nlast failure of %s: %v", name, t.last)
			}
		}
	}
	fmt.Fprintln(w)
	return w.Flush()
}
