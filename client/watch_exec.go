package client

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/cli"
)

const (
	execTime  = 5 * time.Minute // for the command of an event
	execGrace = 5 * time.Second // for one under way at a stop
)

// eventCommand is what --exec of watch runs.
type eventCommand struct {
	*streams
	text string
}

// deliver runs the command for e, which takes it by ending with 0.
func (c eventCommand) deliver(ctx context.Context, e alert.Event) error {
	doc, err := cli.Marshal(e)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, execTime)
	defer cancel()
	run := exec.CommandContext(ctx, "sh", "-c", c.text)
	run.Stdin, run.Stdout, run.Stderr = bytes.NewReader(append(doc, '\n')), c.Err, c.Err // stdout is for events
	run.WaitDelay = time.Second                                                          // for what it has left behind
	run.Env = append(os.Environ(), "CTX_EVENT_ID="+e.ID, "CTX_EVENT_ALERT="+e.Alert, "CTX_EVENT_PACK="+e.Pack,
		"CTX_EVENT_AT="+e.At.Format(time.RFC3339Nano), "CTX_EVENT_CHANGE="+string(e.Change), "CTX_EVENT_KIND="+e.Kind,
		"CTX_EVENT_SEVERITY="+string(e.Severity), "CTX_EVENT_SUBJECT="+e.Subject, "CTX_EVENT_MESSAGE="+e.Message,
		"CTX_EVENT_LATE="+strconv.FormatBool(e.Late))
	if err := run.Run(); err != nil {
		if ctx.Err() == context.DeadlineExceeded {
			return fmt.Errorf("the command took more than %s", execTime)
		}
		return fmt.Errorf("run %s: %w", strings.Fields(c.text + " ?")[0], err)
	}
	return nil
}
