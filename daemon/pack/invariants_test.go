package pack_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk/api"
)

// failer is what checkState reports to: a test or a rapid property.
type failer interface {
	Helper()
	Errorf(format string, args ...any)
}

// checkState checks what holds for every state of the crypto pack.
func checkState(t failer, data []byte, s api.CryptoState) {
	t.Helper()
	var small bytes.Buffer
	if err := json.Compact(&small, data); err != nil || small.Len() != len(data) {
		t.Errorf("not compact JSON (%v): %d bytes could be %d", err, len(data), small.Len())
	}
	if len(data) > pack.MaxState {
		t.Errorf("%d bytes", len(data))
	}
	if bytes.Contains(data, []byte(`":null`)) {
		var lists map[string]json.RawMessage
		if err := json.Unmarshal(data, &lists); err != nil {
			t.Errorf("members: %v", err)
		}
		for name, member := range lists {
			if string(member) == "null" {
				t.Errorf("%s is null", name)
			}
		}
	}
	checkIDs(t, s)
	checkCounts(t, s)
	checkNumbers(t, "", "", reflect.ValueOf(s))
}

func checkIDs(t failer, s api.CryptoState) {
	t.Helper()
	seen := make(map[string]bool)
	note := func(member, id string) {
		if seen[member+" "+id] || id == "" {
			t.Errorf("%s: id %q is empty or not unique", member, id)
		}
		seen[member+" "+id] = true
	}
	for _, r := range s.TopMovers {
		note("movers "+r.Group, r.ID)
	}
	for _, r := range s.ProtocolTVL {
		note("protocols "+r.Group, r.ID)
	}
	for _, r := range s.TrendingPools {
		note("pools", r.ID)
	}
	for _, r := range s.Sentiment.Predictions {
		note("predictions", r.ID)
	}
	for _, r := range s.Narratives {
		note("narratives", r.ID)
	}
	for _, r := range s.Flags {
		note("flags", r.ID)
	}
	for _, r := range s.SourceStatus {
		note("status", r.ID)
	}
}

func checkCounts(t failer, s api.CryptoState) {
	t.Helper()
	count := make(map[string]int)
	for _, r := range s.TopMovers {
		count[r.Group]++
	}
	for _, r := range s.ProtocolTVL {
		count["protocol "+r.Group]++
	}
	count["pools"], count["predictions"] = len(s.TrendingPools), len(s.Sentiment.Predictions)
	count["narratives"], count["flags"], count["status"] = len(s.Narratives), len(s.Flags), len(s.SourceStatus)
	for _, n := range s.Narratives {
		count["headlines"] = max(count["headlines"], len(n.Headlines))
	}
	limits := map[string]int{
		api.GroupMajor: 5, api.GroupGainer: 8, api.GroupLoser: 8, "protocol " + api.GroupTop: 12, "protocol " + api.GroupMover: 6,
		"protocol " + api.GroupChain: 6, "pools": 12, "predictions": 4, "narratives": 8, "headlines": 2, "flags": 20, "status": 18,
	}
	for name, n := range count {
		if limit, ok := limits[name]; !ok || n > limit {
			t.Errorf("%s: %d rows, at most %d", name, n, limit)
		}
	}
	if len(s.SourceStatus) != 18 {
		t.Errorf("%d sources", len(s.SourceStatus))
	}
}

// checkNumbers checks the roundings by the names of members, that every ref is an anchor and that no list is null.
func checkNumbers(t failer, path, name string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			checkNumbers(t, path, name, v.Elem())
		}
	case reflect.Slice:
		if v.IsNil() {
			t.Errorf("%s is null", path)
		}
		for i := range v.Len() {
			checkNumbers(t, path, name, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if absent := v.Field(i).IsZero() && strings.HasSuffix(f.Tag.Get("json"), ",omitempty"); f.IsExported() && !absent {
				checkNumbers(t, path+"."+f.Name, f.Name, v.Field(i))
			}
		}
	case reflect.Int:
		if (name == "Ref" || name == "Sources") && (v.Int() < 1 || v.Int() > 18) {
			t.Errorf("%s is %d", path, v.Int())
		}
	case reflect.Float64:
		if x := v.Float(); !rounded(name, x) {
			t.Errorf("%s is %v: not rounded", path, x)
		}
	}
}

func rounded(name string, x float64) bool {
	if math.Signbit(x) && x == 0 {
		return false
	}
	switch {
	case strings.HasSuffix(name, "Gwei"):
		return human.Round(x, 3) == x
	case strings.HasSuffix(name, "Pct"), name == "Value", name == "BTCFastestSatVb":
		return human.Round(x, 2) == x || x == math.Trunc(x)
	case name == "PriceUSD":
		return *human.RoundPrice(&x) == x
	case name == "Score", name == "Probability":
		return x >= 0 && x <= 1 && human.Round(x, 3) == x
	}
	return name == "Threshold"
}
