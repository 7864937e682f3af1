package command

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
)

// EnvSession is the variable that holds the secret of a console session, in place of one that is stored.
const EnvSession = "CTX_SESSION"

// Secrets is where keys and sessions are kept.
func (a *Factory) Secrets() (*config.SecretStore, error) {
	paths, err := a.Paths()
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return &config.SecretStore{Paths: paths, LookupEnv: a.LookupEnv, Warn: a.Note}, nil
}

// Stored is what is kept for the profile in use. What was given for another address than the one in use stays where it is.
func (a *Factory) Stored() (config.Credential, error) {
	c, err := a.Config()
	if err != nil {
		return config.Credential{}, err
	}
	if a.stored == nil {
		secrets, err := a.Secrets()
		if err != nil {
			return config.Credential{}, err
		}
		stored, err := secrets.Load(c.Profile())
		if err != nil {
			return config.Credential{}, cli.Invalid("%w", err)
		}
		a.stored = &stored
	}
	if base := c.Get(config.BaseURL).Text; !a.stored.IsZero() && !sameAddress(a.stored.BaseURL, base) {
		a.Note("what profile %s keeps is for %s and is not sent to %s", c.Profile(), a.stored.BaseURL, base)
		return config.Credential{}, nil
	}
	return *a.stored, nil
}

// sameAddress reports whether two base URLs are the same.
func sameAddress(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

// Keep changes what is kept for the profile in use and says where it is. It does not write over what is kept for another address: that
// may be the only place where a key is.
func (a *Factory) Keep(change func(*config.Credential)) (where string, err error) {
	c, err := a.Config()
	if err != nil {
		return "", err
	}
	if _, err := a.Stored(); err != nil {
		return "", err
	}
	base, kept := c.Get(config.BaseURL).Text, *a.stored
	if !kept.IsZero() && !sameAddress(kept.BaseURL, base) {
		return "", cli.Invalid("profile %s keeps a key or session for %s already", c.Profile(), kept.BaseURL).
			WithHint("make a profile of its own: ctx profile add NAME --base-url %s, and add -p NAME", base)
	}
	change(&kept)
	kept.BaseURL = base
	secrets, err := a.Secrets()
	if err != nil {
		return "", err
	}
	if where, err = secrets.Save(c.Profile(), kept); err != nil {
		return "", fmt.Errorf("keep secret: %w", err)
	}
	a.stored = &kept
	return where, nil
}

// Console is the console of the service, with the session of the environment or the one that is kept. The error is for no session,
// where one is needed.
func (a *Factory) Console(signedIn bool) (*sdk.Console, error) {
	client, err := a.Client()
	if err != nil {
		return nil, err
	}
	session := a.Env(EnvSession)
	if session == "" {
		stored, err := a.Stored()
		if err != nil {
			return nil, err
		}
		session = stored.Session.Secret()
	}
	if session == "" && signedIn {
		return nil, &cli.Failure{Exit: cli.ExitAuth, Reason: "missing_session",
			Err: fmt.Errorf("you are not signed in to %s", client.BaseURL()), Hint: "ctx auth login --email you@example.com"}
	}
	if session != "" {
		a.warnPlain("your session", client.BaseURL())
	}
	return client.Console(session), nil
}

// Ask asks for a line on the terminal. Where nobody can be asked it fails at once and names what to give instead.
func (a *Factory) Ask(ctx context.Context, question, instead string) (string, error) {
	if !a.InTTY || !a.ErrTTY || a.Flags.NoInput {
		return "", cli.Invalid("%s: there is nobody to ask", question).WithHint("%s", instead)
	}
	fmt.Fprintf(a.Err, "%s: ", question)
	return a.interruptible(ctx, func() (string, error) { return a.Line() })
}

// AskHidden is Ask for what nobody is to read on the screen.
func (a *Factory) AskHidden(ctx context.Context, question, instead string) (string, error) {
	file, ok := a.In.(interface{ Fd() uintptr })
	if !ok || !a.InTTY || !a.ErrTTY || a.Flags.NoInput {
		return "", cli.Invalid("%s: there is nobody to ask", question).WithHint("%s", instead)
	}
	fmt.Fprintf(a.Err, "%s: ", question)
	fd := int(file.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("read terminal: %w", err)
	}
	defer func() {
		_ = term.Restore(fd, before) // after an interruption it would go on hiding
		fmt.Fprintln(a.Err)
	}()
	return a.interruptible(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
}

// Line reads one line of standard input.
func (a *Factory) Line() (string, error) {
	const longest = 8 << 10
	text, err := bufio.NewReader(io.LimitReader(a.In, longest)).ReadString('\n')
	if text = strings.TrimSpace(text); text != "" {
		return text, nil
	}
	if err == nil || err == io.EOF {
		return "", cli.Invalid("standard input is empty")
	}
	return "", fmt.Errorf("read standard input: %w", err)
}

// interruptible waits for read, or for the user to interrupt it. A read of a terminal cannot be stopped; the process ends soon after.
func (a *Factory) interruptible(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case r := <-done:
		return r.text, r.err
	case <-ctx.Done():
		return "", &cli.Failure{Exit: cli.ExitDeclined, Reason: "declined", Err: fmt.Errorf("nothing was changed")}
	}
}
