package wallet

// ChangePassphraseQuickly is ChangePassphrase at a cost that tests can bear.
func (f File) ChangePassphraseQuickly(from, to string) error {
	return f.changePassphrase(from, to, cost{1 << 4, 1})
}
