package config_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zalando/go-keyring"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/sdk"
)

const key = "cv_test_0123456789abcdefghijklmnopqrstuv"

// world is a store with its surroundings.
type world struct {
	*config.SecretStore
	env  map[string]string
	told []string
}

// newWorld makes a world in a directory of its own. bus says whether there is a message bus.
func newWorld(t *testing.T, store string, bus bool) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{env: map[string]string{config.EnvSecretStore: store}}
	if bus {
		path := filepath.Join(dir, "bus")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		w.env["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=" + path + ",guid=0"
	}
	w.SecretStore = &config.SecretStore{
		Paths:     config.Paths{Dir: dir, Credentials: filepath.Join(dir, "credentials.json")},
		LookupEnv: func(name string) (string, bool) { v, ok := w.env[name]; return v, ok },
		Warn:      func(format string, args ...any) { w.told = append(w.told, fmt.Sprintf(format, args...)) },
	}
	return w
}

// credential is one with everything in it.
func credential() config.Credential {
	return config.Credential{Key: sdk.NewKey(key), Session: sdk.NewKey("session"), BaseURL: "http://a"}
}

// same reports whether two credentials are the same.
func same(a, b config.Credential) bool {
	return a.Key.Secret() == b.Key.Secret() && a.Session.Secret() == b.Session.Secret() && a.BaseURL == b.BaseURL
}

// inFile reports whether the file has the key.
func (w *world) inFile() bool {
	text, _ := os.ReadFile(w.Paths.Credentials) // none has none
	return strings.Contains(string(text), key)
}

// The keyring of these tests is one for the whole process, so they do not run in parallel.

func TestPlaces(t *testing.T) {
	for _, c := range []struct {
		store   string
		bus     bool
		keyring error // of the keyring, nil for one that works
		inFile  bool
		fails   bool
		tells   bool
	}{
		{store: "", bus: true},
		{store: "", bus: false, inFile: true},
		{store: "", bus: true, keyring: errors.New("locked"), inFile: true, tells: true},
		{store: "keyring", bus: true},
		{store: "keyring", bus: false, fails: true},
		{store: "keyring", bus: true, keyring: errors.New("locked"), fails: true},
		{store: "file", bus: true, inFile: true},
		{store: "env", bus: true, fails: true},
		{store: "cloud", bus: true, fails: true},
	} {
		t.Run(fmt.Sprintf("%s bus=%v err=%v", c.store, c.bus, c.keyring), func(t *testing.T) {
			keyring.MockInitWithError(c.keyring)
			if c.keyring == nil {
				keyring.MockInit()
			}
			w := newWorld(t, c.store, c.bus)
			where, err := w.Save("p", credential())
			if (err != nil) != c.fails || w.inFile() != c.inFile || (len(w.told) > 0) != c.tells {
				t.Fatalf("saved in %q, %v; in the file: %v; told %q", where, err, w.inFile(), w.told)
			}
			if c.fails {
				return
			}
			if got, err := w.Load("p"); err != nil || !same(got, credential()) {
				t.Errorf("loaded %v, %v", got, err)
			}
			if got, err := w.Load("other"); err != nil || !got.IsZero() {
				t.Errorf("another profile has %v, %v", got, err)
			}
			if _, err := w.Save("p", config.Credential{}); err != nil {
				t.Error(err)
			}
			if got, err := w.Load("p"); err != nil || !got.IsZero() || w.inFile() {
				t.Errorf("after forgetting: %v, %v, in the file: %v", got, err, w.inFile())
			}
			for _, line := range w.told {
				if strings.Contains(line, key) || strings.Contains(line, "session") {
					t.Errorf("told %q", line)
				}
			}
		})
	}
}

// TestMovesToTheKeyring: what lies in the file is found, and goes to the keyring when it is next saved.
func TestMovesToTheKeyring(t *testing.T) {
	keyring.MockInit()
	w := newWorld(t, "file", true)
	if _, err := w.Save("p", credential()); err != nil {
		t.Fatal(err)
	}
	w.env[config.EnvSecretStore] = ""
	got, err := w.Load("p")
	if err != nil || !same(got, credential()) {
		t.Fatalf("loaded %v, %v", got, err)
	}
	if where, err := w.Save("p", got); err != nil || where != "the keyring" || w.inFile() {
		t.Errorf("saved in %q, %v; in the file: %v", where, err, w.inFile())
	}
	if got, err := w.Load("p"); err != nil || !same(got, credential()) {
		t.Errorf("loaded %v, %v", got, err)
	}
	other := newWorld(t, "", true) // another configuration with a profile of that name
	if got, err := other.Load("p"); err != nil || !got.IsZero() {
		t.Errorf("another configuration has %v, %v", got, err)
	}
}

// TestNothingIsKeptOnlyInTheEnvironment reads nothing, wherever something lies.
func TestNothingIsKeptOnlyInTheEnvironment(t *testing.T) {
	keyring.MockInit()
	w := newWorld(t, "file", true)
	if _, err := w.Save("p", credential()); err != nil {
		t.Fatal(err)
	}
	w.env[config.EnvSecretStore] = "env"
	if got, err := w.Load("p"); err != nil || !got.IsZero() {
		t.Errorf("loaded %v, %v", got, err)
	}
	if _, err := w.Save("p", config.Credential{}); err != nil {
		t.Errorf("forgetting nothing: %v", err)
	}
}

// TestNoBusIsStarted: an address that would make the library start a bus counts for none.
func TestNoBusIsStarted(t *testing.T) {
	keyring.MockInit()
	for _, address := range []string{"", "autolaunch:", "unix:path=/nowhere/bus"} {
		w := newWorld(t, "", false)
		w.env["DBUS_SESSION_BUS_ADDRESS"] = address
		if _, err := w.Save("p", credential()); err != nil || !w.inFile() {
			t.Errorf("%q: %v, in the file: %v", address, err, w.inFile())
		}
	}
}
