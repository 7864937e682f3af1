// Package secret keeps the secrets of profiles, keys and sessions, where the system keeps passwords, or else in a file that only
// its owner may read.
//
// It decides where, and nothing else: the file is that of client/config. It never starts a keyring or a message bus that is not
// there, never waits long for one, and never asks anybody anything.
package secret

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

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/sdk"
)

// EnvStore is the variable that says where secrets are kept: keyring, file or env, which is nowhere. Without it, it is the keyring if
// there is one, else the file.
const EnvStore = "CTX_SECRET_STORE"

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

// Store keeps secrets.
type Store struct {
	Paths     config.Paths
	LookupEnv config.LookupEnv
	Warn      func(format string, args ...any) // tells the user what is not as he may expect; nil tells nobody
}

// kept is a credential as the keyring has it.
type kept struct {
	APIKey  string `json:"apiKey,omitempty"`
	Session string `json:"session,omitempty"`
	BaseURL string `json:"baseUrl"`
}

// errNoKeyring says that the system has no keyring.
var errNoKeyring = errors.New("there is no keyring: no message bus runs for this user")

// Load returns the credential of a profile, zero if there is none.
func (s *Store) Load(profile string) (config.Credential, error) {
	place, err := s.place()
	if err != nil || place == inEnv {
		return config.Credential{}, err
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
		return config.Credential{}, nil
	case err != nil && place == "":
		s.warn("the keyring cannot be read (%v); looking into %s", err, s.Paths.Credentials)
		return s.Paths.Credential(profile)
	case err != nil:
		return config.Credential{}, fmt.Errorf("read keyring: %w", err)
	}
	var k kept
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return config.Credential{}, errors.New("read keyring: what it has for ctx is not what ctx writes") // the cause could quote it
	}
	return config.Credential{Key: sdk.NewKey(k.APIKey), Session: sdk.NewKey(k.Session), BaseURL: k.BaseURL}, nil
}

// Save keeps the credential of a profile, or forgets it where c has no secret, and says where it is now.
func (s *Store) Save(profile string, c config.Credential) (where string, err error) {
	place, err := s.place()
	if err != nil {
		return "", err
	}
	switch {
	case place == inEnv && c.IsZero():
		return "", nil
	case place == inEnv:
		return "", fmt.Errorf("%s is %s, so nothing can be kept; set %s or CTX_SESSION instead", EnvStore, inEnv, sdk.EnvAPIKey)
	case place == inFile:
		return s.Paths.Credentials, s.Paths.Store(profile, c)
	}
	err = s.within(func() error { return s.saveInKeyring(profile, c) })
	switch {
	case err == nil:
		return "the keyring", s.Paths.Store(profile, config.Credential{}) // what an earlier ctx may have left there
	case place == inKeyring:
		return "", fmt.Errorf("write keyring: %w", err)
	}
	if !c.IsZero() {
		s.warn("the keyring cannot be used (%v); keeping it in %s", err, s.Paths.Credentials)
	}
	return s.Paths.Credentials, s.Paths.Store(profile, c)
}

// saveInKeyring is Save for the keyring alone.
func (s *Store) saveInKeyring(profile string, c config.Credential) error {
	if c.IsZero() {
		if err := keyring.Delete(service, s.user(profile)); !errors.Is(err, keyring.ErrNotFound) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(kept{c.Key.Secret(), c.Session.Secret(), c.BaseURL})
	if err != nil {
		return err
	}
	return keyring.Set(service, s.user(profile), string(text))
}

// place is where secrets are kept; "" is the keyring with the file behind it.
func (s *Store) place() (string, error) {
	asked, _ := s.LookupEnv(EnvStore)
	switch asked {
	case inFile, inEnv:
		return asked, nil
	case inKeyring:
		if !s.present() {
			return "", fmt.Errorf("%s is %s, but %w", EnvStore, inKeyring, errNoKeyring)
		}
		return asked, nil
	case "":
		if !s.present() {
			return inFile, nil
		}
		return "", nil
	}
	return "", fmt.Errorf("%s is %q, not %s, %s or %s", EnvStore, asked, inKeyring, inFile, inEnv)
}

// present reports whether the system may have a keyring. Where it lies behind a message bus, the library would start one that is
// not there, so that has to be known first.
func (s *Store) present() bool {
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
func (s *Store) user(profile string) string { return s.Paths.Dir + " " + profile }

// within calls act and gives up on it when it takes too long.
func (s *Store) within(act func() error) error {
	done := make(chan error, 1)
	go func() { done <- act() }()
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return fmt.Errorf("it does not answer within %s", patience)
	}
}

func (s *Store) warn(format string, args ...any) {
	if s.Warn != nil {
		s.Warn(format, args...)
	}
}
