package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/contextd/contextd/cmd/contextd/config"
	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/backup"
	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/brief/llm"
	"github.com/contextd/contextd/daemon/mcp"
	"github.com/contextd/contextd/daemon/pipeline"
	"github.com/contextd/contextd/daemon/web"
	"github.com/contextd/contextd/daemon/x402"
	"github.com/contextd/contextd/internal/setting"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk/api"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// load reads a configuration file.
func load(t *testing.T, file string) (*config.Config, error) {
	t.Helper()
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	l := config.NewLoader(flags)
	if err := flags.Set("config", file); err != nil {
		t.Fatal(err)
	}
	return l.Load()
}

// fileOf is a file that holds text.
func fileOf(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestGolden: the documented file, the schema, and what is in effect of a file that sets everything.
func TestGolden(t *testing.T) {
	t.Parallel()
	example, err := config.Example(nil)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := json.MarshalIndent(config.Schema(), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	c, err := load(t, filepath.Join("testdata", "full.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var full bytes.Buffer
	for _, v := range c.Effective() {
		fmt.Fprintln(&full, v.Name, v.Value, v.From)
	}
	for name, got := range map[string][]byte{"example.yaml": example, "schema.json": append(schema, '\n'), "full.txt": full.Bytes()} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is another one now; -update writes it, %v", name, err)
		}
	}
	for _, v := range c.Effective() {
		if v.From == "default" && !strings.HasPrefix(v.Name, "chain.") && !strings.HasPrefix(v.Name, "tls.") && !strings.HasSuffix(v.Name, ".url_file") {
			t.Errorf("the file that sets everything does not set %s", v.Name)
		}
	}
}

// TestDefaults: the defaults of the tags are those of the packages that the settings are for.
func TestDefaults(t *testing.T) {
	t.Parallel()
	want := map[string]any{
		"listen": api.DefaultListen, "chain.id": api.ChainIDTest, "mcp.prefix": mcp.DefaultPrefix, "web.page": web.PageOn,
		"brief.timeout": pipeline.DefaultTextWithin, "brief.llm.max_tokens": llm.DefaultMaxTokens, "brief.llm.retries": llm.DefaultRetries,
		"brief.llm.tokens_per_day": llm.DefaultTokens,
		"accounts.new_per_client":  api.NewOwnersPerClient, "accounts.new_per_day": api.NewOwnersPerDay,
		"limits.free_calls": api.FreeCallsPerDay, "limits.free_calls_per_client": api.FreePerClient, "limits.active_keys": api.MaxActiveKeys,
		"limits.sign_ins": web.DefaultSignIns, "limits.mails": web.DefaultMails, "limits.mails_per_day": web.DefaultMailsPerDay,
		"limits.requests": web.DefaultRequests, "limits.connections_per_client": web.DefaultConnectionsPerClient,
	}
	plans := billing.DefaultPlans()
	for _, tier := range api.Tiers() {
		want["tiers."+string(tier)+".snapshot"] = api.FormatSpan(plans[tier].Snapshot)
		want["tiers."+string(tier)+".volume"] = plans[tier].Volume
	}
	for _, s := range config.Table() {
		if value, named := want[s.Key]; named && fmt.Sprint(s.Default()) != fmt.Sprint(value) {
			t.Errorf("%s is %v by default, want %v", s.Key, s.Default(), value)
		}
		delete(want, s.Key)
	}
	if len(want) > 0 {
		t.Errorf("there are no settings %v", want)
	}
	for _, s := range setting.Members(reflect.TypeFor[x402.Rail]()) {
		if s.Key == "decimals" && s.Default() != int64(usdg.Decimals) {
			t.Errorf("a rail has %v decimals", s.Default())
		}
	}
	var c config.Config
	v := reflect.ValueOf(&c).Elem()
	if err := errors.Join(setting.SetDefaults(v), setting.Check(v)); err != nil {
		t.Error(err)
	}
}

// leaves are the values of a tree of settings, by their whole names.
func leaves(prefix string, tree map[string]any, into map[string]any) map[string]any {
	for name, v := range tree {
		if below, ok := v.(map[string]any); ok && len(below) > 0 {
			leaves(prefix+name+".", below, into)
			continue
		}
		into[prefix+name] = v
	}
	return into
}

// same reports whether two values are the same as JSON.
func same(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// TestExampleIsTheDefaults whether its settings are left commented out or not.
func TestExampleIsTheDefaults(t *testing.T) {
	t.Parallel()
	text, err := config.Example(nil)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := config.Parse(text)
	for _, s := range config.Table() {
		if err != nil || lines[s.Key] > 0 && !s.Section() {
			t.Errorf("the example sets %s, %v", s.Key, err)
		}
	}
	open := regexp.MustCompile(`(?m)^( *)#([a-z_]+: )`).ReplaceAll(text, []byte("$1$2"))
	if lines, err = config.Parse(open); err != nil {
		t.Fatalf("the example with all of it set: %v\n%s", err, open)
	}
	var tree map[string]any
	if err := yaml.Unmarshal(open, &tree); err != nil {
		t.Fatal(err)
	}
	got := leaves("", tree, map[string]any{})
	for _, s := range config.Table() {
		if lines[s.Key] == 0 {
			t.Errorf("the example has no %s", s.Key)
		}
		if !s.Section() && !same(got[s.Key], s.Default()) {
			t.Errorf("%s is %v in the example, %v by default", s.Key, got[s.Key], s.Default())
		}
		delete(got, s.Key)
	}
	for name := range got {
		t.Errorf("the example has %s, which is no setting", name)
	}
}

func TestExampleKeepsWhatIsSet(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"127.0.0.1:0", "yes", "1", "#", "a: b", "", "null", "~/x", "'", "\"", "unix:/run/x"} {
		text, err := config.Example(map[string]any{"data_dir": value})
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := yaml.Unmarshal(text, &tree); err != nil || tree["data_dir"] != value {
			t.Errorf("%q is %#v in the file, %v", value, tree["data_dir"], err)
		}
		if lines, err := config.Parse(text); err != nil || lines["data_dir"] == 0 || lines["listen"] != 0 {
			t.Errorf("%q: the file sets %v, %v", value, lines, err)
		}
	}
}

func TestParseIsStrict(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "",
		"# nothing":                      "",
		"chain:\nlimits: {}":             "",
		"listen: 127.0.0.1:1":            "",
		"limits: {mails: null}":          "",
		"x: &a [b]\ntrusted_proxies: *a": "line 1: there is no setting x",
		"listn: x":                       "line 1: there is no setting listn; did you mean listen?",
		"Listen: x":                      "did you mean listen?",
		"\nlog: {levle: debug}":          "line 2: there is no setting log.levle; did you mean log.level?",
		"level: debug":                   "did you mean log.level?",
		"smtp: {level: debug}":           "did you mean log.level?",
		"dataDir: x":                     "did you mean data_dir?",
		"chain: {contract: x}":           "there is no setting chain.contract; chain has id, rpc_url, rpc_url_file, settle_key_file, token, treasury",
		"kubernetes: x":                  "contextd config example shows all there are",
		"limits: {mails: many}":          "line 1: limits.mails is not a whole number",
		"limits: {mails: 1.5}":           "not a whole number",
		"limits: 5":                      "limits is not a list of settings",
		"listen: {a: b}":                 "listen is not a text",
		"trusted_proxies: 10.0.0.0/8":    "trusted_proxies is not a list",
		"trusted_proxies: [{a: b}]":      "trusted_proxies is not a list",
		"alerts: []":                     "",
		"alerts: [{name: a, ended: true, kinds: [b], mail: [c]}]": "",
		"alerts: {name: a}":                "line 1: alerts is not a list of entries",
		"alerts: [a]":                      "line 1: alerts[0] is not a list of settings",
		"alerts:\n- {name: a}\n- {nam: b}": "line 3: there is no setting alerts[1].nam; it has name, pack, type, severity, kinds",
		"alerts: [{ended: maybe}]":         "line 1: alerts[0].ended is not true or false",
		"alerts: [{mail: a@b.c}]":          "line 1: alerts[0].mail is not a list",
		"alerts:\n- name: a\n  name: b":    "line 3: alerts[0].name is set in line 2 already",
		"listen: a\nlisten: b":             "line 2: listen is set in line 1 already",
		"- listen":                         "the file is not a list of settings",
		"listen: [":                        "no YAML: ",
		"listn: x\nlimits: {mail: x}":      "line 2: there is no setting limits.mail; did you mean limits.mails?",
	} {
		_, err := config.Parse([]byte(text))
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestTableIsExplained(t *testing.T) {
	t.Parallel()
	for _, s := range config.Table() {
		if s.Doc == "" && !strings.HasPrefix(s.Key, "tiers.") {
			t.Errorf("%s is not explained", s.Key)
		}
	}
}

func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "smtp-password"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, set := range []string{"", dir} {
		t.Setenv("CREDENTIALS_DIRECTORY", set)
		c, err := load(t, file)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range c.Effective() {
			want, from := "", "default"
			if set != "" && v.Name == "smtp.password_file" {
				want, from = filepath.Join(dir, "smtp-password"), "credential smtp-password"
			}
			if strings.HasSuffix(v.Name, "_file") && (v.Value != want || v.From != from) {
				t.Errorf("with %q, %s is %q from %s, want %q from %s", set, v.Name, v.Value, v.From, want, from)
			}
		}
	}
}

// TestSecretFiles: every setting that names a file names a secret, but that of the certificate.
func TestSecretFiles(t *testing.T) {
	t.Parallel()
	c := new(config.Config)
	want := map[string]string{}
	for _, row := range config.Table() {
		if strings.HasSuffix(row.Key, "_file") {
			row.In(reflect.ValueOf(c).Elem()).SetString(row.Key + ".txt")
			want[row.Key] = row.Key + ".txt"
		}
	}
	c.Alerts = []config.Alert{{Name: "a", URLFile: "url"}}
	c.Rails = []x402.Rail{{ID: "b"}, {ID: "c"}}
	c.Rails[1].Settle.KeyFile = "key"
	want["alerts a: url_file"], want["rails c: settle.key_file"] = "url", "key"
	delete(want, "tls.cert_file")
	if got := c.SecretFiles(); !maps.Equal(got, want) || len(want) < 8 {
		t.Errorf("files with secrets: %v, want %v", got, want)
	}
}

// TestInUse: what changes at once is told from what a restart changes; values that are the same are neither, nor are files.
func TestInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, one := range map[string]struct {
		change           func(c *config.Config)
		changed, restart []string
	}{
		"nothing":     {func(*config.Config) {}, nil, nil},
		"live":        {func(c *config.Config) { c.Log.Level, c.Limits.Mails = "debug", 3 }, []string{"log.level", "limits.mails"}, nil},
		"not live":    {func(c *config.Config) { c.Hosts, c.Brief.At = []string{"x"}, "06:30" }, nil, []string{"hosts", "brief.at"}},
		"entries":     {func(c *config.Config) { c.Alerts = []config.Alert{{Name: "b"}} }, []string{"alerts"}, nil},
		"in a file":   {func(*config.Config) { write("url", "https://other.example.org") }, []string{"alerts"}, nil},
		"of a secret": {func(*config.Config) { write("password", "other") }, nil, []string{"smtp.password_file"}},
		"certificate": {func(*config.Config) { write("cert", "b"); write("key", "b") }, []string{"tls.cert_file", "tls.key_file"}, nil},
		"its text":    {func(*config.Config) { write("cert", "b") }, []string{"tls.cert_file"}, nil},
		"other key":   {func(c *config.Config) { write("cert", "b"); c.TLS.KeyFile = write("key2", "b") }, nil, []string{"tls.cert_file", "tls.key_file"}},
		"other cert":  {func(c *config.Config) { c.TLS.CertFile = write("cert2", "b") }, nil, []string{"tls.cert_file"}},
		"none":        {func(c *config.Config) { c.TLS.CertFile, c.TLS.KeyFile = "", "" }, nil, []string{"tls.cert_file", "tls.key_file"}},
	} {
		c := new(config.Config)
		if err := setting.SetDefaults(reflect.ValueOf(c).Elem()); err != nil {
			t.Fatal(err)
		}
		c.TLS.CertFile, c.TLS.KeyFile = write("cert", "a"), write("key", "a")
		c.Alerts, c.SMTP.PasswordFile = []config.Alert{{Name: "a", URLFile: write("url", "https://example.org")}}, write("password", "a")
		was := c.InUse()
		one.change(c)
		now, changed, restart := was.After(c.InUse())
		if !slices.Equal(changed, one.changed) || !slices.Equal(restart, one.restart) {
			t.Errorf("%s: changed %v and after a restart %v, want %v and %v", name, changed, restart, one.changed, one.restart)
		}
		if _, again, _ := now.After(c.InUse()); len(again) > 0 {
			t.Errorf("%s: %v changed twice", name, again)
		}
	}
}

const (
	someToken    = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
	someTreasury = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
)

// configured is what the daemon would be started with by a configuration file, and the settings that were read.
func configured(t *testing.T, text string) (daemon.Config, *config.Config, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"config.yaml": strings.ReplaceAll(text, "DIR", dir), "gas.key": "0x" + strings.Repeat("01", 32), "rpc.url": "https://rpc.example.org/secret\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"group.key": 0o640, "open.key": 0o604} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(file, []byte("0x"+strings.Repeat("01", 32)), 0o600), os.Chmod(file, mode)); err != nil {
			t.Fatal(err)
		}
	}
	c, err := load(t, filepath.Join(dir, "config.yaml"))
	if err != nil {
		return daemon.Config{}, c, err
	}
	d, err := c.Daemon(nil)
	if err == nil {
		err = d.Check()
	}
	return d, c, err
}

// railText is a rail with some settings more, or others.
func railText(id string, chain int, more string) string {
	return fmt.Sprintf("- {id: %s, chain_id: %d, rpc_url: \"https://rpc.example.org\", token: %q, treasury: %q%s}\n", id, chain, someToken, someTreasury, more)
}

// TestRails reads a list of rails, and the one chain that is a list of one.
func TestRails(t *testing.T) {
	t.Parallel()
	d, c, err := configured(t, "rails:\n"+railText("l2chain", 4663, ", network: l2chain, settle: {key_file: DIR/gas.key}")+
		railText("base", 8453, `, decimals: 6, domain: {name: USD Coin, version: "2"}, confirmations: 3, start_block: 7, settle: {key_file: DIR/gas.key}`))
	if err != nil {
		t.Fatal(err)
	}
	list := d.Rails()
	if len(list) != 2 || d.ChainID != api.ChainIDMain || list[0].ID != api.NetworkL2 || list[0].ChainID != api.ChainIDMain || list[0].Domain.Name != "Global Dollar" ||
		list[0].Domain.Version != "1" || list[0].SettleKey == "" {
		t.Fatalf("the rails are %+v", list)
	}
	if r := list[1]; r.ID != "base" || r.ChainID != 8453 || r.Domain.Name != "USD Coin" || r.Domain.Version != "2" || r.Confirmations != 3 || r.StartBlock != 7 ||
		r.Section != "rails[1]" || r.RPCURL != "https://rpc.example.org" || r.Token != someToken || r.Treasury != someTreasury {
		t.Errorf("the second rail is %+v", r)
	}
	for _, v := range c.Effective() {
		if v.Name == "rails" {
			if text := fmt.Sprint(v.Value); !strings.Contains(text, "base (eip155:8453, token "+someToken) || strings.Contains(text, "rpc.example") || v.From != "file, line 1" {
				t.Errorf("in effect is %s, from %s", text, v.From)
			}
		}
	}
	if files := c.SecretFiles(); files["rails base: settle.key_file"] == "" {
		t.Errorf("the files with secrets are %v", files)
	}
	d, _, err = configured(t, fmt.Sprintf("chain: {id: 4663, rpc_url_file: DIR/rpc.url, token: %q, treasury: %q}\n", someToken, someTreasury))
	if list := d.Rails(); err != nil || len(list) != 1 || list[0].ID != api.NetworkL2 || list[0].ChainID != api.ChainIDMain || list[0].RPCURL != "https://rpc.example.org/secret" {
		t.Errorf("the chain is %+v, %v", list, err)
	}
}

// TestBadRails refuses each thing that is wrong by its name.
func TestBadRails(t *testing.T) {
	t.Parallel()
	good := railText("l2chain", 4663, "")
	for text, want := range map[string]string{
		"rails:\n" + good + "chain: {id: 46630}\n":                                                                       "chain.id and rails both say where payments are made",
		"chain: {}\nrails:\n" + good:                                                                                     "",
		"rails:\n" + railText("l2chain", 4663, ", decimals: 18"):                                                         "rails[0].decimals is 18",
		"rails:\n" + railText("l2chain", 4663, ", decimals: 0"):                                                          "rails[0].decimals is 0",
		"rails:\n" + railText("L2", 4663, ""):                                                                            `rails[0].id is "L2"`,
		"rails:\n" + good + good:                                                                                         "rails[1].id",
		"rails:\n" + good + railText("base", 8453, ", network: l2chain"):                                                 `rails[1].network is "l2chain"`,
		"rails:\n" + railText("base", 8453, ", network: base"):                                                           `rails[0].network is "base"`,
		"rails:\n" + good + railText("base", 8453, "") + railText("b2", 1, ", network: base"):                            "rails[2].network",
		"rails:\n" + good + railText("again", 4663, ""):                                                                  "the same token on the same chain",
		"rails:\n" + good + railText("base", 0, ""):                                                                      "rails[1] needs chain_id",
		"rails:\n" + good + railText("base", 8453, ", settle: {key_file: DIR/gas.key}"):                                  "rails[1].domain needs name and version",
		"rails:\n" + good + railText("base", 8453, ", domain: {name: x}"):                                                "rails[1].domain needs name and version",
		"rails:\n" + good + railText("base", 8453, ", settle: {key_file: a, facilitator_url: b}"):                        "rails[1].settle has key_file and facilitator_url",
		"rails:\n" + good + railText("base", 8453, ", domain: {name: x, version: y}, settle: {facilitator_url: b}"):      "rails[1].settle.facilitator_url",
		"rails:\n" + good + railText("base", 8453, ", settle: {facilitator_url: b}"):                                     "rails[1].domain",
		"rails:\n" + good + railText("base", 8453, ", rpc_url_file: DIR/rpc.url"):                                        "rails[1].rpc_url and rails[1].rpc_url_file",
		"rails:\n" + good + railText("base", 8453, ", confirmations: -1"):                                                "rails[1].confirmations",
		"rails:\n" + railText("l2chain", 4663, ", settle: {key_file: DIR/rpc.url}"):                                      "holds no key",
		"rails:\n" + railText("l2chain", 4663, ", settle: {key_file: DIR/group.key}"):                                    "",
		"rails:\n" + railText("l2chain", 4663, ", settle: {key_file: DIR/open.key}"):                                     "rails[0].settle.key_file: everybody can read",
		"rails:\n" + railText("l2chain", 4663, ", settle: {key: a}"):                                                     "there is no setting rails[0].settle.key; it has key_file, facilitator_url",
		"rails:\n" + railText("l2chain", 4663, ", domain: a"):                                                            "rails[0].domain is not a list of settings",
		"rails:\n- {id: l2chain, chain_id: 4663, rpc_url: \"https://a\", token: 0x12, treasury: " + someTreasury + "}\n": "rails[0].token",
	} {
		_, _, err := configured(t, text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestGasSettings reads what gas may cost, on both sides of each bound.
func TestGasSettings(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		percent              int64
		reverts, ether, want string // of the error
	}{
		{100, "0.002", "state", ""}, {0, "0", "", ""}, {-1, "0", "", "gas.max_percent"}, {1, "0.000000000000000001", "3000.5", ""},
		{1, "0.0000000000000000001", "", "gas.revert_budget"}, {1, "-1", "", "gas.revert_budget"}, {1, "", "", "gas.revert_budget"},
		{1, "1e3", "", "gas.revert_budget"}, {1, ".5", "", "gas.revert_budget"}, {1, "1.", "", "gas.revert_budget"},
		{1, "1", "0", "gas.ether_usd"}, {1, "1", "-3", "gas.ether_usd"}, {1, "1", "0.0000001", "gas.ether_usd"}, {1, "1", "0.000001", ""},
	} {
		_, _, err := configured(t, fmt.Sprintf("gas: {max_percent: %d, revert_budget: %q, ether_usd: %q}", one.percent, one.reverts, one.ether))
		if (err == nil) != (one.want == "") || err != nil && !strings.Contains(err.Error(), one.want) {
			t.Errorf("%+v: %v", one, err)
		}
	}
	d, _, err := configured(t, `gas: {revert_budget: "0.002", ether_usd: "3184.25"}`)
	if g := d.Gas; err != nil || g.Reverts.Cmp(big.NewInt(2e15)) != 0 || g.EtherMicros != 3_184_250_000 || g.ByState {
		t.Errorf("%+v, %v", g, err)
	}
}

// TestBackups: a daemon on SQLite backs itself up within bounds, unless that is switched off or left to others; who has set it up before
// keeps what they have.
func TestBackups(t *testing.T) {
	t.Parallel()
	const day, bound = 24 * time.Hour, 4096 << 20
	for text, want := range map[string]daemon.Backup{
		"":                                      {Every: day, Within: backup.Bounds{Keep: 7, Bytes: bound}},
		"backup: {every: ''}":                   {Every: day, Within: backup.Bounds{Keep: 7, Bytes: bound}},
		"backup: {max_mb: 1}":                   {Every: day, Within: backup.Bounds{Keep: 7, Bytes: 1 << 20}},
		"backup: {keep: 0}":                     {Every: day},
		"backup: {every: off}":                  {Within: backup.Bounds{Keep: 7}},
		"backup: {every: 7d, dir: /b, keep: 2}": {Dir: "/b", Every: 7 * day, Within: backup.Bounds{Keep: 2}},
		"litestream: true":                      {Within: backup.Bounds{Keep: 7}},
		"store: {url: postgres://x@y/z}":        {Within: backup.Bounds{Keep: 7}},
		"store: {url_file: /f}":                 {Within: backup.Bounds{Keep: 7}},
	} {
		c, err := load(t, fileOf(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Backups(); err != nil || got != want {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, every := range []string{"59s", "daily", "0"} {
		c, err := load(t, fileOf(t, "backup: {every: '"+every+"'}"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Backups(); err == nil {
			t.Errorf("backup.every %s is taken", every)
		}
	}
}
