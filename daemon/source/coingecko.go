package source

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Plan is what CoinGecko lets an account do.
type Plan string

// The plans. The zero value is PlanDemo with a key, and PlanKeyless without.
const (
	PlanKeyless Plan = "keyless"
	PlanDemo    Plan = "demo"
	PlanPro     Plan = "pro"
)

// CoinGecko is an account there. The key is never in a URL, a log or an error.
type CoinGecko struct {
	Plan Plan
	Key  string
}

const (
	coinGeckoHost    = "api.coingecko.com"
	coinGeckoProHost = "pro-api.coingecko.com"
)

func (g CoinGecko) plan() Plan {
	if g.Plan == "" && g.Key != "" {
		return PlanDemo
	}
	return cmp.Or(g.Plan, PlanKeyless)
}

// Check says what is wrong with g.
func (g CoinGecko) Check() error {
	switch g.plan() {
	case PlanKeyless:
		if g.Key != "" {
			return errors.New("plan keyless takes no key: say demo or pro, or remove key_file")
		}
	case PlanDemo, PlanPro:
		if g.Key == "" || strings.ContainsAny(g.Key, "\r\n\x00") {
			return fmt.Errorf("plan %s needs a key in key_file", g.Plan)
		}
	default:
		return fmt.Errorf("plan %q is none of keyless, demo and pro", g.Plan)
	}
	return nil
}

// keyHeaders are those that a key is sent in.
func keyHeaders() []string { return []string{"X-Cg-Demo-Api-Key", "X-Cg-Pro-Api-Key"} }

// direct sends a request for CoinGecko to where the plan is served, with the key.
func (g CoinGecko) direct(req *http.Request) {
	if req.URL.Host != coinGeckoHost || g.Key == "" {
		return
	}
	header := keyHeaders()[0]
	if g.plan() == PlanPro {
		header = keyHeaders()[1]
		req.URL.Host, req.Host = coinGeckoProHost, ""
	}
	req.Header.Set(header, g.Key)
}

// Interval is that of c. The demo plan has 10,000 requests a month, of which the shortest intervals would take 16,000.
func (g CoinGecko) Interval(c Connector) time.Duration {
	if g.plan() == PlanDemo && len(c.Asks) > 0 && c.Asks[0].Host() == coinGeckoHost {
		return 2 * c.Interval
	}
	return c.Interval
}
