package pack_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/source"
	"github.com/contextd/contextd/internal/chance"
	"github.com/contextd/contextd/internal/long"
	"github.com/contextd/contextd/sdk/api"
)

// drawDoc fills doc with random values by reflection: lists of up to rows rows, numbers of every size, times around now, texts
// that the connectors let pass, few enough that ids repeat.
func drawDoc(t *rapid.T, doc source.Doc, rows int) {
	fill(t, reflect.ValueOf(doc).Elem(), rows)
}

func fill(t *rapid.T, v reflect.Value, rows int) {
	if at, ok := v.Addr().Interface().(*time.Time); ok {
		*at = now.Add(time.Duration(rapid.Int64Range(-10*24*3600, 3600).Draw(t, "seconds")) * time.Second)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.IntRange(0, 3).Draw(t, "nil") > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), rows)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i), rows)
		}
	case reflect.Slice:
		n := rapid.IntRange(0, rows).Draw(t, "rows")
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i), 3)
		}
	case reflect.String:
		v.SetString(drawText(t))
	case reflect.Float64:
		v.SetFloat(drawNumber(t))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(0, 1<<31).Draw(t, "whole"))
	}
}

func drawText(t *rapid.T) string {
	switch rapid.IntRange(0, 3).Draw(t, "kind of text") {
	case 0:
		return rapid.SampledFrom([]string{
			"", "bitcoin", "ethereum", "solana", "tether", "weth", "peggedUSD", "peggedEUR", "CEX", "privacy-coins", "Zcash", "zcash",
			`a "b" \ c`, "Zcash & <privacy coins>", "😀😀😀", "chain two",
		}).Draw(t, "known")
	case 1:
		return rapid.StringN(0, 48, 160).Draw(t, "any")
	}
	return rapid.StringMatching("[a-z]{1,3}").Draw(t, "short")
}

func drawNumber(t *rapid.T) float64 {
	x := rapid.SampledFrom([]float64{0, 0.005, 0.5, 0.9949999, 1, 1.005, 10, 17, 20, 35, 99.995, 1e6, 25e6, 5e8, 1e12, 1e18, 1e-12}).Draw(t, "size")
	x *= rapid.Float64Range(0.5, 2).Draw(t, "factor")
	if x > 0 && rapid.IntRange(0, 3).Draw(t, "sign") == 0 {
		return -x
	}
	return x
}

// drawInput draws readings of every kind: good, late, failed, dropped, never answered.
func drawInput(t *rapid.T) pack.Input {
	in := pack.Input{Readings: make(map[string]pack.Reading), Now: now}
	for _, s := range pack.Crypto().Sources {
		var r pack.Reading
		if rapid.IntRange(0, 9).Draw(t, "answered") > 0 {
			r.Doc = s.New()
			drawDoc(t, r.Doc, 30)
			age := rapid.SampledFrom([]time.Duration{0, time.Minute, 15 * time.Minute, 20 * time.Minute, time.Hour, 100 * time.Hour}).Draw(t, "age")
			r.FetchedAt = now.Add(-age)
		}
		if rapid.IntRange(0, 4).Draw(t, "failed") == 0 {
			r.Failures, r.Err = rapid.IntRange(0, 9).Draw(t, "failures"), rapid.String().Draw(t, "error")
		}
		in.Readings[s.ID] = r
	}
	return in
}

func TestAnyReadingsMakeAGoodState(t *testing.T) {
	t.Parallel()
	long.Test(t)
	p := pack.Crypto()
	chance.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		before, err := json.Marshal(docs(in))
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.Compact(in)
		if err != nil {
			t.Fatal(err)
		}
		var s api.CryptoState
		if err := json.Unmarshal(data, &s); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		checkState(t, data, s)
		for i := range 3 { // the first has no state before, the others have their own
			again, err := p.Compact(in)
			if err != nil || !bytes.Equal(again, data) {
				t.Fatalf("%d: %v\n%s\nwant\n%s", i, err, again, data)
			}
			in.Prev = read(data)
		}
		next := drawInput(t)
		next.Prev, next.Now = read(data), now.Add(5*time.Minute)
		data, err = p.Compact(next)
		s = api.CryptoState{}
		if err != nil || json.Unmarshal(data, &s) != nil {
			t.Fatalf("after another state: %v\n%s", err, data)
		}
		checkState(t, data, s)
		if after, _ := json.Marshal(docs(in)); !bytes.Equal(after, before) {
			t.Error("the readings were changed")
		}
		for id, excerpt := range p.Excerpts(read(data)) {
			if excerpt == "" || len(p.Excerpts(read(data))) > len(p.Sources) {
				t.Errorf("%s: excerpt %q", id, excerpt)
			}
		}
	})
}

// docs is all that Compact was given.
func docs(in pack.Input) map[string]source.Doc {
	all := make(map[string]source.Doc)
	for id, r := range in.Readings {
		all[id] = r.Doc
	}
	return all
}
