package web

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/contextd/contextd/daemon/billing"
	"github.com/contextd/contextd/daemon/gate"
	"github.com/contextd/contextd/daemon/reader"
	"github.com/contextd/contextd/internal/jsonx"
	"github.com/contextd/contextd/sdk/api"
)

// lines are headers that many answers share, made once: names in canonical form, each with its one value. Nobody changes them.
type lines []line

type line struct {
	name  string
	value []string
}

func (l lines) set(h http.Header) {
	for _, line := range l {
		h[line.name] = line.value
	}
}

// always are the headers of all answers of a server.
func always(cfg Config) (l lines) {
	if cfg.HTTPS {
		l = append(l, line{"Strict-Transport-Security", []string{hsts}})
	}
	if cfg.Version != "" {
		l = append(l, line{api.HeaderVersion, []string{cfg.Version}})
	}
	if cfg.Demo {
		l = append(l, line{api.HeaderDataMode, []string{api.DataModeDemo}})
	}
	return l
}

// liveHeaders are those of an answer that is of now.
func liveHeaders() lines {
	return lines{{"Cache-Control", []string{"private, no-cache"}}, {"Vary", []string{"Accept-Encoding"}}}
}

// SnapshotCache says who may keep a snapshot that was had with a key. One that was paid for by call is its payer's alone.
type SnapshotCache string

// The kinds of SnapshotCache. The zero value is SnapshotsPublic.
const (
	SnapshotsPublic  SnapshotCache = "public"  // caches that are shared, too
	SnapshotsPrivate SnapshotCache = "private" // the client alone
)

// control is the Cache-Control of what c says.
func (c SnapshotCache) control() string {
	if c == SnapshotsPrivate {
		return api.CacheImmutableOwn
	}
	return api.CacheImmutable
}

// immutableHeaders are those of an answer that stays the same. It depends on who asks, so caches have to look at that; many do not.
func immutableHeaders(control string) lines {
	return lines{
		{"Cache-Control", []string{control}},
		{"Vary", []string{"Accept-Encoding, Authorization, " + api.HeaderPayment + ", " + api.HeaderPaymentAlias + ", " +
			api.HeaderSignature}},
	}
}

// headers sets those that belong to an answer.
func (s *Server) headers(w http.ResponseWriter, a reader.Answer) {
	if a.Immutable {
		s.immutable.set(w.Header())
	} else {
		s.live.set(w.Header())
	}
	setWarning(w, a.Warning)
}

// setWarning says beside an answer what the caller could expect and does not get, "" if nothing.
func setWarning(w http.ResponseWriter, text string) {
	if text != "" {
		w.Header().Set(api.HeaderWarning, fmt.Sprintf("199 contextd %q", text))
	}
}

// setLeft says in h what a caller with a key can still call. Of keys that are not charged there is nothing to say.
func setLeft(h http.Header, left billing.Left) {
	switch calls := strconv.FormatInt(left.Calls, 10); {
	case !left.Known:
	case left.Free:
		h.Set(api.HeaderFreeLeft, calls)
		h.Set(api.HeaderFreeReset, Seconds(left.Reset))
	default:
		h.Set(api.HeaderCreditsLeft, calls)
	}
	if left.Daily != nil {
		h.Set(api.HeaderDailyLeft, strconv.FormatInt(*left.Daily, 10))
	}
}

type proofLine struct {
	of    api.Proof
	value []string
}

// setProof says in h which leaf proves an answer. Most have that of the newest state, so the last text is kept.
func (s *Server) setProof(h http.Header, p api.Proof) {
	if p.Log == "" {
		return
	}
	line := s.proven.Load()
	if line == nil || line.of != p {
		line = &proofLine{p, []string{p.String()}}
		s.proven.Store(line)
	}
	h[api.HeaderProof] = line.value
}

func (s *Server) text(a reader.Answer) []byte { return a.Text(s.cfg.Now()) }

// write sends an answer. Bodies that were compressed once are sent so where the client takes gzip.
func (s *Server) write(w http.ResponseWriter, r *http.Request, op api.Op, served gate.Served[reader.Answer]) {
	a := served.Answer
	a.Immutable = op == api.OpSnapshot
	s.headers(w, a)
	s.setProof(w.Header(), a.Proof)
	setLeft(w.Header(), served.Left)
	if served.Caller.SignedIn && a.Immutable { // shared caches know nothing of the header of sign-ins
		w.Header().Set("Cache-Control", api.CacheImmutableOwn)
	}
	if served.Sold != nil {
		control := "no-store"
		if a.Immutable {
			control = api.CacheImmutableOwn
		}
		w.Header().Set("Cache-Control", control)
		send(w, http.StatusOK, Sold(w.Header(), op, served, s.cfg.Now()))
		return
	}
	if a.Body != nil && acceptsGzip(r.Header["Accept-Encoding"]) {
		w.Header().Set("Content-Encoding", "gzip")
		send(w, http.StatusOK, a.Body.Gzip(a.ReadAt(s.cfg.Now())))
		return
	}
	send(w, http.StatusOK, s.text(a))
}

// Proven is served, an answer to q, with the leaf that proves it, which its receipt names too.
func Proven(ctx context.Context, proofs Proofs, q api.Query, served gate.Served[reader.Answer]) gate.Served[reader.Answer] {
	if !served.Replayed.IsZero() && proofs != nil {
		served.Answer.Proof = proofs.ProofOf(ctx, q, served.Sold)
	}
	if paid := served.Caller.Payment; paid != nil && paid.Receipt != nil && served.Answer.Proof.Log != "" {
		paid.Receipt.Extensions.Proof = served.Answer.Proof
	}
	return served
}

// Sold is the answer of op that was paid for by call, as it reads now. One that was given before is marked in h.
func Sold(h http.Header, op api.Op, served gate.Served[reader.Answer], now time.Time) []byte {
	if served.Replayed.IsZero() {
		return served.Sold
	}
	age := max(0, now.Sub(served.Replayed))
	h.Set(api.HeaderReplayed, "true")
	h.Set(api.HeaderAge, strconv.FormatInt(int64(age/time.Second), 10))
	if op == api.OpSnapshot { // its age is that at the end of its minute, for ever
		return served.Sold
	}
	return reader.Aged(served.Sold, age)
}

func send(w http.ResponseWriter, status int, text []byte) { Send(w, status, "application/json", text) }

// Send writes a text with its type and length. A client that went away is not an error of ours.
func Send(w http.ResponseWriter, status int, contentType string, text []byte) {
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// WriteJSON answers with status and v as JSON.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	text, err := jsonx.Encode(v)
	if err != nil {
		return err
	}
	send(w, status, append(text, '\n'))
	return nil
}

// Seconds is d in whole seconds, rounded up.
func Seconds(d time.Duration) string {
	return strconv.FormatInt(int64(math.Ceil(d.Seconds())), 10)
}

// acceptsGzip reports whether the Accept-Encoding values take gzip: named, or by *, and not with q=0.
func acceptsGzip(values []string) bool {
	any := false
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			coding, params, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(coding)) {
			case "gzip", "x-gzip":
				return !refused(params)
			case "*":
				any = !refused(params)
			}
		}
	}
	return any
}

// refused reports whether the parameters of a coding say q=0.
func refused(params string) bool {
	name, value, _ := strings.Cut(params, "=")
	if !strings.EqualFold(strings.TrimSpace(name), "q") {
		return false
	}
	q, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	return err == nil && q == 0
}
