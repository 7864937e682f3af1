package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/zalando/go-keyring"

	"github.com/contextd/contextd/sdk"
)

// EnvSecretStore is the variable that says where secrets are kept: keyring, file or env, which is nowhere. Without it, it is the keyring if
// there is one, else the file.
const EnvSecretStore = "CTX_SECRET_STORE"

// The places.
const (
	inKeyring = "keyring"
	inFile    = "file"
	inEnv     = "env"
)

// service is the name under which the keyring has what is ours.
const service = "ctx"

// patience is how long the keyring may take; one that waits for somebody to unlock it would take for ever.
const patience = 3 * time.Second

// SecretStore keeps secrets.
type SecretStore struct {
	Paths     Paths
	LookupEnv LookupEnv
	Warn      func(format string, args ...any) // tells the user what is not as they may expect; nil tells nobody
}

type keyringEntry struct {
	APIKey  string `json:"apiKey,omitempty"`
	Session string `json:"session,omitempty"`
	BaseURL string `json:"baseUrl"`
}

// errNoKeyring says that the system has no keyring.
var errNoKeyring = errors.New("there is no keyring: no message bus runs for this user")

// Load returns the credential of a profile, zero if there is none.
func (s *SecretStore) Load(profile string) (Credential, error) {
	place, err := s.place()
	if err != nil || place == inEnv {
		return Credential{}, err
	}
	if place == inFile {
		return s.Paths.Credential(profile)
	}
	var text string
	err = s.within(func() (err error) { text, err = keyring.Get(service, s.user(profile)); return err })
	switch {
	case errors.Is(err, keyring.ErrNotFound) && place == "":
		return s.Paths.Credential(profile)
	case errors.Is(err, keyring.ErrNotFound):
		return Credential{}, nil
	case err != nil && place == "":
		s.warn("the keyring cannot be read (%v); looking into %s", err, s.Paths.Credentials)
		return s.Paths.Credential(profile)
	case err != nil:
		return Credential{}, fmt.Errorf("read keyring: %w", err)
	}
	var k keyringEntry
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return Credential{}, errors.New("read keyring: what it has for ctx is not what ctx writes") // the cause could quote it
	}
	return Credential{Key: sdk.NewKey(k.APIKey), Session: sdk.NewKey(k.Session), BaseURL: k.BaseURL}, nil
}

// Save keeps the credential of a profile, or forgets it where c has no secret, and says where it is now.
func (s *SecretStore) Save(profile string, c Credential) (where string, err error) {
	place, err := s.place()
	if err != nil {
		return "", err
	}
	switch {
	case place == inEnv && c.IsZero():
		return "", nil
	case place == inEnv:
		return "", fmt.Errorf("%s is %s, so nothing can be kept; set %s or CTX_SESSION instead", EnvSecretStore, inEnv, sdk.EnvAPIKey)
	case place == inFile:
		return s.Paths.Credentials, s.Paths.Store(profile, c)
	}
	err = s.within(func() error { return s.saveInKeyring(profile, c) })
	switch {
	case err == nil:
		return "the keyring", s.Paths.Store(profile, Credential{}) // what an earlier ctx may have left there
	case place == inKeyring:
		return "", fmt.Errorf("write keyring: %w", err)
	}
	if !c.IsZero() {
		s.warn("the keyring cannot be used (%v); keeping it in %s", err, s.Paths.Credentials)
	}
	return s.Paths.Credentials, s.Paths.Store(profile, c)
}

// saveInKeyring is Save for the keyring alone.
func (s *SecretStore) saveInKeyring(profile string, c Credential) error {
	if c.IsZero() {
		if err := keyring.Delete(service, s.user(profile)); !errors.Is(err, keyring.ErrNotFound) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(keyringEntry{c.Key.Secret(), c.Session.Secret(), c.BaseURL})
	if err != nil {
		return err
	}
	return keyring.Set(service, s.user(profile), string(text))
}

// place is where secrets are kept; "" is the keyring with the file behind it.
func (s *SecretStore) place() (string, error) {
	asked, _ := s.LookupEnv(EnvSecretStore)
	switch asked {
	case inFile, inEnv:
		return asked, nil
	case inKeyring:
		if !s.present() {
			return "", fmt.Errorf("%s is %s, but %w", EnvSecretStore, inKeyring, errNoKeyring)
		}
		return asked, nil
	case "":
		if !s.present() {
			return inFile, nil
		}
		return "", nil
	}
	return "", fmt.Errorf("%s is %q, not %s, %s or %s", EnvSecretStore, asked, inKeyring, inFile, inEnv)
}

// present reports whether the system may have a keyring. Where it lies behind a message bus, the library would start one that is
// not there, so that has to be known first.
func (s *SecretStore) present() bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	address, _ := s.LookupEnv("DBUS_SESSION_BUS_ADDRESS")
	path, ok := strings.CutPrefix(address, "unix:path=")
	if !ok {
		return address != "" && address != "autolaunch:"
	}
	path, _, _ = strings.Cut(path, ",")
	_, err := os.Stat(filepath.Clean(path))
	return err == nil
}

// user is the name under which the keyring has a profile. Each configuration has profiles of its own.
func (s *SecretStore) user(profile string) string { return s.Paths.Dir + " " + profile }

// within calls act and gives up on it when it takes too long.
func (s *SecretStore) within(act func() error) error {
	done := make(chan error, 1)
	go func() { done <- act() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("it does not answer within %s", patience)
	}
}

func (s *SecretStore) warn(format string, args ...any) {
	if s.Warn != nil {
		s.Warn(format, args...)
	}
}
