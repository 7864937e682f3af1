package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/contextd/contextd/daemon/account"
	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/daemon/store"
	"github.com/contextd/contextd/daemon/testbed"
	"github.com/contextd/contextd/sdk/api"
)

// TestWatchStore: a day is paid once; of a rule each watch has a message once, from its place on, unless it is paused, suspended or has too
// many; what is given up leaves a gap; secrets come back as they were, and the one before them for a while.
func TestWatchStore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 20, 0, 0, 0, time.UTC)
	s, err := store.Open(t.Context(), testbed.Place(t), now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	seal, err := store.NewSeal(make([]byte, store.SealSize))
	if err != nil {
		t.Fatal(err)
	}
	s.SealWith(seal)
	keys, err := account.OpenKeys(t.Context(), account.Config{Store: s, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	key, err := keys.Issue(t.Context(), account.NewKey{OwnerID: account.OperatorID, Name: "test", Tier: api.TierFree})
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string, at time.Time, seq int64, secret string) (event.Watch, bool) {
		t.Helper()
		w, unpaid, err := s.PutWatch(t.Context(), event.Watch{
			ID: id, OwnerID: account.OperatorID, KeyID: key.KeyID, Type: api.WatchStatePublished, Pack: "crypto", Arguments: []byte(`{}`),
			Rule: "rule", Delivery: api.WatchDelivery{Type: api.DeliverWebhook, URL: "https://example.org/" + id}, Host: "example.org",
			Secret: []byte(secret), BeforeUntil: at.Add(time.Hour), From: event.Place{Log: "log", Seq: seq}, CreatedAt: at,
			ExpiresAt: at.Add(90 * time.Hour), PaidUntil: at.Add(api.WatchDay),
		}, event.Bounds{Key: 3, Owner: 3}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return w, unpaid
	}
	w, unpaid := put("a", now, 1, "first")
	if !unpaid {
		t.Error("a new watch is paid")
	}
	if _, unpaid := put("a", now.Add(api.WatchDay-time.Millisecond), 1, "second"); unpaid {
		t.Error("within its day it is to be paid again")
	}
	if _, unpaid := put("a", now.Add(api.WatchDay), 1, "second"); !unpaid {
		t.Error("after its day it is paid")
	}
	graces := now.Add(api.WatchDay - time.Millisecond + time.Hour)
	if w, _ := put("a", now.Add(api.WatchDay), 1, "second"); !w.BeforeUntil.Equal(graces) {
		t.Errorf("the secret before counts until %s, want %s", w.BeforeUntil, graces)
	}
	list, err := s.Watches(t.Context(), account.OperatorID)
	if err != nil || len(list) != 1 || string(list[0].Secret) != "second" || string(list[0].SecretBefore) != "first" ||
		!list[0].BeforeUntil.Equal(graces) {
		t.Fatalf("%+v, %v", list, err)
	}
	was := list[0].PaidUntil
	for i, want := range []bool{true, false} {
		if ok, err := s.PayWatch(t.Context(), w.ID, was, was.Add(api.WatchDay)); err != nil || ok != want {
			t.Errorf("payment %d of a day: %t, %v", i, ok, err)
		}
	}
	w.Secret, w.SecretMade = []byte("made"), true
	if again, _, err := s.PutWatch(t.Context(), w, event.Bounds{}, nil); err != nil || string(again.Secret) != "second" ||
		string(again.SecretBefore) != "first" {
		t.Errorf("made where it is already: %+v, %v", again, err)
	}
	put("b", now, 2, "b")
	put("c", now, 1, "c")
	save := func(seq int64, id string) {
		t.Helper()
		m := event.Message{ID: id, Rule: "rule", At: now, Body: []byte(id), Before: "before " + id}
		if err := s.SaveEvents(t.Context(), "crypto", event.Place{Log: "log", Seq: seq}, nil, []event.Message{m}, now); err != nil {
			t.Fatal(err)
		}
	}
	due := func() (ids []string) {
		t.Helper()
		list, err := s.DueDeliveries(t.Context(), now)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			ids = append(ids, d.Watch.ID+" "+d.Event)
		}
		slices.Sort(ids)
		return ids
	}
	for range 2 {
		save(2, "two")
	}
	if got := due(); !slices.Equal(got, []string{"a two", "c two"}) { // b was made after it
		t.Errorf("due: %q", got)
	}
	err = s.RecordDeliveries(t.Context(), []event.Outcome{
		{Watch: "a", Event: "two", At: now, Taken: true},
		{Watch: "c", Event: "two", At: now, Error: "timeout", Next: now.Add(time.Second), Suspend: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	save(3, "three")
	if got := due(); !slices.Equal(got, []string{"a three", "b three"}) { // c is suspended
		t.Errorf("due: %q", got)
	}
	list, err = s.Watches(t.Context(), "")
	i := slices.IndexFunc(list, func(w event.Watch) bool { return w.ID == "c" })
	if err != nil || list[i].Gap != "before three" || list[i].Failures != 1 || list[i].Status() != api.WatchSuspended {
		t.Errorf("%+v, %v", list[i], err)
	}
	for n := range event.MostWaiting {
		save(int64(4+n), "more"+string(rune('A'+n%26))+string(rune('a'+n/26)))
	}
	if got := due(); len(got) != 100 { // of a host
		t.Errorf("%d are due", len(got))
	}
	list, err = s.Watches(t.Context(), "")
	if i = slices.IndexFunc(list, func(w event.Watch) bool { return w.ID == "a" }); err != nil || list[i].Gap == "" {
		t.Errorf("of %d that wait none was given up: %+v, %v", event.MostWaiting+1, list[i], err)
	}
	ended := list[i]
	ended.EndedAt, ended.Gap = now, ""
	if err := s.ChangeWatch(t.Context(), ended, nil, now); err != nil {
		t.Fatal(err)
	}
	stands, err := s.WatchStanding(t.Context(), now.Add(7*time.Second))
	want := event.Standing{Active: 1, Suspended: 1, Gaps: 2, Waiting: event.MostWaiting + 1, OverdueSeconds: 7} // b waits for all, c for one
	if err != nil || stands != want {
		t.Errorf("the watches stand as %+v, want %+v, %v", stands, want, err)
	}
	place := event.Place{Log: "log", Seq: int64(4 + event.MostWaiting)}
	if err := s.SaveEvents(t.Context(), "crypto", place, []event.Rule{}, nil, now); !errors.Is(err, event.ErrOvertaken) {
		t.Errorf("with a condition that was not looked at: %v", err)
	}
	late := list[0]
	late.ID, late.From.Seq = "late", 3
	if _, _, err := s.PutWatch(t.Context(), late, event.Bounds{Key: 9, Owner: 9}, nil); !errors.Is(err, event.ErrOvertaken) {
		t.Errorf("made behind the leader: %v", err)
	}
	if p, ok, err := s.WatchPlace(t.Context(), "crypto"); err != nil || !ok || p.Seq != int64(3+event.MostWaiting) {
		t.Errorf("%+v, %t, %v", p, ok, err)
	}
}
