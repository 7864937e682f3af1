package config

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/contextd/contextd/sdk"
)

// ErrOpenMode says that others may read a file with secrets. The file is not read.
var ErrOpenMode = errors.New("others may read it")

// Credential is the secrets of a profile and the address that they were given for. They go nowhere else.
type Credential struct {
	Key     sdk.Key
	Session sdk.Key // secret of a console session, which hides itself as a key does
	BaseURL string
}

// IsZero reports whether c has no secret.
func (c Credential) IsZero() bool { return c.Key.IsZero() && c.Session.IsZero() }

// stored is a Credential as it lies in the file.
type stored struct {
	APIKey  string `json:"apiKey,omitempty"`
	Session string `json:"session,omitempty"`
	BaseURL string `json:"baseUrl"`
}

// Credential returns the stored credential of a profile, the zero Credential if there is none. It refuses a file that others
// than its owner may read, with ErrOpenMode.
func (p Paths) Credential(profile string) (Credential, error) {
	all, err := p.credentials()
	if err != nil {
		return Credential{}, err
	}
	c := all[profile]
	return Credential{sdk.NewKey(c.APIKey), sdk.NewKey(c.Session), c.BaseURL}, nil
}

// Store keeps the credential of a profile in a file that only its owner may read; a zero one is forgotten.
func (p Paths) Store(profile string, c Credential) error {
	all, err := p.credentials()
	if err != nil {
		return err
	}
	if _, ok := all[profile]; !ok && c.IsZero() {
		return nil
	}
	if c.IsZero() {
		delete(all, profile)
	} else {
		all[profile] = stored{c.Key.Secret(), c.Session.Secret(), c.BaseURL}
	}
	text, err := json.MarshalIndent(map[string]any{"profiles": all}, "", "  ")
	if err != nil {
		return fmt.Errorf("store key: %w", err)
	}
	return replace(p.Credentials, append(text, '\n'), 0o600)
}

func (p Paths) credentials() (map[string]stored, error) {
	text, err := readPrivate(p.Credentials)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]stored{}, nil
	}
	if err != nil {
		return nil, err
	}
	var file struct{ Profiles map[string]stored }
	if err := json.Unmarshal(text, &file); err != nil {
		// The text of the error could hold a part of a key.
		return nil, fmt.Errorf("read %s: it is not the JSON that ctx writes", p.Credentials)
	}
	if file.Profiles == nil {
		file.Profiles = map[string]stored{}
	}
	return file.Profiles, nil
}

// readPrivate reads a file that only its owner may read.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if mode := info.Mode(); runtime.GOOS != "windows" && mode.IsRegular() && mode.Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o and %w; run chmod 600 %s", path, mode.Perm(), ErrOpenMode, path)
	}
	const longest = 64 << 10
	text, err := io.ReadAll(io.LimitReader(f, longest+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	if len(text) > longest {
		return nil, fmt.Errorf("%s is longer than %d KiB", path, longest>>10)
	}
	return text, nil
}

// ReadKey reads a key from the first line of a file, or of in if the file is "-". It refuses a file that others may read.
func ReadKey(file string, in io.Reader) (sdk.Key, error) {
	var text string
	if file == "-" {
		line, err := bufio.NewReader(io.LimitReader(in, 4096)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return sdk.Key{}, fmt.Errorf("read key from standard input: %w", err)
		}
		text = line
	} else {
		content, err := readPrivate(file)
		if err != nil {
			return sdk.Key{}, err
		}
		text, _, _ = strings.Cut(strings.TrimSpace(string(content)), "\n")
	}
	key := sdk.NewKey(text)
	if !key.Valid() {
		return sdk.Key{}, fmt.Errorf("%s does not hold a key, cv_live_… or cv_test_…", nameOf(file))
	}
	return key, nil
}

func nameOf(file string) string {
	if file == "-" {
		return "standard input"
	}
	return file
}
