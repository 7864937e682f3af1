package api_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

// FuzzFields: each value is written as encoding/json writes it, but for characters that are special in HTML alone, and reads back.
func FuzzFields(f *testing.F) {
	for _, x := range []float64{0, math.Copysign(0, -1), 1, -1.5, 1e-7, 1e-6, 9.99e20, 1e21, math.MaxFloat64, 91240.5} {
		f.Add("priceUsd", x, int64(x), "text")
	}
	f.Add("a\"b", 1.0, int64(-1), "<&> \\ \" \u2028 \xff é\n")
	f.Fuzz(func(t *testing.T, name string, x float64, n int64, text string) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			if _, err := json.Marshal(api.Fields{{Name: name, Value: x}}); err == nil {
				t.Errorf("%v is written", x)
			}
			return
		}
		for _, value := range []any{x, n, int(n), text, true, nil, time.Unix(n%1e9, 0).UTC()} {
			got, err := json.Marshal(api.Fields{{Name: name, Value: value}})
			if err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(map[string]any{name: value})
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			if json.Unmarshal(got, &a) != nil || json.Unmarshal(want, &b) != nil || len(got) != len(want) && len(text) == 0 {
				t.Errorf("%q %v is written %s, want %s", name, value, got, want)
			}
			x, _ := json.Marshal(a)
			y, _ := json.Marshal(b)
			if string(x) != string(y) {
				t.Errorf("%q %v is written %s, want %s", name, value, got, want)
			}
		}
	})
}
