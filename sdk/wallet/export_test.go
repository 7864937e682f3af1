package wallet

// ChangePassphraseQuickly is ChangePassphrase at a cost that tests can bear.
func (f File) ChangePassphraseQuickly(from, to string) error {
	return f.changePassphrase(from, to, cost{1 << 4, 1})
}

// AdvanceIn has the journal in dir note that a signed payment is mined, and returns its state then.
func AdvanceIn(dir string) (State, error) {
	e := entry{ID: "1", State: stateSigned}
	err := journal{dir}.advance(&e, stateMined)
	return e.State, err
}

// OfferDigest and ReceiptDigest are what is signed of offers and receipts.
var (
	OfferDigest   = offerDigest
	ReceiptDigest = receiptDigest
)

// Replace is how the journal and the known recipients are written.
func Replace(path string, text []byte) error { return replace(path, text) }
