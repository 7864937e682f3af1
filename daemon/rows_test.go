package daemon_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/daemon/store/history"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/state"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// allPacks are those that the program has.
func allPacks(t testing.TB) []daemon.Pack {
	t.Helper()
	list := []daemon.Pack{{Pack: pack.Crypto()}}
	for _, id := range manifest.Shipped() {
		list = append(list, shipped(t, id))
	}
	return list
}

// TestLeafCoversWhatIsAnswered: for an hour of all packs the leaf of each newest state tells of every source that answered when it was
// asked, the hash of its document as it is kept, which is the same after a restart, and that of its rows.
func TestLeafCoversWhatIsAnswered(t *testing.T) {
	t.Parallel()
	packs := allPacks(t)
	d := daemontest.Start(t, func(cfg *daemon.Config) { cfg.Packs = packs })
	h, err := history.OpenRead(t.Context(), d.Config.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(d.URL()))
	if err != nil {
		t.Fatal(err)
	}
	before := map[string]map[string]api.LogSource{}
	for range 4 {
		d.Clock.Advance(20 * time.Minute)
		for _, p := range packs {
			if err := d.Refresh(t.Context(), p.ID); err != nil {
				t.Fatal(err)
			}
			leaf := covered(t, h, client, p.Pack, before[p.ID])
			before[p.ID] = map[string]api.LogSource{}
			for _, s := range leaf.Sources {
				before[p.ID][s.ID] = s
			}
		}
	}
}

// covered checks the leaf of the newest state of a pack, whose sources are known as they stood in the leaf before.
func covered(t *testing.T, h *history.History, client *sdk.Client, p *pack.Pack, before map[string]api.LogSource) api.LogLeaf {
	t.Helper()
	log := client.Log(p.ID)
	entry, err := log.Newest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	proven, err := sdk.VerifyEntry(*entry, "")
	if err != nil {
		t.Fatal(err)
	}
	leaf := proven.Leaf
	if leaf.Digest != p.Manifest || (leaf.Digest == "") != (p.ID == api.PackCrypto) || leaf.Every == 0 || leaf.Arch == "" {
		t.Errorf("%s: digest %q, every %v, arch %q", p.ID, leaf.Digest, leaf.Every, leaf.Arch)
	}
	news, err := h.Newer(t.Context(), p.ID, state.Mark{})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]state.SourceRecord{}
	for _, r := range news.Sources {
		kept[r.Source] = r
	}
	if len(leaf.Sources) != len(p.Sources) {
		t.Errorf("%s: the leaf tells of %d of %d sources", p.ID, len(leaf.Sources), len(p.Sources))
	}
	for _, s := range p.Sources {
		coversSource(t, s.Connector, leaf, kept[s.ID], before)
	}
	return leaf
}

func coversSource(t *testing.T, c source.Connector, leaf api.LogLeaf, kept state.SourceRecord, before map[string]api.LogSource) {
	t.Helper()
	for _, s := range leaf.Sources {
		if s.ID != c.ID {
			continue
		}
		sum := sha256.Sum256(kept.Doc)
		if s.Doc != hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the document that is kept is not that of the leaf", c.ID)
		}
		doc := c.New()
		if err := json.Unmarshal(kept.Doc, doc); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(doc)
		if err != nil || !bytes.Equal(again, kept.Doc) {
			t.Errorf("%s: after a restart its document is another: %v", c.ID, err)
		}
		if _, whole := source.RowsOf(doc); whole != (s.Rows == "") || s.RowsHash() == "" {
			t.Errorf("%s: rows %q", c.ID, s.Rows)
		}
		if s.At.IsZero() || s.At.After(s.FetchedAt) || s.FetchedAt.Sub(s.At) > time.Minute || !s.At.Equal(kept.AskedAt) {
			t.Errorf("%s: asked at %s, fetched at %s, kept as %s", c.ID, s.At, s.FetchedAt, kept.AskedAt)
		}
		was, asked := before[c.ID], !before[c.ID].At.Equal(s.At)
		switch {
		case !c.Remembers && s.From != "", c.Remembers && before != nil && asked && s.From != was.Doc:
			t.Errorf("%s: made from %q, and before it was %q", c.ID, s.From, was.Doc)
		case !asked && s.Doc != was.Doc:
			t.Errorf("%s: another document of the same attempt", c.ID)
		}
		return
	}
	t.Errorf("the leaf does not tell of %s", c.ID)
}

// TestRowOutsideOfTheStateIsProven: a saved answer of lookup and one of query hold with the log while their state is the newest, and do
// not with any value of a row changed, taken out or put in.
func TestRowOutsideOfTheStateIsProven(t *testing.T) {
	t.Parallel()
	clock := daemontest.NewClock()
	d := daemontest.Start(t, func(c *daemon.Config) { c.Now = clock.Now })
	user := newPerson(t, clock, d.URL(), d.Key(t, api.TierPro))
	fresh, _ := user.does(t, 0, "fresh", "-o", "json")
	dir := t.TempDir()
	file := filepath.Join(dir, "answer.json")
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"lookup", "stellar"}, {"query", "asset", "--where", "symbol = XLM", "--fields", "priceUsd,rank"}} {
		said, _ := user.does(t, 0, append(args, "-o", "json")...)
		if !strings.Contains(said, `"key":"stellar"`) || strings.Contains(fresh, `"stellar"`) {
			t.Fatalf("stellar is in the state, or not in the answer of %v: %s", args, said)
		}
		save(said)
		stdout, _ := user.does(t, 0, "verify", file)
		if !strings.HasPrefix(stdout, "Proven.") || !strings.Contains(stdout, "1 row of the file") ||
			!strings.Contains(stdout, "ageSeconds") {
			t.Errorf("%v: %s", args, stdout)
		}
		for was, is := range map[string]string{
			`"key":"stellar"`: `"key":"solana"`, `"kind":"asset"`: `"kind":"chain"`, `"symbol":"XLM"`: `"symbol":"XLN"`,
			`"ref":1`: `"ref":2`,
			`"rank":`: `"rank":1`, `"priceUsd":`: `"priceUsd":1`, `"name":"Stellar",`: ``, `"url":`: `"url":"x","url":`,
			`"fields":{`: `"fields":{"tvlUsd":1,`, `"stale":false`: `"stale":false,"true":true`,
			`"ageSeconds":`: `"ageSeconds":1,"ageSeconds":`,
		} {
			changed := strings.Replace(said, was, is, 1)
			if changed == said {
				t.Errorf("%v: no %s in %s", args, was, said)
			}
			save(changed)
			var out bytes.Buffer
			code, stderr := user.run(t.Context(), &out, "verify", file)
			if code == 0 || code != cli.ExitUnproven && !strings.Contains(stderr, "no row") {
				t.Errorf("%v: %s for %s: exit %d\n%s%s", args, is, was, code, out.String(), stderr)
			}
		}
		save(said)
	}
	clock.Advance(5 * time.Minute)
	if err := d.Refresh(t.Context(), api.PackCrypto); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code, stderr := user.run(t.Context(), &out, "verify", file); code == 0 || !strings.Contains(stderr, "newest one alone") {
		t.Errorf("rows of the state before: exit %d\n%s%s", code, out.String(), stderr)
	}
}

// stamped is a recording whose sources put another time into each answer.
type stamped struct{ daemon.Recording }

var stamps = regexp.MustCompile(`"(time_until_update|responseTime|processingTimeMS|serverTimeMS|usIn|usOut|usDiff)": *"?[0-9]+`)

func (s stamped) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := s.Recording.RoundTrip(req)
	if err != nil {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(stamps.ReplaceAll(body, []byte("${0}1")))), -1
	return resp, err
}

// TestStampsAreNoRows: services whose sources stamp each answer have the same rows of them, of other bodies.
func TestStampsAreNoRows(t *testing.T) {
	t.Parallel()
	leaves := [2]map[string]api.LogSource{{}, {}}
	for i := range leaves {
		d := daemontest.Start(t, func(cfg *daemon.Config) {
			if cfg.Packs = allPacks(t); i == 1 {
				cfg.Recording = stamped{cfg.Recording}
			}
		})
		client, err := sdk.New(sdk.WithoutEnv(), sdk.WithBaseURL(d.URL()))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Config.Packs {
			if err := d.Refresh(t.Context(), p.ID); err != nil {
				t.Fatal(err)
			}
			entry, err := client.Log(p.ID).Newest(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			proven, err := sdk.VerifyEntry(*entry, "")
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range proven.Leaf.Sources {
				leaves[i][s.ID] = s
			}
		}
	}
	var others []string
	for id, one := range leaves[0] {
		two := leaves[1][id]
		if one.RowsHash() != two.RowsHash() {
			t.Errorf("%s has other rows", id)
		}
		if !slices.Equal(one.Bodies, two.Bodies) {
			others = append(others, id)
		}
	}
	slices.Sort(others)
	want := "alternativeme-fng bls-indicators deribit-dvol-btc deribit-dvol-eth deribit-options-btc deribit-options-eth hacker-news"
	if got := strings.Join(others, " "); got != want {
		t.Errorf("other bodies are those of %s, not of %s", got, want)
	}
}
