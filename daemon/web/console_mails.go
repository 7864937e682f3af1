package web

import (
	"cmp"
	"time"

	"github.com/contextd/contextd/sdk/api"
)

const day = 24 * time.Hour

// What shares the budget of mails in all, each a third of it: nobody's mails are used up by those who have another share.
const (
	toStrangers = "strangers" // who never redeemed a link from where they call
	toKnown     = "known"     // who did
	toOwners    = "owners"    // about changes of their account
)

// mailBounds bound the mails that anybody can have sent, so that an inbox is not flooded and its owner not kept out by strangers, who
// share what there is for it and leave alone what there is for those who have redeemed a link from where they call.
type mailBounds struct {
	clients bound    // per client, for all recipients
	pairs   *Limiter // per inbox and client who is known there
	inboxes *Limiter // per inbox, for all strangers, in a quarter of an hour
	days    *Limiter // the same in a day
	rush    *Limiter // of all strangers, in a minute, so that the mail server's queue is not theirs alone
	shares  *Limiter // of rush, per network of strangers, so that it is not one network's alone
	changes *Limiter // per owner whose account changes, in a day
	inAll   *Limiter // of all, by toStrangers, toKnown, toOwners
}

// set sets how many mails go to an inbox in a quarter of an hour, and how many in all in a day. A client has four inboxes' worth in an
// hour, and strangers four quarters' worth of an inbox in a day.
func (b *mailBounds) set(perInbox, perDay int) {
	const quarter, several, changes, rush, networks = 15 * time.Minute, 4, 10, 60, 3
	b.clients.clients.setPer(several*perInbox, time.Hour)
	b.clients.sites.setPer(perSite*several*perInbox, time.Hour)
	b.pairs.setPer(perInbox, quarter)
	b.inboxes.setPer(perInbox, quarter)
	b.days.setPer(several*perInbox, day)
	b.rush.setPer(rush, time.Minute)
	b.shares.setPer(rush/networks, time.Minute)
	b.changes.setPer(changes, day)
	b.inAll.setPer(max(perDay/3, 1), day)
}

// allow says why a client, with the networks that it is in, may have no link mailed to an inbox now, nil if they may. known says that they
// have redeemed one there before.
func (b *mailBounds) allow(clients []string, inbox string, known bool) error {
	if err := b.clients.allow(clients); err != nil {
		return err
	}
	if known {
		if err := b.pairs.Allow(inbox + "\x00" + clients[0]); err != nil {
			return err
		}
		return ofAll(b.inAll.Allow(toKnown))
	}
	if err := b.inboxes.Allow(inbox); err != nil {
		return err
	}
	if err := b.days.Allow(inbox); err != nil {
		return err
	}
	if err := b.shares.Allow(clients[len(clients)-1]); err != nil {
		return err
	}
	return ofAll(cmp.Or(b.rush.Allow(toStrangers), b.inAll.Allow(toStrangers)))
}

// ofAll is the refusal of a bound that all callers share, in its own words.
func ofAll(err error) error {
	if err == nil {
		return nil
	}
	return api.Errorf(api.ReasonRateLimited, "the service sends no more mails for now; this limit is of all callers, not yours").
		WithHint("try again after Retry-After, or sign in with a wallet").WithRetryAfter(api.AsError(err).RetryAfter)
}

// notify says why so many mails about a change of an owner's account may not go out now, nil if they may.
func (b *mailBounds) notify(owner string, mails int) error {
	if err := b.changes.Allow(owner); err != nil {
		return err
	}
	for range mails {
		if err := b.inAll.Allow(toOwners); err != nil {
			return api.Errorf(api.ReasonRateLimited, "too many accounts change at this moment").
				WithHint("try again after Retry-After").WithRetryAfter(api.AsError(err).RetryAfter)
		}
	}
	return nil
}
