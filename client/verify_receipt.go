package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/internal/usdg"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
	"github.com/contextd/contextd/sdk/wallet"
)

// signs reports whether key is the address of a key that signs receipts, and none of a log.
func signs(key string) bool {
	var address [20]byte
	return usdg.ReadHex(key, address[:])
}

// readReceipt reads a signed receipt: by itself, in a payment of the journal, or in what a service answers with; nil if data is none.
func readReceipt(data []byte) *api.SignedReceipt {
	var file struct {
		api.SignedReceipt
		Receipt    *api.SignedReceipt    `json:"receipt"`
		Extensions api.ReceiptExtensions `json:"extensions"`
	}
	if json.Unmarshal(data, &file) != nil {
		return nil
	}
	for _, r := range []*api.SignedReceipt{&file.SignedReceipt, file.Receipt, &file.Extensions.Signed.Info.Receipt} {
		if r != nil && r.Format != "" && r.Signature != "" {
			return r
		}
	}
	return nil
}

// receipt proves a receipt: who has signed it, and that this is a key of the service whose URL it names.
func (o verifyOptions) receipt(ctx context.Context, r api.SignedReceipt) error {
	signer, err := wallet.SignerOfReceipt(r)
	if err != nil {
		return &sdk.ProofError{Reason: sdk.ProofInvalid, Err: err}
	}
	p := r.Payload
	from, err := o.signerKnown(ctx, p.ResourceURL, signer)
	if err != nil {
		return err
	}
	v := verdict{Proven: from != "file", Key: signer, KeyFrom: from, Receipt: &p, Witnesses: []sdk.Cosignature{}}
	v.Says = fmt.Sprintf("The service at %s answered %s at %s for a payment on %s.", human.Short(p.ResourceURL, maxTold),
		human.Short(p.Payer, maxTold), o.clock(time.Unix(p.IssuedAt, 0)), human.Short(p.Network, maxTold))
	first := "Proven."
	if !v.Proven {
		first = "Consistent."
		v.Says = fmt.Sprintf("The key %s has signed the receipt. That it is a key of the service at %s, only the file says.", signer,
			human.Short(p.ResourceURL, maxTold))
	}
	doc, err := cli.Marshal(v)
	if err != nil {
		return err
	}
	err = o.Print(ctx, cli.Answer{JSON: doc, Piped: cli.Text, Text: func(w io.Writer, _ int, style cli.Style) error {
		_, err := fmt.Fprintf(w, "%s %s\n  %-9s %s (%s)\n", style.Bold(first), human.Line(v.Says), "key", signer, from)
		if err == nil && p.Transaction != "" {
			_, err = fmt.Fprintf(w, "  %-9s %s\n", "paid by", human.Line(human.Short(p.Transaction, maxTold)))
		}
		return err
	}})
	if err != nil || v.Proven {
		return err
	}
	return (&cli.Failure{Exit: cli.ExitConsistent, Reason: "signer_unknown",
		Err: fmt.Errorf("not proven: the service at %s was not asked for its keys", human.Short(p.ResourceURL, maxTold))}).
		WithHint("set base_url to the service, or ctx verify FILE --key ADDRESS, as %s of the service lists it", api.PathDID)
}

// maxTold is how much of a text in a receipt is shown, in runes.
const maxTold = 120

// signerKnown says where the key of an address is known from: given, or published by the configured service if the URL is of that; "file"
// if neither.
func (o verifyOptions) signerKnown(ctx context.Context, resource, address string) (from string, err error) {
	if o.key != "" {
		if !usdg.SameAddress(o.key, address) {
			return "", &sdk.ProofError{Reason: sdk.ProofOtherKey, Err: fmt.Errorf("the receipt is signed by %s, not by %s", address, o.key)}
		}
		return "given", nil
	}
	c, err := o.client()
	if err != nil {
		return "", err
	}
	if !sameOrigin(resource, c.BaseURL()) {
		return "file", nil
	}
	published, err := c.Signers(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range published.VerificationMethod {
		if usdg.SameAddress(strings.TrimPrefix(m.BlockchainAccountID, "eip155:1:"), address) {
			return "published", nil
		}
	}
	return "", &sdk.ProofError{Reason: sdk.ProofOtherKey, Err: errors.New("the receipt is signed by " + address +
		", which is no key of the service at " + c.BaseURL())}
}

// sameOrigin reports whether two URLs have the same scheme and host.
func sameOrigin(x, y string) bool {
	a, err := url.Parse(x)
	b, bad := url.Parse(y)
	return err == nil && bad == nil && a.Host != "" && strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Host, b.Host)
}
