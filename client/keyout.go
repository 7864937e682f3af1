package client

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/contextd/contextd/client/config"
	"github.com/contextd/contextd/internal/cli"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// keyOut is where a command puts the key that it makes. The service tells it once, so it never gets lost here.
type keyOut struct {
	Save bool   // keep it as the key of the profile
	Out  string // name of the file that gets it, "" for none

	io      *streams
	account *account
	file    *os.File // of Out, while it is open
}

// KeyOut is where a new key goes.
func (f *factory) KeyOut() *keyOut { return &keyOut{io: f.streams, account: f.Account} }

// Bind adds the flags of commands that make a key.
func (k *keyOut) Bind(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&k.Save, "save", false, "keep the key as that of the profile and do not print it")
	flags.StringVar(&k.Out, "out", "", "write the key to this new `file`, readable only by you, and do not print it")
	c.MarkFlagsMutuallyExclusive("save", "out")
}

// Open makes the file before there is a key that would be lost without it. An empty one is that of a command that was killed.
func (k *keyOut) Open() (err error) {
	if k.Out == "" {
		return nil
	}
	if left, err := os.Lstat(k.Out); err == nil && left.Mode().IsRegular() && left.Size() == 0 {
		_ = os.Remove(k.Out) // else it cannot be made either
	}
	if k.file, err = os.OpenFile(k.Out, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
		return cli.Invalid("make the file for the key: %w", err)
	}
	return nil
}

// Drop removes the file that was made for a key that did not come, and returns why it did not.
func (k *keyOut) Drop(why error) error {
	if k.file != nil {
		_ = k.file.Close()
		_ = os.Remove(k.Out) // it is empty
	}
	return why
}

// Hand gives a new key to whom it was asked for: the file, the secret store, or standard output. Where it cannot be given so, it is
// printed: else it would be lost.
func (k *keyOut) Hand(ctx context.Context, issued *api.IssuedKey) error {
	shown := *issued
	var err error
	where := ""
	switch {
	case k.file != nil:
		where = k.Out
		if _, err = k.file.WriteString(issued.Key + "\n"); err == nil {
			err = k.file.Sync()
		}
		if closed := k.file.Close(); err == nil {
			err = closed
		}
	case k.Save:
		where, err = k.save(issued)
	}
	if where != "" && err == nil {
		shown.Key = ""
		k.io.Note("key %s for %q is in %s, which only you can read", issued.KeyID, issued.Name, where)
	} else {
		k.io.Note("key %s for %q; it is shown this once", issued.KeyID, issued.Name)
	}
	rows := &cli.Rows{Columns: []string{"key"}, Rows: [][]string{{shown.Key}}}
	if shown.Key == "" {
		rows = &cli.Rows{Columns: []string{"key id"}, Rows: [][]string{{issued.KeyID}}}
	}
	if shownErr := k.io.Show(ctx, shown, rows); shownErr != nil {
		return shownErr
	}
	return err
}

// SaveToProfile stores a new key as that of the profile, takes it out of issued and says where it is. Where it cannot be stored it stays in
// issued, to be shown: else it would be lost.
func (k *keyOut) SaveToProfile(issued *api.IssuedKey) {
	where, err := k.save(issued)
	if err != nil {
		k.io.Note("key %s for %q is shown this once, and not kept: %s", issued.KeyID, issued.Name, err)
		return
	}
	issued.Key = ""
	k.io.Note("key %s for %q is in %s, which only you can read", issued.KeyID, issued.Name, where)
}

// save keeps a new key as that of the profile.
func (k *keyOut) save(issued *api.IssuedKey) (where string, err error) {
	return k.account.Store(func(c *config.Credential) { c.Key = sdk.NewKey(issued.Key) })
}
