package beacon_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/internal/beacon"
	"github.com/contextd/contextd/sdk/api"
)

// A round of quicknet as it is published.
const (
	randomness = "fe290beca10872ef2fb164d2aa4442de4566183ec51c56ff3cd603d930e54fdd"
	signature  = "b44679b9a59af2ec876b1a6b1ad52ea9b1615fc3982b19576350f93447cb1125e342b73a8dd2bacbe47e4b6b63ed5e39"
)

func round1000() beacon.Round {
	return beacon.Round{Chain: beacon.Networks()[0].Chain, Number: 1000, Signature: signature}
}

// TestNetworks computes the hash of each chain from what is known of it: the times of its rounds are then those of the network.
func TestNetworks(t *testing.T) {
	t.Parallel()
	seeds := map[string]string{"quicknet": "f477d5c89f21a17c863a7f937c6a6d15859414d2be09cd448d4279af331c5d3e"}
	for _, n := range beacon.Networks() {
		key, err := hex.DecodeString(n.Key)
		seed, seedErr := hex.DecodeString(seeds[n.Name])
		if err != nil || seedErr != nil {
			t.Fatal(err, seedErr)
		}
		info := binary.BigEndian.AppendUint32(nil, uint32(n.Period/time.Second))
		info = binary.BigEndian.AppendUint64(info, uint64(n.Genesis))
		info = append(append(append(info, key...), seed...), n.Name...)
		if sum := sha256.Sum256(info); hex.EncodeToString(sum[:]) != n.Chain {
			t.Errorf("%s: its chain is %x", n.Name, sum)
		}
	}
}

// TestVerify takes the round that the network signed, and none with any byte changed.
func TestVerify(t *testing.T) {
	t.Parallel()
	good := *round1000().Value()
	r, err := beacon.Parse(good)
	if err != nil {
		t.Fatal(err)
	}
	n, at, err := r.Verify()
	if err != nil || n.Name != "quicknet" || !at.Equal(time.Date(2023, 8, 23, 15, 59, 24, 0, time.UTC)) {
		t.Errorf("%s, %s, %v", n.Name, at, err)
	}
	for i := range good.Value {
		bad := []byte(good.Value)
		bad[i] ^= 1
		r, err := beacon.Parse(api.LogNotBefore{Kind: good.Kind, Value: string(bad)})
		if err == nil {
			_, _, err = r.Verify()
		}
		if err == nil {
			t.Errorf("byte %d changed: %s", i, bad)
		}
	}
	for _, bad := range []api.LogNotBefore{
		{}, {Kind: "bitcoin", Value: good.Value}, {Kind: "drand"}, {Kind: "drand", Value: good.Value + "/"}, {Kind: "drand", Value: "/1/"},
		{Kind: "drand", Value: strings.Replace(good.Value, "/1000/", "/01000/", 1)},
		{Kind: "drand", Value: strings.Replace(good.Value, "/1000/", "/0/", 1)},
		{Kind: "drand", Value: strings.Replace(good.Value, "/1000/", "/18446744073709551615/", 1)},
		{Kind: "drand", Value: strings.ToUpper(good.Value)},
		{Kind: "drand", Value: strings.Replace(good.Value, "b4", "B4", 1)},
	} {
		r, err := beacon.Parse(bad)
		if err == nil {
			_, _, err = r.Verify()
		}
		if !errors.Is(err, beacon.ErrUnknown) && !errors.Is(err, beacon.ErrFalse) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestAsk asks beacons that answer well, and in all ways that are none.
func TestAsk(t *testing.T) {
	t.Parallel()
	var status int
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	known := s.URL + "/" + round1000().Chain + "/public/latest"
	unknown := s.URL + "/" + strings.Repeat("0", 64) + "/public/latest"
	good := fmt.Sprintf(`{"round":1000,"randomness":%q,"signature":%q,"more":1}`, randomness, signature)
	other := strings.Replace(good, "1000", "1001", 1)
	for what, c := range map[string]struct {
		url    string
		status int
		body   string
		want   string // in the error; "" for none
	}{
		"good":                        {known, 200, good, ""},
		"of another round":            {known, 200, other, beacon.ErrFalse.Error()},
		"of an unknown network":       {unknown, 200, other, ""},
		"no signature":                {unknown, 200, `{"round":1000,"randomness":"` + randomness + `"}`, "not the hash"},
		"another randomness":          {unknown, 200, strings.Replace(good, "fe29", "fe28", 1), "not the hash"},
		"no JSON":                     {known, 200, "<html>", "not a round"},
		"no round":                    {known, 200, "{}", "not a round"},
		"too long":                    {known, 200, `{"more":"` + strings.Repeat(" ", 16<<10) + `",` + good[1:], "not a round"},
		"a failure":                   {known, 503, good, "503"},
		"an address without a chain":  {s.URL + "/public/latest", 200, good, "such as https://api.drand.sh"},
		"an address with a query":     {known + "?key=1", 200, good, "such as https://api.drand.sh"},
		"an address with a pass word": {strings.Replace(known, "://", "://a:b@", 1), 200, good, "such as https://api.drand.sh"},
	} {
		status, body = c.status, c.body
		r, err := beacon.Ask(t.Context(), s.Client(), c.url)
		if c.want == "" && (err != nil || r.Signature != signature) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
}
