package manifest_test

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/brief"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/pack/manifest"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/handbook"
)

// packsTopic is the topic of the handbook about manifests.
func packsTopic(t *testing.T) string {
	t.Helper()
	for _, topic := range handbook.Topics() {
		if topic.Name == "packs" {
			return topic.Text
		}
	}
	t.Fatal("the handbook has no topic about packs")
	return ""
}

// TestManifestShown makes the pack that the handbook shows, of an answer in the shape of its source.
func TestManifestShown(t *testing.T) {
	t.Parallel()
	shown := regexp.MustCompile("(?s)\n```yaml manifest\n(.*?)```").FindStringSubmatch(packsTopic(t))
	m, err := manifest.Read([]byte(shown[1]), false)
	if err != nil {
		t.Fatal(err)
	}
	e, err := manifest.NewLocal(m)
	if err != nil {
		t.Fatal(err)
	}
	p, w, err := m.Make(e)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	quake := func(id, where string, magnitude string) string {
		return `{"type":"Feature","id":"` + id + `","properties":{"mag":` + magnitude + `,"place":"` + where +
			`","time":1795204800000,"url":"https://earthquake.usgs.gov/earthquakes/eventpage/` + id + `"},"geometry":{"coordinates":[1,2,10.5]}}`
	}
	body := `{"type":"FeatureCollection","features":[` + quake("us1", "10 km N of Nowhere", "4.6") + "," +
		quake("us2", "off the coast", "6.3") + "," + quake("us3", "133 km SSE of Somewhere, Alaska", "5.9") + "," + quake("us4", "Tonga",
		"4.2") + "]}"
	transport := answers(func(*http.Request) string { return body })
	f := source.NewFetcher(source.Config{Now: func() time.Time { return now }, Transport: transport})
	out := f.Fetch(t.Context(), p.Sources[0].Connector, nil)
	if out.Err != nil || out.Dropped != 0 {
		t.Fatal(out.Err, out.Dropped)
	}
	in := pack.Input{Readings: map[string]pack.Reading{"usgs-day": {Doc: out.Doc, FetchedAt: now}}, Now: now}
	state, err := p.Compact(in)
	const row = `"name":"off the coast","magnitude":6.3,"depthKm":10.5,"struckAt":"2026-11-20T20:00:00Z"`
	if err != nil || !strings.Contains(string(state), row) {
		t.Errorf("state %s, %v", state, err)
	}
	about := brief.Input{Pack: p.ID, State: read(state), Citations: p.Citations(read(state), p.Status(in), now)}
	draft, err := w.Write(t.Context(), about)
	const told = "Magnitude 6.3, off the coast [1].\n\n" +
		"The strongest quakes of the day: 6.3 off the coast, 5.9 133 km SSE of Somewhere, Alaska and 4.6 10 km N of Nowhere [1]."
	if wrong := brief.Check(draft.Text, about); len(wrong) > 0 {
		t.Error(wrong)
	}
	if err != nil || draft.Text != told {
		t.Errorf("brief %q, %v", draft.Text, err)
	}
	tables := p.Tables(in)
	for q, want := range map[string]string{"nowhere strength": "us1 magnitude", "quakes": "us1 ", "nowhere depth": "us1 depthKm"} {
		found := tables.Lookup(q, "", 1)
		if len(found.Rows) != 1 || found.Rows[0].Key+" "+strings.Join(found.Rows[0].Asked, " ") != want {
			t.Errorf("%q finds %+v, want %s", q, found, want)
		}
	}
}

// TestReference: the handbook has every setting of a manifest, in the order of the manifest, and no other.
func TestReference(t *testing.T) {
	t.Parallel()
	_, text, _ := strings.Cut(packsTopic(t), "\n## Reference\n")
	tables := regexp.MustCompile(`(?m)^(?:An?|Its|The) [^|]*:\n\n\| setting.*\n.*\n((?:\|.*\n)+)`).FindAllStringSubmatch(text, -1)
	var got [][]string
	for _, table := range tables {
		var names []string
		for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(table[1], -1) {
			names = append(names, row[1])
		}
		got = append(got, names)
	}
	var want [][]string
	for _, v := range []any{
		manifest.Manifest{}, manifest.Source{}, manifest.Use{}, manifest.Request{}, manifest.Field{},
		manifest.Kind{}, manifest.Member{}, manifest.Flag{},
		manifest.Say{},
	} {
		var names []string
		for _, f := range reflect.VisibleFields(reflect.TypeOf(v)) {
			if name, _, _ := strings.Cut(f.Tag.Get("key"), ","); name != "" {
				names = append(names, name)
			}
		}
		want = append(want, names)
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("the handbook has\n%q\nand the manifest\n%q", got, want)
	}
}
