package wallet

// ChangePassphraseQuickly is ChangePassphrase at a cost that tests can bear.
func (f File) ChangePassphraseQuickly(from, to string) error {
	return f.changePassphrase(from, to, cost{1 << 4, 1})
}

// Replace is how the journal and the known recipients are written.
func Replace(path string, text []byte) error { return replace(path, text) }
