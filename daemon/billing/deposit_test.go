package billing_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/sdk/api"
)

// begun is when the deposits of tables were begun: within a second, as blocks have whole ones.
func begun() time.Time { return time.Date(2026, 11, 20, 20, 0, 0, 500e6, time.UTC) }

// ended is the last moment at which they can be paid.
func ended() time.Time { return time.Date(2026, 11, 20, 20, 30, 0, 0, time.UTC) }

// pending is a deposit that waits to be paid.
func pending(id string, n byte) billing.Deposit {
	return billing.Deposit{ID: id, Amount: 1_000_000, Nonce: [32]byte{n, 0xab}, Status: api.DepositPending, CreatedAt: begun(), ExpiresAt: ended()}
}

// TestMatch is both sides of every bound of what pays for a deposit.
func TestMatch(t *testing.T) {
	t.Parallel()
	raw := func(n byte) []byte { return append(append([]byte("tag"), n, 0xab), make([]byte, 30)...) }
	spelled := []byte("0x" + strings.ToUpper(hex.EncodeToString(raw(2)[3:])))
	for what, test := range map[string]struct {
		change func(a *billing.Transfer, list []billing.Deposit) // list is first and second, of one amount but for a micro-USDG
		want   string                                            // the id, or in brackets a part of what is wrong
	}{
		"exact":               {func(*billing.Transfer, []billing.Deposit) {}, "first"},
		"a micro-USDG less":   {func(a *billing.Transfer, _ []billing.Deposit) { a.Amount-- }, "(no deposit has this amount)"},
		"a micro-USDG more":   {func(a *billing.Transfer, _ []billing.Deposit) { a.Amount++ }, "second"},
		"two micro-USDG more": {func(a *billing.Transfer, _ []billing.Deposit) { a.Amount += 2 }, "(no deposit has this amount)"},
		"in its first second": {func(a *billing.Transfer, _ []billing.Deposit) { a.At = begun().Truncate(time.Second) }, "first"},
		"a second too early":  {func(a *billing.Transfer, _ []billing.Deposit) { a.At = begun().Add(-time.Second) }, "(older than deposit first)"},
		"in the last second":  {func(a *billing.Transfer, _ []billing.Deposit) { a.At = ended() }, "first"},
		"a second too late":   {func(a *billing.Transfer, _ []billing.Deposit) { a.At = ended().Add(time.Second) }, "(it came 1s after deposit first had expired)"},
		"verified before":     {func(_ *billing.Transfer, l []billing.Deposit) { l[0].Status = api.DepositVerified }, "(first was verified already)"},
		"expired before":      {func(_ *billing.Transfer, l []billing.Deposit) { l[0].Status = api.DepositExpired }, "(first was expired already)"},
		"its nonce":           {func(a *billing.Transfer, _ []billing.Deposit) { a.Note = raw(1) }, "first"},
		"another's nonce":     {func(a *billing.Transfer, _ []billing.Deposit) { a.Note = raw(2) }, "(deposit second is of 1.000001)"},
		"a nonce spelled out": {func(a *billing.Transfer, _ []billing.Deposit) { a.Note, a.Amount = spelled, 1_000_001 }, "second"},
		"alone, spelled out": {func(a *billing.Transfer, l []billing.Deposit) {
			l[1].Named, a.Note, a.Amount = true, spelled, 1_000_001
		}, "second"},
		"spelled out, of another": {func(a *billing.Transfer, _ []billing.Deposit) { a.Note = spelled }, "(deposit second is of 1.000001)"},
		"a nonce of nobody":       {func(a *billing.Transfer, _ []billing.Deposit) { a.Note = raw(3) }, "first"},
		"late by its nonce":       {func(a *billing.Transfer, _ []billing.Deposit) { a.Note, a.At = raw(1), ended().Add(time.Second) }, "(had expired)"},
		"nonce alone, without":    {func(_ *billing.Transfer, l []billing.Deposit) { l[0].Named = true }, "(no deposit has this amount)"},
		"nonce alone, with":       {func(a *billing.Transfer, l []billing.Deposit) { l[0].Named, a.Note = true, raw(1) }, "first"},
		"nonce alone, too much":   {func(a *billing.Transfer, l []billing.Deposit) { l[0].Named, a.Note, a.Amount = true, raw(1), 1_000_002 }, "(is of 1.000002)"},
		"one amount, old first": {func(_ *billing.Transfer, l []billing.Deposit) {
			l[1].Amount, l[0].CreatedAt, l[0].ExpiresAt = l[0].Amount, begun().Add(-25*time.Hour), ended().Add(-25*time.Hour)
		}, "second"},
		"one amount, paid first": {func(_ *billing.Transfer, l []billing.Deposit) {
			l[1].Amount, l[0].Status = l[0].Amount, api.DepositVerified
		}, "second"},
	} {
		t.Run(what, func(t *testing.T) {
			a := billing.Transfer{Amount: 1_000_000, At: begun().Add(time.Minute)}
			list := []billing.Deposit{pending("first", 1), pending("second", 2)}
			list[1].Amount++
			test.change(&a, list)
			id, why := billing.Match(a, list)
			if part, bad := strings.CutPrefix(test.want, "("); bad && (id != "" || !strings.Contains(why, strings.TrimSuffix(part, ")"))) || !bad && (id != test.want || why != "") {
				t.Errorf("%q, %q, want %s", id, why, test.want)
			}
		})
	}
}

// TestRefuse says of transactions that were named for a deposit why they never pay for it.
func TestRefuse(t *testing.T) {
	t.Parallel()
	good := billing.Transfer{LogIndex: 1, Amount: 1_000_000, At: begun().Add(time.Minute)}
	with := func(change func(a *billing.Transfer)) billing.Transfer {
		a := good
		change(&a)
		return a
	}
	less := with(func(a *billing.Transfer) { a.Amount--; a.LogIndex = 0 })
	for what, test := range map[string]struct {
		list []billing.Transfer
		used billing.Use // of the transfer at 1
		want api.Reason
	}{
		"nothing to the treasury": {nil, billing.Use{}, api.ReasonWrongRecipient},
		"paid this":               {[]billing.Transfer{good}, billing.Use{Spent: true, DepositID: "first"}, ""},
		"waits for this":          {[]billing.Transfer{good}, billing.Use{WaitsFor: "first"}, ""},
		"waits for another":       {[]billing.Transfer{good}, billing.Use{WaitsFor: "second"}, api.ReasonAlreadyUsed},
		"paid another":            {[]billing.Transfer{good}, billing.Use{Spent: true, DepositID: "second"}, api.ReasonAlreadyUsed},
		"paid a call":             {[]billing.Transfer{good}, billing.Use{Spent: true}, api.ReasonAlreadyUsed},
		"without its nonce":       {[]billing.Transfer{good}, billing.Use{}, api.ReasonNonceMismatch},
		"too little":              {[]billing.Transfer{less}, billing.Use{}, api.ReasonAmountMismatch},
		"too early":               {[]billing.Transfer{with(func(a *billing.Transfer) { a.At = begun().Add(-time.Second) })}, billing.Use{}, api.ReasonNonceMismatch},
		"too late":                {[]billing.Transfer{with(func(a *billing.Transfer) { a.At = ended().Add(time.Second) })}, billing.Use{}, api.ReasonQuoteExpired},
		"the one that was meant":  {[]billing.Transfer{less, good}, billing.Use{Spent: true}, api.ReasonAlreadyUsed},
		"the second paid this":    {[]billing.Transfer{less, good}, billing.Use{Spent: true, DepositID: "first"}, ""},
	} {
		t.Run(what, func(t *testing.T) {
			if reason, why := billing.Refuse(test.list, map[uint64]billing.Use{1: test.used}, pending("first", 1)); reason != test.want || (why == "") != (reason == "") {
				t.Errorf("%q, %q, want %q", reason, why, test.want)
			}
		})
	}
}

// TestAdmit is both sides of what an owner may have open.
func TestAdmit(t *testing.T) {
	t.Parallel()
	now := begun().Add(time.Hour)
	since := func(ages ...time.Duration) (list []billing.Deposit) {
		for _, age := range ages {
			list = append(list, billing.Deposit{CreatedAt: now.Add(-age), ExpiresAt: now.Add(-age + api.DepositWindow)})
		}
		return list
	}
	const day, window = 24 * time.Hour, api.DepositWindow
	for what, test := range map[string]struct {
		unpaid []billing.Deposit
		wait   time.Duration // 0 means that another may be begun
	}{
		"none":                        {nil, 0},
		"two are open":                {since(time.Minute, 2*time.Minute), 0},
		"three are open":              {since(2*time.Minute, time.Minute, 3*time.Minute), window - 3*time.Minute},
		"the first ends now":          {since(time.Minute, window, 2*time.Minute), 0},
		"the first ends in a moment":  {since(time.Minute, window-time.Millisecond, 2*time.Minute), time.Second},
		"nine of a day":               {since(1*time.Hour, 2*time.Hour, 3*time.Hour, 4*time.Hour, 5*time.Hour, 6*time.Hour, 7*time.Hour, 8*time.Hour, day-time.Minute), 0},
		"ten of a day":                {since(1*time.Hour, 2*time.Hour, 3*time.Hour, 4*time.Hour, 5*time.Hour, 6*time.Hour, 7*time.Hour, 8*time.Hour, 9*time.Hour, day-time.Minute), time.Minute},
		"the tenth leaves the day":    {since(1*time.Hour, 2*time.Hour, 3*time.Hour, 4*time.Hour, 5*time.Hour, 6*time.Hour, 7*time.Hour, 8*time.Hour, 9*time.Hour, day), 0},
		"more than ten, from earlier": {since(1*time.Hour, 2*time.Hour, 3*time.Hour, 4*time.Hour, 5*time.Hour, 6*time.Hour, 7*time.Hour, 8*time.Hour, 9*time.Hour, 10*time.Hour, day-time.Minute), 14 * time.Hour},
	} {
		err := billing.DepositBounds{Pending: 3, Unpaid: 10}.Admit(test.unpaid, now)
		var refused *api.Error
		if errors.As(err, &refused) != (test.wait > 0) || test.wait > 0 && (refused.Reason != api.ReasonRateLimited || refused.RetryAfter != test.wait) {
			t.Errorf("%s: %+v, want to wait %s", what, err, test.wait)
		}
	}
}
