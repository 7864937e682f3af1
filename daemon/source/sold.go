package source

import (
	"context"
	"slices"

	"github.com/contextd/contextd/sdk/api"
)

// Sold is c as it serves those who sell what it says and, unless licensed, have no licence for that: who may not be passed on is not asked.
// Where that is c itself, the first of its fallbacks that may be answers in its place; else c has a Withheld.
func (c Connector) Sold(licensed bool) Connector {
	c.Fallbacks = slices.DeleteFunc(slices.Clone(c.Fallbacks), func(f Fallback) bool { return !f.Use.Sellable() })
	if licensed || c.Use.Sellable() {
		return c
	}
	c.ownWithheld = true
	c.read = func(context.Context, *attempt, Doc) (Doc, int, error) {
		return nil, 0, fail(ClassForbidden, "%s", api.NotSold)
	}
	if len(c.Fallbacks) == 0 {
		c.Withheld = api.NotSold
	}
	return c
}

// Serves reports whether what was said in place of c may be served, and what c said itself if via is "".
func (c Connector) Serves(via string) bool {
	if via == "" {
		return !c.ownWithheld
	}
	return slices.ContainsFunc(c.Fallbacks, func(f Fallback) bool { return f.Via == via })
}
