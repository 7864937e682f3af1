package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// checkText renders the answer of check: a line for each figure, the counts, and what is cited.
func checkText(body []byte) (string, error) {
	var r api.CheckResponse
	if err := json.Unmarshal(body, &r); err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %q", api.CheckMark(f.Verdict), human.Label(f.Text, human.Quoted))
		switch f.Verdict {
		case api.CheckUnknown:
			fmt.Fprintf(&b, " unknown: %s", f.Reason)
		case api.CheckStale:
			b.WriteString(" stale")
			if f.AsOf != nil {
				fmt.Fprintf(&b, ", so at %s", f.AsOf.UTC().Format("2006-01-02T15:04Z"))
			}
		case api.CheckRefuted:
			if b.WriteString(" refuted"); f.Reason != api.CheckOtherValue {
				fmt.Fprintf(&b, ": %s", f.Reason)
			}
		}
		if f.Says != "" {
			fmt.Fprintf(&b, ". %s", f.Says)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "%s: %d verified, %d refuted, %d stale, %d unknown; state of %s\n", strings.ToUpper(string(r.Verdict)), r.Verified,
		r.Refuted, r.Stale, r.Unknown, r.At.UTC().Format(time.RFC3339))
	for _, c := range r.Citations {
		fmt.Fprintf(&b, "[%d] %s\n", c.Ref, shortLink(c.URL))
	}
	writeNotices(&b, r.Notices)
	return b.String(), nil
}
