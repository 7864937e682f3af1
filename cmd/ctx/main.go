// Command ctx is the client of a context service; ctx help says what it does.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	_ "golang.org/x/crypto/x509roots/fallback" // for systems without certificates, such as the image of ctx

	"github.com/contextd/contextd/client"
	"github.com/contextd/contextd/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)                            // a second signal ends the process at once
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a write to a closed pipe is an error, not the end
	os.Exit(client.Main(ctx, os.Args[1:], cli.OS()))
}
