package web

import (
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
	clients *Limiter // per client, for all recipients
	pairs   *Limiter // per inbox and client who is known there
	inboxes *Limiter // per inbox, for all strangers, in a quarter of an hour
	days    *Limiter // the same in a day
	rush    *Limiter // of all strangers, in a minute, so that the mail server's queue is not theirs alone
	changes *Limiter // per owner whose account changes, in a day
	inAll   *Limiter // of all, by toStrangers, toKnown, toOwners
}

// set sets how many mails go to an inbox in a quarter of an hour, and how many in all in a day. A client has four inboxes' worth in an
// hour, and strangers four quarters' worth of an inbox in a day.
func (b *mailBounds) set(perInbox, perDay int) {
	const quarter, several, changes, rush = 15 * time.Minute, 4, 10, 60
	b.clients.setPer(several*perInbox, time.Hour)
	b.pairs.setPer(perInbox, quarter)
	b.inboxes.setPer(perInbox, quarter)
	b.days.setPer(several*perInbox, day)
	b.rush.setPer(rush, time.Minute)
	b.changes.setPer(changes, day)
	b.inAll.setPer(max(perDay/3, 1), day)
}

// allow says why a client may have no link mailed to an inbox now, nil if they may. known says that they have redeemed one there before.
func (b *mailBounds) allow(client, inbox string, known bool) error {
	if err := b.clients.Allow(client); err != nil {
		return err
	}
	if known {
		if err := b.pairs.Allow(inbox + "\x00" + client); err != nil {
			return err
		}
		return b.inAll.Allow(toKnown)
	}
	if err := b.inboxes.Allow(inbox); err != nil {
		return err
	}
	if err := b.days.Allow(inbox); err != nil {
		return err
	}
	if err := b.rush.Allow(toStrangers); err != nil {
		return err
	}
	return b.inAll.Allow(toStrangers)
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
