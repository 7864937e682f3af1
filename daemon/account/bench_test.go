package account_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/sdk/api"
)

// crowd is a store of very many keys.
type crowd int

// secretOf is the plaintext of the n-th key.
func secretOf(n int) string { return fmt.Sprintf("cv_test_%032d", n) }

func (c crowd) Keys(context.Context, []string) ([]account.Key, error) {
	list := make([]account.Key, c)
	for i := range list {
		// Ids do not matter to Resolve, but have to differ.
		list[i] = account.Key{ID: fmt.Sprintf("cv_test_%08d", i), Hash: sha256.Sum256([]byte(secretOf(i))), OwnerID: "o", Tier: api.TierFree}
	}
	return list, nil
}

func (crowd) Standings(context.Context, []string) ([]account.Owner, error) { return nil, nil }

func (crowd) CreateKey(context.Context, account.Key) error { return errors.ErrUnsupported }
func (crowd) RotateKey(context.Context, string, account.Key, time.Time) (int64, error) {
	return 0, errors.ErrUnsupported
}
func (crowd) BeingBought(context.Context, string, time.Time) (int, error) {
	return 0, errors.ErrUnsupported
}

func (crowd) HasPaid(context.Context, string) (bool, error) { return false, errors.ErrUnsupported }
func (crowd) EndKeys(context.Context, time.Time) error      { return errors.ErrUnsupported }
func (crowd) PruneKeys(context.Context, time.Time, time.Time, int) ([]string, error) {
	return nil, errors.ErrUnsupported
}
func (crowd) SetKeyTier(context.Context, string, api.Tier, bool) error { return errors.ErrUnsupported }
func (crowd) EditKey(context.Context, string, string, int64) error     { return errors.ErrUnsupported }
func (crowd) RevokeKey(context.Context, string, time.Time) (time.Time, int64, error) {
	return time.Time{}, 0, errors.ErrUnsupported
}
func (crowd) TouchKeys(context.Context, map[string]time.Time) error { return errors.ErrUnsupported }
func (crowd) Owners(context.Context) ([]account.Owner, error)       { return nil, nil }
func (crowd) SetTier(context.Context, string, api.Tier) (bool, error) {
	return false, errors.ErrUnsupported
}
func (crowd) RemoveIdentity(context.Context, string, account.Identity, [sha256.Size]byte) error {
	return errors.ErrUnsupported
}
func (crowd) SetDisabled(context.Context, string, time.Time) (bool, error) {
	return false, errors.ErrUnsupported
}

// BenchmarkResolve looks up keys among few and very many: one that is there, and such as share all, half or nothing of their
// secret part with it. The plaintext is hashed before anything is compared, so that the times do not tell how much was right.
func BenchmarkResolve(b *testing.B) {
	for _, n := range []int{100, 100_000} {
		keys, err := account.OpenKeys(b.Context(), account.Config{Store: crowd(n)})
		if err != nil {
			b.Fatal(err)
		}
		good := secretOf(n / 2)
		for what, secret := range map[string]string{
			"good": good, "last-wrong": good[:len(good)-1] + "x", "half-wrong": good[:24] + "xxxxxxxxxxxxxxxx", "all-wrong": "cv_test_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		} {
			b.Run(fmt.Sprintf("keys=%d/%s", n, what), func(b *testing.B) {
				for b.Loop() {
					if _, err := keys.Resolve(secret); (err == nil) != (what == "good") {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
