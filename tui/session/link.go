package session

import (
	"fmt"
	"time"

	"github.com/contextd/contextd/internal/human"
	"github.com/contextd/contextd/sdk"
	"github.com/contextd/contextd/sdk/api"
)

// Status is how one stands with the service, in one word.
type Status int

// The statuses. Only Live and Stale say that the stream is connected.
const (
	Connecting Status = iota // the first attempt runs
	Live
	Quiet    // connected, but no pulse came when one was due
	Stale    // connected, but the state is older than the service promises
	Paused   // by the user
	Retry    // the connection broke and is made again
	Offline  // nothing more is tried
	Recorded // no service: a recording is shown
)

// quietAfter is when a pulse is overdue.
const quietAfter = api.PulseInterval + 5*time.Second

// Link is how the stream is connected.
type Link struct {
	Connected  bool
	Reconnects int
	Pulses     int
	Problem    *Problem // why there is no connection, nil while there is one

	since   time.Time // when the connection came, or the first attempt began
	pulsed  time.Time // last pulse, zero before the first
	retryAt time.Time
	ended   bool
	opened  int
}

func (l *Link) pulse(now time.Time) {
	l.pulsed = now
	l.Pulses++
}

// Connection applies a change of the connection. problem explains why there is none.
func (s *Session) Connection(c sdk.Connection, problem Problem) {
	l := &s.Line
	was := l.Connected
	l.Connected = c.Connected
	l.Reconnects = c.Reconnects
	if c.Connected {
		l.Problem = nil
		l.since = s.Now
		l.pulsed = s.Now
		l.ended = false
		l.opened++
		s.Demo, s.Unmetered = c.Demo, c.Unmetered
		s.Spent.Add(api.OpSubscribe)
		if !c.At.IsZero() {
			s.learn(c.At)
		}
		if l.opened == 1 {
			s.Log.Add(s.Now, Info, "connected")
		} else {
			s.Log.Add(s.Now, Info, "connected again")
		}
		return
	}
	l.Problem = &problem
	l.retryAt = s.Now.Add(c.Wait)
	if was {
		s.Log.Add(s.Now, Warning, "connection lost: "+problem.What)
	} else {
		s.Log.Add(s.Now, Warning, fmt.Sprintf("no connection: %s; trying again in %s", problem.What, human.Age(c.Wait.Round(time.Second))))
	}
}

// Ended applies the end of the stream, for whatever problem. It is not tried again.
func (s *Session) Ended(p Problem) {
	s.Failed(p)
	s.Line.Connected = false
	s.Line.ended = true
	s.Line.Problem = &p
}

// Opening applies that a new stream is being opened by the user's wish.
func (s *Session) Opening() {
	s.Line.ended = false
	s.Line.Connected = false
	s.Line.retryAt = time.Time{}
	s.Line.Problem = nil
	s.Line.since = s.Now
}

// Idle applies that nothing is sent before the user has said so.
func (s *Session) Idle() { s.Line.ended = true }

// Status is how one stands with the service now.
func (s *Session) Status() Status {
	l := &s.Line
	switch {
	case s.Recorded && s.Paused:
		return Paused
	case s.Recorded && (l.Connected || s.State != nil):
		return Recorded
	case l.ended:
		return Offline
	case !l.Connected && l.Problem != nil:
		return Retry
	case !l.Connected:
		return Connecting
	case s.Paused:
		return Paused
	case s.Now.Sub(l.pulsed) > quietAfter:
		return Quiet
	case s.Stale():
		return Stale
	}
	return Live
}

// Word is the status as one word or two, with the seconds that matter.
func (s *Session) Word() string {
	switch s.Status() {
	case Live:
		return "LIVE"
	case Quiet:
		return "QUIET " + human.Clock(s.PulseAge())
	case Stale:
		return "STALE"
	case Paused:
		return "PAUSED"
	case Retry:
		if wait := s.Line.retryAt.Sub(s.Now); wait > 0 {
			return "RETRY " + human.Age(wait+time.Second-1)
		}
		return "RETRY now"
	case Offline:
		if p := s.Line.Problem; p != nil && p.Word != "" {
			return p.Word
		}
		return "OFFLINE"
	case Recorded:
		return "RECORDING"
	}
	return "CONNECTING"
}

// PulseAge is how long ago the last pulse came, 0 before the first.
func (s *Session) PulseAge() time.Duration {
	if s.Line.pulsed.IsZero() {
		return 0
	}
	return s.Now.Sub(s.Line.pulsed)
}

// Up is for how long the connection has held.
func (s *Session) Up() time.Duration { return s.Now.Sub(s.Line.since) }
