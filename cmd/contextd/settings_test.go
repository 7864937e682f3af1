package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk/api"
)

// TestTableIsTheConfiguration: every field of config is a setting of the table, of its kind, and the other way round.
func TestTableIsTheConfiguration(t *testing.T) {
	t.Parallel()
	fields := map[string]reflect.Kind{}
	var walk func(prefix string, of reflect.Type)
	walk = func(prefix string, of reflect.Type) {
		for i := range of.NumField() {
			field := of.Field(i)
			name, squash, _ := strings.Cut(field.Tag.Get("mapstructure"), ",")
			switch field.Type.Kind() {
			case reflect.Struct:
				if squash != "squash" {
					name = prefix + name + "."
				}
				walk(name, field.Type)
			case reflect.Map:
				for _, tier := range api.Tiers() {
					walk(prefix+name+"."+string(tier)+".", field.Type.Elem())
				}
			default:
				fields[prefix+name] = field.Type.Kind()
			}
		}
	}
	walk("", reflect.TypeFor[config]())
	for _, s := range Table() {
		if s.Section() {
			continue
		}
		kind, ok := fields[s.Key]
		if want := reflect.TypeOf(s.Default).Kind(); !ok || kind != want {
			t.Errorf("setting %s has kind %s; the field of config has %s", s.Key, want, kind)
		}
		delete(fields, s.Key)
	}
	for name := range fields {
		t.Errorf("config has %s, which is not in the table of package setting", name)
	}
}

// TestFlagsAreSettings: a flag that stands for a setting says the same default.
func TestFlagsAreSettings(t *testing.T) {
	t.Parallel()
	root := newRoot(cli.System{Out: t.Output(), Err: t.Output()})
	serve, _, err := root.Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	for flag, key := range map[string]string{"listen": "listen", "log-level": "log.level", "log-format": "log.format"} {
		i := slices.IndexFunc(Table(), func(s Setting) bool { return s.Key == key })
		f := serve.Flag(flag)
		if f == nil || i < 0 || f.DefValue != Table()[i].Default {
			t.Errorf("--%s does not have the default of %s", flag, key)
		}
	}
}

// TestSecretFiles: every setting that names a file names a secret, but that of the certificate.
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	s := newSettings(pflag.NewFlagSet("", pflag.ContinueOnError))
	want := map[string]string{}
	for _, row := range Table() {
		if strings.HasSuffix(row.Key, "_file") {
			s.v.Set(row.Key, row.Key+".txt")
			want[row.Key] = row.Key + ".txt"
		}
	}
	delete(want, "tls.cert_file")
	if got := s.secretFiles(); !maps.Equal(got, want) || len(want) < 6 {
		t.Errorf("files with secrets: %v, want %v", got, want)
	}
}

// TestCertificateChanges: what is in the files of the certificate changes at once, unless one of them has another name.
func TestCertificateChanges(t *testing.T) {
	t.Parallel()
	was, is := value{text: "a"}, value{text: "a", sum: [32]byte{1}}
	for _, c := range []struct {
		cert, key        value
		changed, restart []string
	}{
		{is, is, []string{certFile, certKeyFile}, []string{}},
		{is, was, []string{certFile}, []string{}},
		{is, value{text: "b"}, []string{}, []string{certFile, certKeyFile}},
		{value{text: "b"}, was, []string{}, []string{certFile}},
		{value{}, value{}, []string{}, []string{certFile, certKeyFile}},
	} {
		r := reloader{inUse: map[string]value{certFile: was, certKeyFile: was}}
		done := r.changes(map[string]value{certFile: c.cert, certKeyFile: c.key})
		if !slices.Equal(done.Changed, c.changed) || !slices.Equal(done.Restart, c.restart) {
			t.Errorf("changed %v and after a restart %v, want %v and %v", done.Changed, done.Restart, c.changed, c.restart)
		}
	}
}
