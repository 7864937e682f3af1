package config

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
)

// InUse is what a daemon runs with: the values of settings and what is in the files that they name.
type InUse map[string]inUse

type inUse struct {
	value any
	files [sha256.Size]byte
}

// InUse is what c has a daemon run with.
func (c *Config) InUse() InUse {
	values := InUse{}
	files := map[string][]string{}
	for _, f := range c.files() {
		files[f.key] = append(files[f.key], f.path)
	}
	for _, row := range Table() {
		if row.Section() {
			continue
		}
		v := inUse{value: row.In(reflect.ValueOf(c).Elem()).Interface()}
		h := sha256.New()
		for _, path := range files[row.Key] {
			text, _ := os.ReadFile(path) // Daemon has said what is wrong with it
			fmt.Fprintf(h, "%d %s", len(text), text)
		}
		h.Sum(v.files[:0])
		values[row.Key] = v
	}
	return values
}

// After is what is in use after a reload to next, and which settings have changed by it, and which others will by a restart.
func (u InUse) After(next InUse) (now InUse, changed, restart []string) {
	now, changed, restart = maps.Clone(u), []string{}, []string{}
	same := func(key string) bool { return reflect.DeepEqual(u[key].value, next[key].value) }
	for _, s := range Table() {
		// What is in the files of the certificate is read again, unless one has another name.
		certificate := slices.Contains([]string{certFile, certKeyFile}, s.Key) && same(certFile) && same(certKeyFile)
		switch {
		case same(s.Key) && u[s.Key].files == next[s.Key].files:
		case s.Live || certificate:
			now[s.Key] = next[s.Key]
			changed = append(changed, s.Key)
		default:
			restart = append(restart, s.Key)
		}
	}
	return now, changed, restart
}
