package client

import (
	"fmt"
	"strings"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
)

// envSession is the variable that holds the secret of a console session, in place of one that is stored.
const envSession = "CTX_SESSION"

// account is the owner's side of the service: the key and the session that are kept for the profile in use, and the console.
type account struct {
	io       *streams
	settings *settings
	client   func() (*sdk.Client, error)
	stored   *config.Credential // of the profile in use, nil until it was read
	notified bool               // that what is kept stays where it is
}

// Secrets is where keys and sessions are kept.
func (a *account) Secrets() (*config.SecretStore, error) {
	paths, err := a.settings.Paths()
	if err != nil {
		return nil, cli.Invalid("%w", err)
	}
	return &config.SecretStore{Paths: paths, LookupEnv: a.io.LookupEnv, Warn: a.io.Note}, nil
}

// Stored is what is kept for the profile in use. What was given for another address than the one in use stays where it is.
func (a *account) Stored() (config.Credential, error) {
	c, err := a.settings.Config()
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
		if !a.notified {
			a.notified = true
			a.io.Note("what profile %s keeps is for %s and is not sent to %s", c.Profile(), a.stored.BaseURL, base)
		}
		return config.Credential{}, nil
	}
	return *a.stored, nil
}

// sameAddress reports whether two base URLs are the same.
func sameAddress(a, b string) bool { return strings.TrimRight(a, "/") == strings.TrimRight(b, "/") }

// Store changes what is kept for the profile in use and says where it is. It does not write over what is kept for another address: that
// may be the only place where a key is.
func (a *account) Store(change func(*config.Credential)) (where string, err error) {
	c, err := a.settings.Config()
	if err != nil {
		return "", err
	}
	if _, err := a.Stored(); err != nil {
		return "", err
	}
	base, kept := c.Get(config.BaseURL).Text, *a.stored
	if !kept.IsZero() && !sameAddress(kept.BaseURL, base) {
		return "", cli.Invalid("profile %s keeps a key or session for %s already", c.Profile(), kept.BaseURL).
			WithHint("make another profile: ctx config profile add NAME --base-url %s, and add -p NAME", base)
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
func (a *account) Console(signedIn bool) (*sdk.Console, error) {
	client, err := a.client()
	if err != nil {
		return nil, err
	}
	session := a.io.Env(envSession)
	if session == "" {
		stored, err := a.Stored()
		if err != nil {
			return nil, err
		}
		session = stored.Session.Secret()
	}
	if session == "" && signedIn {
		return nil, &cli.Failure{Exit: cli.ExitAuth, Reason: "missing_session",
			Err: fmt.Errorf("you are not signed in to %s", client.BaseURL()), Hint: "ctx login --email you@example.com"}
	}
	if session != "" {
		a.io.warnPlain("your session", client.BaseURL())
	}
	return client.Console(session), nil
}

// key is the key that calls are made with, zero if there is none, and where it comes from.
func (a *account) key() (key sdk.Key, origin string, err error) {
	c, err := a.settings.Config()
	if err != nil {
		return sdk.Key{}, "", err
	}
	file := c.Get(config.APIKeyFile)
	if env := a.io.Env(sdk.EnvAPIKey); env != "" && !strings.HasPrefix(file.Origin, "option") {
		return sdk.NewKey(env), "environment " + sdk.EnvAPIKey, nil
	}
	if file.Text != "" {
		if address := c.Get(config.BaseURL); file.Origin == "file" && strings.HasPrefix(address.Origin, "profile ") {
			return sdk.Key{}, "", cli.Invalid("%s has its own address, and the key file at the top of the configuration is for another one",
				address.Origin).WithHint("ctx config set api_key_file FILE -p %s", c.Profile())
		}
		key, err := config.ReadKey(file.Text, a.io.In)
		if err != nil {
			return sdk.Key{}, "", cli.Invalid("the API key (from %s): %w", file.Origin, err)
		}
		return key, file.Origin, nil
	}
	stored, err := a.Stored()
	switch {
	case err != nil:
		return sdk.Key{}, "", err
	case !stored.Key.IsZero():
		return stored.Key, "profile " + c.Profile(), nil
	case !c.FoundKey.IsZero():
		return c.FoundKey, config.OnThisMachine, nil
	}
	return sdk.Key{}, "", nil
}

// Ask calls the console with the session that is kept, and keeps the one that comes back.
func askConsole[T any](a *account, ask func(c *sdk.Console, opts []sdk.CallOption) (T, error)) (answer T, err error) {
	console, err := a.Console(true)
	if err != nil {
		return answer, err
	}
	before := console.Secret()
	var meta sdk.Response
	answer, err = ask(console, a.io.Call(&meta))
	if err != nil {
		return answer, err
	}
	meta.DataMode = "" // the account is real, even where the data is of a demo
	a.io.ReportMeta(&meta)
	if now := console.Secret(); now != before && a.io.Env(envSession) == "" {
		_, err = a.Store(func(c *config.Credential) { c.Session = sdk.NewKey(now) })
	}
	return answer, err
}
