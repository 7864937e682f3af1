package watch

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/contextd/contextd/daemon/event"
	"github.com/contextd/contextd/internal/alert"
	"github.com/contextd/contextd/internal/build"
	"github.com/contextd/contextd/internal/outbound"
	"github.com/contextd/contextd/sdk/api"
)

const (
	together      = 32               // deliveries at a time
	togetherHost  = 2                // of them to one host
	attemptTime   = 10 * time.Second // for one
	answerRead    = 64 << 10         // bytes of an answer that are read
	challengeRead = 4 << 10          // of an answer to a challenge
	secretGrace   = api.WatchDay     // for which the secret before is signed with too
	deadAttempts  = 20               // attempts that failed in a row, the first of them deadAfter ago: the watch is suspended
	deadAfter     = time.Hour
	recordEvery   = 64 // outcomes in one transaction, at most
)

// retries are the times to the next attempt after one that failed; after the last, the message is given up.
func retries() []time.Duration {
	return []time.Duration{10 * time.Second, 30 * time.Second, 2 * time.Minute, event.LongestWait}
}

// The words for what failed. The text of a receiver is nobody's.
const (
	failedConnect   = "connection_refused"
	failedTimeout   = "timeout"
	failedTLS       = "tls_error"
	failedClient    = "http_4xx"
	failedServer    = "http_5xx"
	failedAnswer    = "http_3xx"
	failedChallenge = "challenge_failed"
	failedPrivate   = "private_address"
	failedMail      = "mail_failed"
)

// control is a message that is no event.
type control struct {
	Type      string     `json:"type"` // verification, gap, paused or terminated
	Challenge string     `json:"challenge,omitempty"`
	Cursor    string     `json:"cursor,omitempty"`
	Error     *api.Error `json:"error,omitempty"`
	Message   string     `json:"message,omitempty"`
}

// controlMessage is c for a watch alone.
func (s *Service) controlMessage(w event.Watch, c control) (*event.Message, error) {
	body, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write message: %w", err)
	}
	return &event.Message{ID: "msg_" + c.Type + "_" + rand.Text(), Rule: w.ID, At: s.now(), Body: body}, nil
}

// newClient makes the client that posts to receivers: to public and allowed addresses alone.
func newClient(allowed []string) *http.Client {
	return &http.Client{
		Transport: outbound.NewTransport(allowed), Timeout: attemptTime,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // nobody has sent it there
	}
}

// target checks the address of a receiver.
func (s *Service) target(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	wrong := func(format string, args ...any) (*url.URL, error) {
		return nil, api.Errorf(api.ReasonInvalidDelivery, format, args...).WithHint("use an address such as https://example.org/hook")
	}
	if err != nil || u.Host == "" || len(text) > 2000 {
		return wrong("url is no address of a receiver")
	}
	port := cmp.Or(u.Port(), map[string]string{"https": "443", "http": "80"}[u.Scheme])
	host := net.JoinHostPort(u.Hostname(), port)
	free := outbound.Allowed(s.cfg.PrivateHosts, host)
	loopback := s.cfg.Loopback && (u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback())
	switch {
	case u.User != nil || u.Fragment != "":
		return wrong("url has a user or a fragment")
	case u.Scheme != "https" && !(u.Scheme == "http" && (free || loopback)):
		return wrong("url is not https")
	case outbound.Local(u.Hostname()) && !free && !loopback:
		return wrong("%s is a private address", u.Hostname())
	}
	return u, nil
}

// post sends a message to the receiver of w, signed, and returns its answer's first bytes. failed is the word for what went wrong.
func (s *Service) post(ctx context.Context, w event.Watch, id string, body []byte) (status int, answer []byte, failed string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Delivery.URL, bytes.NewReader(body))
	if err != nil {
		return 0, nil, failedConnect
	}
	now := s.now()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "contextd/"+build.Read().Version)
	keys := [][]byte{w.Secret}
	if len(w.SecretBefore) > 0 && now.Before(w.BeforeUntil) {
		keys = append(keys, w.SecretBefore)
	}
	alert.Sign(r.Header, id, now, body, keys...)
	r.Header.Set("X-Mcp-Subscription-Id", w.ID)
	return s.send(r)
}

// send sends r and reads its answer.
func (s *Service) send(r *http.Request) (status int, answer []byte, failed string) {
	res, err := s.client.Do(r)
	if err != nil {
		private := new(outbound.PrivateError)
		var timeout net.Error
		switch {
		case errors.As(err, &private):
			return 0, nil, failedPrivate
		case errors.As(err, &timeout) && timeout.Timeout():
			return 0, nil, failedTimeout
		case strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "x509: "):
			return 0, nil, failedTLS
		}
		return 0, nil, failedConnect
	}
	defer res.Body.Close()
	answer, _ = io.ReadAll(io.LimitReader(res.Body, answerRead))
	switch res.StatusCode / 100 {
	case 2:
	case 4:
		failed = failedClient
	case 5:
		failed = failedServer
	default:
		failed = failedAnswer
	}
	return res.StatusCode, answer, failed
}

// challenge has the receiver of w show that it wants to hear: it answers with what it was sent.
func (s *Service) challenge(ctx context.Context, w event.Watch) error {
	if err := s.cfg.Challenges(w.KeyID); err != nil {
		return err
	}
	c := control{Type: "verification", Challenge: rand.Text()}
	m, err := s.controlMessage(w, c)
	if err != nil {
		return err
	}
	status, answer, failed := s.post(ctx, w, m.ID, m.Body)
	var echo struct {
		Challenge string `json:"challenge"`
	}
	if failed == "" && (len(answer) > challengeRead || json.Unmarshal(answer, &echo) != nil ||
		subtle.ConstantTimeCompare([]byte(echo.Challenge), []byte(c.Challenge)) != 1) {
		failed = failedChallenge
	}
	if failed == "" {
		return nil
	}
	what := failed
	if status > 0 && failed != failedChallenge {
		what = fmt.Sprintf("%s, %d", failed, status)
	}
	return api.Errorf(api.ReasonCallbackRefused, "the receiver did not answer the challenge (%s)", what).
		WithHint(`answer a POST of {"type":"verification","challenge":"…"} with 2xx and {"challenge":"…"}, the same text`)
}

// attempt delivers d once.
func (s *Service) attempt(ctx context.Context, d event.Delivery) (o event.Outcome) {
	w := d.Watch
	var status int
	var failed string
	switch w.Delivery.Type {
	case api.DeliverWebhook:
		status, _, failed = s.post(ctx, w, d.Event, d.Body)
	case api.DeliverNtfy:
		status, failed = s.ntfy(ctx, w, d)
	default:
		failed = s.mail(ctx, w, d)
	}
	o = event.Outcome{Watch: w.ID, Event: d.Event, At: s.now()}
	switch {
	case failed == "":
		o.Taken = true
	case status == http.StatusGone: // it wants this one no longer
	case status == http.StatusRequestEntityTooLarge, d.Attempts >= len(retries()):
		o.Error, o.Gap = failed, d.Before
	default:
		o.Error, o.Next = failed, o.At.Add(retries()[d.Attempts])
	}
	o.Suspend = o.Error != "" && w.Failures+1 >= deadAttempts && !w.FailedSince.IsZero() && o.At.Sub(w.FailedSince) >= deadAfter
	return o
}

// texts are what d tells people, in a title and lines.
func (s *Service) texts(d event.Delivery) (title, text, link string) {
	var e api.Event
	var data api.EventData
	var c control
	if json.Unmarshal(d.Body, &e) != nil || e.ID == "" || json.Unmarshal(e.Data, &data) != nil {
		_ = json.Unmarshal(d.Body, &c)
		return "contextd: watch " + cmp.Or(c.Type, "message"), c.Message, s.cfg.PublicURL + "/account"
	}
	text = data.Message
	for _, c := range data.Citations {
		text += fmt.Sprintf("\n[%d] %s %s", c.N, c.Name, c.URL)
	}
	if data.Demo {
		text += "\nThis is synthetic data."
	}
	return data.Message, text, data.URL
}

// ntfy posts d to a topic.
func (s *Service) ntfy(ctx context.Context, w event.Watch, d event.Delivery) (status int, failed string) {
	var m alert.Ntfy
	m.Title, m.Message, m.Click = s.texts(d)
	m.Topic = w.Delivery.Topic
	body, err := json.Marshal(m)
	if err != nil {
		return 0, failedConnect
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimRight(w.Delivery.URL, "/")+"/", bytes.NewReader(body))
	if err != nil {
		return 0, failedConnect
	}
	r.Header.Set("Content-Type", "application/json")
	if len(w.Secret) > 0 {
		r.Header.Set("Authorization", "Bearer "+string(w.Secret))
	}
	status, _, failed = s.send(r)
	return status, failed
}

// mail sends d to an address that is still one of its owner's.
func (s *Service) mail(ctx context.Context, w event.Watch, d event.Delivery) (failed string) {
	if ok, err := s.ownsMail(ctx, w.OwnerID, w.Delivery.Email); err != nil || !ok {
		return failedMail
	}
	title, text, link := s.texts(d)
	text += fmt.Sprintf("\n\n%s\n\nYou get this because of the watch %s. Remove it: ctx watch remove %[2]s\n", link, w.ID)
	if err := s.cfg.Mailer.Deliver(ctx, w.Delivery.Email, title, text); err != nil {
		return failedMail
	}
	return ""
}

// ownsMail reports whether an address is one by which an owner signs in.
func (s *Service) ownsMail(ctx context.Context, ownerID, address string) (bool, error) {
	list, err := s.cfg.Identities(ctx, ownerID)
	for _, id := range list {
		if id.Kind == api.IdentityEmail && strings.EqualFold(id.Subject, address) {
			return true, nil
		}
	}
	return false, err
}

// Run delivers until ctx is done. It is the leader's.
func (s *Service) Run(ctx context.Context) {
	q := &queue{Service: s, done: make(chan event.Outcome, mostOpen), room: make(chan struct{}, together),
		open: map[[2]string]bool{}, closed: map[[2]string]bool{}, hosts: map[string]*lane{}}
	var all sync.WaitGroup
	all.Go(func() { q.record(ctx) })
	q.run(ctx)
	q.workers.Wait()
	close(q.done)
	all.Wait()
}

// mostOpen is how many deliveries are in memory.
const mostOpen = 4000

// queue has the deliveries that are under way.
type queue struct {
	*Service
	done    chan event.Outcome
	room    chan struct{} // one place for each delivery at a time
	workers sync.WaitGroup

	mu     sync.Mutex // guards what follows
	open   map[[2]string]bool
	closed map[[2]string]bool // since the reading of what is due began, which may have read it as it was before
	hosts  map[string]*lane
}

// lane are the deliveries to one host.
type lane struct {
	waiting []event.Delivery
	workers int
}

// run takes what is due, again when there is more or when more is due.
func (q *queue) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := tryEvery
		q.mu.Lock()
		clear(q.closed)
		q.mu.Unlock()
		list, err := q.cfg.Store.DueDeliveries(ctx, q.now())
		if err == nil {
			q.take(ctx, list)
			var next time.Time
			if next, err = q.cfg.Store.NextDelivery(ctx); err == nil && next.After(q.now()) {
				wait = min(wait, next.Sub(q.now()))
			}
		}
		if err != nil && ctx.Err() == nil {
			q.cfg.Logger.Error("deliveries of watches not read", "error", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-q.wake:
		}
		timer.Stop()
	}
}

// take starts the deliveries of list that are not under way.
func (q *queue) take(ctx context.Context, list []event.Delivery) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, d := range list {
		id := [2]string{d.Watch.ID, d.Event}
		if q.open[id] || q.closed[id] || len(q.open) >= mostOpen {
			continue
		}
		q.open[id] = true
		host := cmp.Or(d.Watch.Host, "mail")
		l := q.hosts[host]
		if l == nil {
			l = &lane{}
			q.hosts[host] = l
		}
		if l.waiting = append(l.waiting, d); l.workers < togetherHost {
			l.workers++
			q.workers.Go(func() { q.serve(ctx, host, l) })
		}
	}
}

// serve delivers what waits for a host, one after another.
func (q *queue) serve(ctx context.Context, host string, l *lane) {
	for {
		q.mu.Lock()
		if len(l.waiting) == 0 || ctx.Err() != nil {
			for _, d := range l.waiting {
				delete(q.open, [2]string{d.Watch.ID, d.Event})
			}
			l.waiting = nil
			if l.workers--; l.workers == 0 {
				delete(q.hosts, host)
			}
			q.mu.Unlock()
			return
		}
		d := l.waiting[0]
		l.waiting = l.waiting[1:]
		q.mu.Unlock()
		select {
		case q.room <- struct{}{}:
		case <-ctx.Done():
			q.forget(d.Watch.ID, d.Event)
			continue
		}
		if q.ended(d.Watch) && d.Watch.EndedAt.IsZero() {
			if err := q.end(ctx, d.Watch); err != nil && ctx.Err() == nil {
				q.cfg.Logger.Error("watch not ended", "watch", d.Watch.ID, "error", err)
			}
			q.forget(d.Watch.ID, d.Event)
		} else {
			// A stop does not cut it off at once: whether it was taken would not be known.
			attempt, cancel := context.WithCancel(context.WithoutCancel(ctx))
			stop := context.AfterFunc(ctx, func() { time.AfterFunc(stopGrace, cancel) })
			q.done <- q.attempt(attempt, d)
			stop()
			cancel()
		}
		<-q.room
	}
}

// stopGrace is for a delivery under way at a stop.
const stopGrace = 500 * time.Millisecond

func (q *queue) forget(watch, id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, [2]string{watch, id})
	q.closed[[2]string{watch, id}] = true
}

// record writes what came of deliveries, several in one transaction.
func (q *queue) record(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for first := range q.done {
		list := []event.Outcome{first}
	more:
		for len(list) < recordEvery {
			select {
			case o, ok := <-q.done:
				if !ok {
					break more
				}
				list = append(list, o)
			default:
				break more
			}
		}
		if err := q.cfg.Store.RecordDeliveries(ctx, list); err != nil {
			q.cfg.Logger.Error("deliveries of watches not recorded", "deliveries", len(list), "error", err)
		}
		for _, o := range list {
			q.forget(o.Watch, o.Event)
			if q.cfg.Delivered != nil {
				q.cfg.Delivered(o.Taken, o.Error)
			}
		}
		q.mu.Lock()
		few := len(q.open) < together
		q.mu.Unlock()
		if few { // the next that are due can be read
			q.Wake()
		}
	}
}

// Wake has deliveries looked at.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// tellGaps tells receivers that answer again of what was given up.
func (s *Service) tellGaps(ctx context.Context) error {
	list, err := s.cfg.Store.Watches(ctx, "")
	for _, w := range list {
		if w.Gap == "" || w.Failures > 0 || w.Status() != api.WatchActive || w.Delivery.Type == api.DeliverPoll {
			continue
		}
		m, failed := s.controlMessage(w, control{Type: "gap", Cursor: w.Gap,
			Message: "Some events were given up while this could not be delivered. Read them with the cursor: ctx watch events " + w.ID})
		if w.Gap = ""; failed == nil {
			failed = s.cfg.Store.ChangeWatch(ctx, w, m, s.now())
		}
		err = errors.Join(err, failed)
	}
	return err
}
