// Package beacon reads rounds of public beacons: values that nobody can know before their time, so that what holds one was made after it.
//
// The rounds of drand are signed by a network of independent parties, each at its own time. Those of a known network are verified offline.
package beacon

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/contextd/contextd/sdk/api"
)

// Kind is that of a value which is a round of a drand network: its chain, its number and its signature, as CHAIN/NUMBER/SIGNATURE.
const Kind = "drand"

// Network is a network of drand whose rounds stand alone (unchained), with signatures in G1 as RFC 9380 hashes to it.
type Network struct {
	Name    string
	Chain   string        // hash of what follows, in hex
	Key     string        // public key of the network, in hex
	Genesis int64         // seconds, of round 1
	Period  time.Duration // from round to round
}

// Networks are those that are known.
func Networks() []Network {
	return []Network{{
		Name: "quicknet", Chain: "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
		Key: "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451" +
			"0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a",
		Genesis: 1692803367, Period: 3 * time.Second,
	}}
}

// Round is a round of a network.
type Round struct {
	Chain     string
	Number    uint64
	Signature string // in hex
}

var (
	// ErrUnknown says that a round is of a network that is not known.
	ErrUnknown = errors.New("the network is not known")
	// ErrFalse says that the network of a round has not signed it.
	ErrFalse = errors.New("the network has not signed it")
)

// Value is r as a leaf has it.
func (r Round) Value() *api.LogNotBefore {
	return &api.LogNotBefore{Kind: Kind, Value: fmt.Sprintf("%s/%d/%s", r.Chain, r.Number, r.Signature)}
}

// Parse reads the Value of a round.
func Parse(v api.LogNotBefore) (r Round, err error) {
	parts := strings.Split(v.Value, "/")
	if v.Kind != Kind || len(parts) != 3 {
		return r, fmt.Errorf("%w: of kind %q", ErrUnknown, v.Kind)
	}
	number, err := strconv.ParseUint(parts[1], 10, 64)
	r = Round{Chain: parts[0], Number: number, Signature: parts[2]}
	if err != nil || *r.Value() != v {
		return Round{}, fmt.Errorf("%w: it is not written as CHAIN/NUMBER/SIGNATURE", ErrFalse)
	}
	return r, nil
}

// Verify returns the network of r and when it signed r, or ErrUnknown or ErrFalse.
func (r Round) Verify() (n Network, at time.Time, err error) {
	for _, n = range Networks() {
		if n.Chain == r.Chain {
			return n, n.at(r.Number), n.verify(r)
		}
	}
	return Network{}, time.Time{}, ErrUnknown
}

// at is when a round is due.
func (n Network) at(number uint64) time.Time {
	return time.Unix(n.Genesis, 0).Add(time.Duration(number-1) * n.Period).UTC()
}

func (n Network) verify(r Round) error {
	var key bls.G2Affine
	var signature bls.G1Affine
	keyBytes, err := hex.DecodeString(n.Key)
	if err == nil {
		_, err = key.SetBytes(keyBytes)
	}
	if err != nil {
		return fmt.Errorf("key of %s: %w", n.Name, err)
	}
	signed, err := hex.DecodeString(r.Signature)
	if err != nil || len(signed) != bls.SizeOfG1AffineCompressed || strings.ToLower(r.Signature) != r.Signature {
		return ErrFalse
	}
	if _, err := signature.SetBytes(signed); err != nil {
		return ErrFalse
	}
	message := sha256.Sum256(binary.BigEndian.AppendUint64(nil, r.Number))
	hash, err := bls.HashToG1(message[:], []byte("BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"))
	if err != nil {
		return err
	}
	_, _, _, generator := bls.Generators()
	generator.Neg(&generator)
	if ok, err := bls.PairingCheck([]bls.G1Affine{signature, hash}, []bls.G2Affine{generator, key}); err != nil || !ok {
		return ErrFalse
	}
	return nil
}

var chainInPath = regexp.MustCompile(`/([0-9a-f]{64})/`)

// Check reports what is wrong with the address of a beacon.
func Check(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		chainInPath.FindString(u.Path) == "" {
		return errors.New("it is not the address of the newest round of a chain, such as https://api.drand.sh/CHAIN/public/latest, " +
			"with the hash of the chain")
	}
	return nil
}

// Ask returns the newest round of the beacon at an address. That of a known network is verified.
func Ask(ctx context.Context, client *http.Client, address string) (r Round, err error) {
	if err := Check(address); err != nil {
		return r, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return r, err
	}
	resp, err := client.Do(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return r, fmt.Errorf("the beacon answers %d", resp.StatusCode)
	}
	const most = 16 << 10
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return r, err
	}
	var said struct {
		Round                 uint64
		Randomness, Signature string
	}
	if err := json.Unmarshal(body, &said); err != nil || said.Round == 0 {
		return r, errors.New("the beacon's answer is not a round as JSON")
	}
	signature, err := hex.DecodeString(said.Signature)
	const longest = 96
	sum := sha256.Sum256(signature)
	if err != nil || len(signature) == 0 || len(signature) > longest || said.Randomness != hex.EncodeToString(sum[:]) {
		return r, errors.New("the beacon's randomness is not the hash of its signature")
	}
	r = Round{Chain: chainInPath.FindStringSubmatch(req.URL.Path)[1], Number: said.Round, Signature: hex.EncodeToString(signature)}
	if _, _, err := r.Verify(); err != nil && !errors.Is(err, ErrUnknown) {
		return Round{}, err
	}
	return r, nil
}
