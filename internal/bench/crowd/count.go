package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tally is how one kind of act went.
type tally struct {
	took   []time.Duration // of those that succeeded
	failed int
	last   error // why the last one that failed did
}

// String is how many succeeded, of how many.
func (t tally) String() string { return fmt.Sprintf("%d of %d", len(t.took), len(t.took)+t.failed) }

// quantile is how long all but (100 − q) percent of those that succeeded took, at most.
func (t tally) quantile(q int) time.Duration {
	if len(t.took) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(t.took))
	return sorted[(len(sorted)-1)*q/100].Round(10 * time.Microsecond)
}

// tallies are those of all kinds, by name.
type tallies map[string]tally

// counts counts acts. It is safe for concurrent use.
type counts struct {
	mu  sync.Mutex // guards all
	all tallies
}

// add counts an act that began at a time.
func (c *counts) add(name string, began time.Time, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = tallies{}
	}
	t := c.all[name]
	if err == nil {
		t.took = append(t.took, time.Since(began))
	} else {
		t.failed, t.last = t.failed+1, err
	}
	c.all[name] = t
}

// take returns the counts and starts over.
func (c *counts) take() tallies {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.all
	c.all = nil
	return all
}

// usage is what the daemon used so far.
type usage struct {
	memory     float64 // bytes, resident
	chainCalls float64
	mails      int
}

// look reads the daemon's metrics and its outbox.
func look(ctx context.Context, d demo) (u usage, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.AdminURL+"/metrics", nil)
	if err != nil {
		return u, err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return u, fmt.Errorf("read metrics: %w", err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		number, _ := strconv.ParseFloat(value, 64)
		switch {
		case strings.HasSuffix(name, "process_resident_memory_bytes"):
			u.memory = number
		case strings.HasPrefix(name, "contextd_chain_calls_total"):
			u.chainCalls += number
		}
	}
	if err := lines.Err(); err != nil {
		return u, fmt.Errorf("read metrics: %w", err)
	}
	mails, err := os.ReadDir(d.Outbox)
	if err != nil && !os.IsNotExist(err) {
		return u, fmt.Errorf("count mails: %w", err)
	}
	u.mails = len(mails)
	return u, nil
}
