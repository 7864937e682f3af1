package web_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/contextd/contextd/daemon"
	"github.com/contextd/contextd/daemon/daemontest"
	"github.com/contextd/contextd/daemon/pack"
	"github.com/contextd/contextd/daemon/translog"
	"github.com/contextd/contextd/internal/devchain"
	"github.com/contextd/contextd/sdk/api"
)

// stage is a daemon on which every answer can be had: it is paid on a chain, and serves a pack that has no state at first.
type stage struct {
	t     *testing.T
	c     *contract
	chain *devchain.Chain
	d     *daemontest.Daemon
	past  string       // a minute with a state
	made  time.Time    // when the newest state was made
	jar   string       // the session's secret
	back  atomic.Int64 // by which the clock is behind
	owner api.Session
	key   string // of the owner
}

// newStage opens the daemon and signs its owner in.
func newStage(t *testing.T, c *contract) *stage {
	t.Helper()
	s := &stage{t: t, c: c, chain: daemontest.Chain(t)}
	back := &s.back
	back.Store(int64(2 * time.Minute))
	s.d = daemontest.Open(t, daemontest.On(s.chain), daemontest.WithPages, func(cfg *daemon.Config) {
		cfg.Now = func() time.Time { return time.Now().Add(-time.Duration(back.Load())) }
		cfg.Packs = []daemon.Pack{{Pack: pack.Crypto()}, {Pack: second()}}
		cfg.StoreURL = "" // tables are dropped from its file
		cfg.Chain.SettleKey, cfg.Watches.HTTPLoopback = s.chain.Gas().PrivateKey, true
		cfg.OAuth.Enabled, cfg.SecurityContact, cfg.MCP.RegistryAuth = true, "mailto:security@example.org", "v=MCPv1; k=ed25519; p=AAAA"
		cfg.Limits = daemon.Limits{FreeCalls: 1, SignIns: 1_000_000, Mails: 1_000_000, Requests: 1_000_000}
	})
	s.make(api.PackCrypto)
	s.d.Recording.Break("", nil) // until the second pack may have a state
	s.d.Run(t)
	s.past = time.Now().Add(-time.Duration(back.Load())).UTC().Format("2006-01-02T15:04")
	back.Store(0)
	if err := s.d.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// make gives a pack a state and a brief.
func (s *stage) make(pack string) {
	s.t.Helper()
	for _, job := range []func(context.Context, string) error{s.d.Refresh, s.d.Narrate} {
		if err := job(s.t.Context(), pack); err != nil {
			s.t.Fatal(err)
		}
	}
}

// second is a pack that takes the place of one that is announced.
func second() *pack.Pack {
	p := pack.Crypto()
	p.ID = api.PackAI
	return p
}

// openapiChange alters a request.
type openapiChange = func(*http.Request)

// openapiWith sets a header.
func openapiWith(name, value string) openapiChange {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// openapiBearer sends a key.
func openapiBearer(key string) openapiChange { return openapiWith("Authorization", "Bearer "+key) }

// session sends a cookie.
func session(secret string) openapiChange { return openapiWith("Cookie", api.SessionCookie+"="+secret) }

// foreign makes a request one that a page of another origin sends.
func foreign(r *http.Request) {
	r.Header.Set("Origin", "https://elsewhere.example")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
}

// do calls an operation of the stage's daemon and wants a status.
func (s *stage) do(want int, method, path, body string, changes ...openapiChange) answer {
	s.t.Helper()
	return s.at(s.d, want, method, path, body, changes...)
}

// at calls an operation of any daemon.
func (s *stage) at(d *daemontest.Daemon, want int, method, path, body string, changes ...openapiChange) answer {
	s.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, d.URL()+path, content)
	if err != nil {
		s.t.Fatal(err)
	}
	if r.Header.Set("Content-Type", "application/json"); path == api.PathAuthEmailLanding ||
		path == "/oauth/token" || path == "/oauth/revoke" || path == "/oauth/authorize" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if body == "" {
		r.Header.Del("Content-Type")
	}
	for _, c := range changes {
		c(r)
	}
	return s.c.call(s.t, want, r)
}

// large is a body that is too large.
func large() string { return `{"name":"` + strings.Repeat("x", api.MaxBodyBytes) + `"}` }

// describe calls the description.
func (s *stage) describe() {
	s.do(404, "GET", api.PathDocs+"/x", "")
	s.do(404, "GET", api.PathSkills+"/x/SKILL.md", "")
	s.do(200, "GET", api.PathHealth, "")
	s.do(200, "GET", api.PathReady, "")
	for _, path := range []string{
		api.PathPacks, api.PathOpenAPI, api.PathOpenAPIYAML, api.PathDocs, api.PathDocs + "/run", api.PathOpenAPIRoot, api.PathX402,
		api.PathX402Items, api.PathDID, api.PathLLMs, api.PathServerCard, api.PathServerCardKnown, api.PathAICatalog, api.PathMCPCatalog,
		api.PathAPICatalog, api.PathSkillsIndex, api.PathSkills + "/contextd-lookup/SKILL.md", api.PathSecurity, api.PathRegistryAuth,
	} {
		a := s.do(200, "GET", path, "")
		s.do(304, "GET", path, "", openapiWith("If-None-Match", a.Header.Get("ETag")))
	}
}

// logged are the paths of what a log has with a full tile.
func logged() []string {
	log := strings.Replace(api.PathLog, "{pack}", api.PackCrypto, 1)
	minute := time.Now().UTC().Add(time.Minute).Format("2006-01-02T15:04")
	return []string{
		log + "/checkpoint", log + "/tile/0/000", log + "/tile/entries/000", log + "/tile/1/000.p/1", log + "/leaf/255", log + "/at?minute=" + minute,
		log + "/row?kind=asset&key=bitcoin", log + "/anchor/0",
	}
}

// logs calls what serves the transparency log.
func (s *stage) logs() {
	fillLog(s.t, s.d, translog.Width)
	for _, path := range logged() {
		a := s.do(200, "GET", path, "")
		s.do(304, "GET", path, "", openapiWith("If-None-Match", a.Header.Get("ETag")))
		s.do(404, "GET", strings.Replace(path, api.PackCrypto, "none", 1), "")
	}
	s.do(400, "GET", strings.Replace(api.PathLogAt, "{pack}", api.PackCrypto, 1)+"?minute=yesterday", "")
	s.do(400, "GET", strings.Replace(api.PathLogRow, "{pack}", api.PackCrypto, 1)+"?kind=asset&kind=chain", "")
}

// token is that of a new mailed link.
func (s *stage) token(email string) string {
	s.t.Helper()
	s.do(202, "POST", api.PathAuthEmail, `{"email":"`+email+`"}`)
	return s.d.MailedToken(s.t, email)
}

// signIn calls what signs in, and stays signed in as an owner of tier pro with a key.
func (s *stage) signIn() {
	for path, body := range map[string]string{
		api.PathAuthEmail: `{"email":"x@example.org"}`, api.PathAuthEmailVerify: `{"token":"x"}`, api.PathAuthEmailLanding: "token=x",
		api.PathAuthWallet: `{"address":"x"}`, api.PathAuthWalletVerify: `{"message":"x","signature":"x"}`,
	} {
		s.do(403, "POST", path, body, foreign)
		s.do(413, "POST", path, large())
		if path == api.PathAuthEmailLanding {
			body = "%"
		} else {
			body = `{"nam":1}`
		}
		s.do(400, "POST", path, body)
	}
	s.do(401, "POST", api.PathAuthEmailVerify, `{"token":"x"}`)
	s.do(401, "POST", api.PathAuthEmailLanding, "token=x")
	s.do(200, "GET", api.PathAuthEmailLanding+"?token=x", "")
	s.do(400, "GET", api.PathAuthEmailLanding, "")
	s.do(200, "POST", api.PathAuthEmailLanding, url.Values{"token": {s.token("ada@example.org")}}.Encode())

	key, err := crypto.GenerateKey()
	if err != nil {
		s.t.Fatal(err)
	}
	s.do(401, "POST", api.PathAuthWalletVerify, signed(s.t, key, "another text"))
	var text api.WalletSignInResponse
	s.decode(s.do(200, "POST", api.PathAuthWallet, `{"address":"`+crypto.PubkeyToAddress(key.PublicKey).Hex()+`"}`), &text)
	s.do(200, "POST", api.PathAuthWalletVerify, signed(s.t, key, text.Message))

	a := s.do(200, "POST", api.PathAuthEmailVerify, `{"token":"`+s.token("ada@example.org")+`"}`)
	s.decode(a, &s.owner)
	s.jar = cookie(a)
	s.do(200, "GET", api.PathAuthSession, "", session(s.jar))
	s.do(401, "GET", api.PathAuthSession, "", session("x"))
	s.do(403, "DELETE", api.PathAuthSession, "", foreign)
	s.do(204, "DELETE", api.PathAuthSession, "")
	s.do(400, "DELETE", api.PathAuthSession+"?all=some", "", session(s.jar))
	s.do(401, "DELETE", api.PathAuthSession+"?all=true", "")
	s.identities()
}

// identities calls what an owner does with mail addresses and wallets.
func (s *stage) identities() {
	a := s.do(200, "POST", api.PathAuthEmailVerify, `{"token":"`+s.token("grace@example.org")+`"}`)
	me := session(cookie(a))
	s.do(202, "POST", api.PathAuthEmail, `{"email":"second@example.org"}`, me)
	a = s.do(200, "POST", api.PathAuthEmailVerify, `{"token":"`+s.d.MailedToken(s.t, "second@example.org")+`"}`, me)
	me = session(cookie(a))
	var list api.IdentityListResponse
	s.decode(s.do(200, "GET", api.PathAuthIdentities, "", me), &list)
	if len(list.Identities) != 2 {
		s.t.Fatalf("identities %+v", list)
	}
	one := api.PathAuthIdentities + "/" + list.Identities[0].ID
	s.do(401, "GET", api.PathAuthIdentities, "")
	s.do(401, "DELETE", one, "")
	s.do(403, "DELETE", one, "", me, foreign)
	s.do(404, "DELETE", api.PathAuthIdentities+"/none", "", me)
	s.do(204, "DELETE", one, "", me)
	s.do(400, "DELETE", api.PathAuthIdentities+"/"+list.Identities[1].ID, "", me)
	s.do(204, "DELETE", api.PathAuthSession+"?all=true", "", me)
}

// signed is the body that signs in with text signed by key.
func signed(t *testing.T, key *ecdsa.PrivateKey, text string) string {
	t.Helper()
	sig, err := crypto.Sign(accounts.TextHash([]byte(text)), key)
	if err != nil {
		t.Fatal(err)
	}
	sig[64] += 27
	body, err := json.Marshal(api.WalletVerifyRequest{Message: text, Signature: hexutil.Encode(sig)})
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// cookie is the secret that an answer sets.
func cookie(a answer) string {
	value, _, _ := strings.Cut(strings.TrimPrefix(a.Header.Get("Set-Cookie"), api.SessionCookie+"="), ";")
	return value
}

// decode reads the JSON of an answer into v.
func (s *stage) decode(a answer, v any) {
	s.t.Helper()
	if err := json.Unmarshal(a.Body, v); err != nil {
		s.t.Fatalf("%v: %s", err, a.Body)
	}
}

// own calls what an owner does with keys and prompts.
func (s *stage) own() {
	me, prompt := session(s.jar), api.PathPrompts+"/crypto"
	var issued api.IssuedKey
	s.decode(s.do(201, "POST", api.PathKeys, `{"name":"a","traceConsent":"none"}`, me), &issued)
	s.key = issued.Key
	s.do(200, "GET", api.PathKeys, "", me)
	s.do(200, "GET", api.PathKeys+"?limit=1", "", me)
	s.do(400, "GET", api.PathKeys+"?limit=0", "", me)
	s.do(400, "POST", api.PathKeys, `{"name":""}`, me)
	s.do(413, "POST", api.PathKeys, large(), me)
	var gone api.IssuedKey
	s.decode(s.do(201, "POST", api.PathKeys, `{"name":"b"}`, me), &gone)
	for _, body := range []string{"", `{"name":"c","graceSeconds":600}`} {
		s.decode(s.do(201, "POST", api.PathKeys+"/"+gone.KeyID+"/rotate", body, me), &gone)
	}
	s.do(200, "GET", api.PathKeys+"?limit=2", "", me)
	s.do(400, "POST", api.PathKeys+"/"+gone.KeyID+"/rotate", `{"graceSeconds":604801}`, me)
	s.do(413, "POST", api.PathKeys+"/"+gone.KeyID+"/rotate", large(), me)
	s.do(404, "POST", api.PathKeys+"/none/rotate", "", me)
	s.do(200, "PATCH", api.PathKeys+"/"+gone.KeyID, `{"dailyCredits":200}`, me)
	s.do(400, "PATCH", api.PathKeys+"/"+gone.KeyID, "{}", me)
	s.do(413, "PATCH", api.PathKeys+"/"+gone.KeyID, large(), me)
	s.do(404, "PATCH", api.PathKeys+"/none", `{"name":"x"}`, me)
	s.do(200, "DELETE", api.PathKeys+"/"+gone.KeyID, "", me)
	s.do(404, "DELETE", api.PathKeys+"/none", "", me)

	s.do(403, "GET", prompt, "", me)
	if err := s.d.Keys().SetTier(s.t.Context(), s.owner.UserID, api.TierPro); err != nil {
		s.t.Fatal(err)
	}
	s.do(200, "PUT", prompt, `{"prompt":"Only what concerns stablecoins."}`, me)
	s.do(200, "GET", prompt, "", me)
	s.do(204, "DELETE", prompt, "", me)
	s.do(400, "PUT", prompt, `{"prompt":""}`, me)
	s.do(413, "PUT", prompt, large(), me)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		s.do(404, method, api.PathPrompts+"/markets", `{"prompt":"x"}`, me)
	}
	for _, call := range [][3]string{
		{"POST", api.PathKeys, `{"name":"x"}`}, {"DELETE", api.PathKeys + "/none", ""}, {"PATCH", api.PathKeys + "/none", "{}"},
		{"POST", api.PathKeys + "/none/rotate", ""},
		{"POST", api.PathCredits, `{"pack":"hobby"}`},
		{"PUT", prompt, `{"prompt":"x"}`}, {"DELETE", prompt, ""}, {"POST", api.PathCredits + "/none/verify", `{"txHash":"x"}`},
		{"DELETE", api.PathOwnWatches + "/none", ""}, {"POST", api.PathOwnWatches + "/none/test", ""},
	} {
		s.do(401, call[0], call[1], call[2])
		s.do(403, call[0], call[1], call[2], me, foreign)
	}
	for _, path := range []string{api.PathKeys, prompt, api.PathCredits, api.PathCredits + "/none", api.PathUsage, api.PathOwnWatches} {
		s.do(401, "GET", path, "")
	}
}

// trade calls what buys credits and reports them.
func (s *stage) trade() {
	me := session(s.jar)
	var intent api.DepositIntent
	s.decode(s.do(201, "POST", api.PathCredits, `{"pack":"starter"}`, me), &intent)
	s.do(400, "POST", api.PathCredits, `{"pack":"none"}`, me)
	s.do(404, "POST", api.PathCredits, `{"pack":"starter","keyId":"none"}`, me)
	s.do(413, "POST", api.PathCredits, large(), me)
	path := api.PathCredits + "/" + intent.ID
	s.do(200, "GET", path, "", me)
	s.do(404, "GET", api.PathCredits+"/none", "", me)
	hash, err := s.chain.Transfer(s.t.Context(), s.chain.Wallet(), intent.Recipient, 1_000_000, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	body := `{"txHash":"0x` + hex.EncodeToString(hash[:]) + `"}`
	var d api.Deposit
	if s.decode(s.do(200, "POST", path+"/verify", body, me), &d); d.Status != api.DepositVerified {
		s.t.Fatalf("the purchase is %s", d.Status)
	}
	s.do(400, "POST", path+"/verify", `{"txHash":"x"}`, me)
	s.do(404, "POST", api.PathCredits+"/none/verify", body, me)
	s.do(413, "POST", path+"/verify", large(), me)
	s.do(200, "GET", api.PathCredits, "", me)
	s.do(200, "GET", api.PathCredits+"?keyId="+s.key[:api.KeyIDLength], "", me)
	s.do(400, "GET", api.PathCredits+"?keyId=a&keyId=b", "", me)
	s.do(404, "GET", api.PathCredits+"?keyId=none", "", me)
	s.do(200, "GET", api.PathUsage+"?days=7", "", me)
	s.do(400, "GET", api.PathUsage+"?days=x", "", me)
}

// paid are the data operations with a price, called by the examples of their declarations.
func (s *stage) paid() map[string]string {
	list := map[string]string{}
	for name := range paidBy(s.t) {
		_, path, _ := strings.Cut(name, " ")
		if op, ok := api.OpAt(path); ok {
			list[name] = "?" + exampleOf(op, s.past, false)
		}
	}
	return list
}

// read calls the data operations.
func (s *stage) read() {
	unknown := "cv_test_" + strings.Repeat("Zq", api.KeySecretChars/2)
	spent, free, hobby := s.d.Key(s.t, api.TierFree), s.d.Key(s.t, api.TierFree), s.d.Key(s.t, api.TierHobby)
	var fresh api.StateResponse
	s.decode(s.do(200, "GET", api.PathFresh, "", openapiBearer(spent)), &fresh)
	s.made = fresh.Freshness.GeneratedAt
	stream := func(key, more string) string { return api.PathSubscribe + "?token=" + key + more }
	for _, ready := range []bool{false, true} {
		if ready {
			s.d.Recording.Mend()
			s.make(api.PackAI)
		}
		for name, query := range s.paid() {
			method, path, _ := strings.Cut(name, " ")
			if !ready {
				s.do(503, method, path+query+"&pack=ai", "", openapiBearer(s.key))
				continue
			}
			s.do(200, method, path+query, "", openapiBearer(s.key))
			s.do(400, method, path+query+"&pack=ai&pack=ai", "", openapiBearer(s.key))
			s.do(401, method, path+query, "", openapiBearer(unknown))
			s.do(402, method, path+query, "")
			s.do(402, method, path+query+"&pack=ai", "", openapiBearer(hobby))
			s.do(403, method, path+query+"&pack=ai", "", openapiBearer(free))
			s.do(404, method, path+query+"&pack=none", "", openapiBearer(s.key))
			s.do(429, method, path+query, "", openapiBearer(spent))
			s.back.Add(-int64(2 * time.Second)) // of the minute in which a client may present so many proofs
			s.pay(method, path+query)
			s.identify(method, path+query)
		}
		if !ready {
			s.do(503, "GET", stream(s.key, "&pack=ai"), "")
			s.do(503, "GET", s.history("&pack=ai"), "", openapiBearer(s.key))
			s.do(503, "GET", eventsOf(api.PackAI), "")
		}
	}
	for _, op := range [...]api.Op{api.OpCite, api.OpQuery, api.OpCheck} {
		s.do(413, "POST", op.Path(), large(), openapiBearer(s.key))
	}
	s.do(200, "GET", api.OpQuery.Path()+"?describe=true", "")
	s.do(200, "POST", api.OpQuery.Path(), `{"describe":true,"pack":"crypto"}`, openapiBearer(s.key))
	s.do(200, "POST", api.PathCite, `{"ref":3,"pack":null}`, openapiBearer(s.key))
	s.do(404, "GET", api.PathCite+"?ref=999", "", openapiBearer(s.key))
	s.do(404, "GET", api.PathLookup+"?q=foo", "")
	s.do(404, "GET", api.PathSnapshot+"?at=2001-01-01T00:00:00Z", "", openapiBearer(s.key))
	s.do(404, "GET", api.PathChanges+"?since=-999d", "", openapiBearer(s.key))
	s.do(200, "GET", api.PathChanges+"?since=-1m", "", openapiBearer(s.key))
	s.do(400, "GET", api.PathChanges+"?since=soon", "", openapiBearer(s.key))

	s.do(404, "GET", api.PathSeries+"?path=top_movers&span=366d", "", openapiBearer(s.key))
	s.keep(free, hobby, spent, unknown)

	event, data, _ := strings.Cut(string(s.do(200, "GET", stream(s.key, ""), "").Body), "\ndata: ")
	if event != "event: pulse" {
		s.t.Errorf("the stream begins with %q", event)
	}
	s.c.fits(s.t, "StreamState", []byte(data))
	s.do(400, "GET", stream("x", ""), "")
	_, data, _ = strings.Cut(string(s.do(200, "GET", stream(s.key, "&members=flags"), "").Body), "\ndata: ")
	s.c.fits(s.t, "StreamState", []byte(data))
	s.do(400, "GET", stream(s.key, "&members=prices"), "")
	s.do(400, "GET", api.PathFresh+"?members=flags,prices", "", openapiBearer(s.key))
	s.do(401, "GET", stream(unknown, ""), "")
	s.do(403, "GET", stream(free, "&pack=ai"), "")
	s.do(403, "GET", stream(hobby, "&pack=ai"), "") // it cannot be paid for by call, so this is no 402
	s.do(404, "GET", stream(s.key, "&pack=none"), "")
	s.do(429, "GET", stream(spent, ""), "")
}

// identify pays for a call by standard x402, and once more with the identifier of that payment.
func (s *stage) identify(method, path string) {
	offer := unwrap[api.StandardRequired](s.t, s.do(402, method, path, ""), api.HeaderRequired)
	for i := range 2 {
		send := s.paying(offer, fmt.Sprintf("pay_%x", sha256.Sum256([]byte(method+path))))
		if i > 0 {
			s.do(409, method, path, "", send)
		} else if a := call(s.t, method, s.d.URL()+path, send); a.Status != 200 && a.Status != 503 { // it may be settled later
			s.t.Errorf("%s: %d %s", path, a.Status, a.Body)
		}
	}
}

// history is a call of history from the newest state on.
func (s *stage) history(more string) string {
	return api.PathHistory + "?member=top_movers&every=5m&from=" + s.made.Format(time.RFC3339Nano) + more
}

// keep calls history.
func (s *stage) keep(free, hobby, spent, unknown string) {
	lines := s.do(200, "GET", s.history(""), "", openapiBearer(s.key)).Body
	for line := range strings.Lines(string(lines)) {
		s.c.fits(s.t, "HistoryLine", []byte(line))
	}
	s.do(400, "GET", s.history("&pack=ai&pack=ai"), "", openapiBearer(s.key))
	s.do(401, "GET", s.history(""), "", openapiBearer(unknown))
	s.do(402, "GET", s.history("&pack=ai"), "", openapiBearer(hobby))
	s.do(403, "GET", s.history("&pack=ai"), "", openapiBearer(free))
	s.do(404, "GET", s.history("&pack=none"), "", openapiBearer(s.key))
	s.do(429, "GET", s.history(""), "", openapiBearer(spent))
}

// pay pays for a call on chain, and sends the proof twice.
func (s *stage) pay(method, path string) {
	s.t.Helper()
	var quoted api.ErrorBody
	s.decode(s.do(402, method, path, ""), &quoted)
	nonce, err := hex.DecodeString(strings.TrimPrefix(quoted.Payment.Nonce, "0x"))
	if err != nil {
		s.t.Fatal(err)
	}
	from := s.chain.Wallet()
	price := api.Op(strings.TrimPrefix(strings.SplitN(path, "?", 2)[0], "/v1/")).PriceMicros()
	hash, err := s.chain.Transfer(s.t.Context(), from, quoted.Payment.Recipient, price, nonce)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := json.Marshal(api.PaymentProof{
		Scheme: api.SchemeX402, Network: api.NetworkL2, TxHash: "0x" + hex.EncodeToString(hash[:]), Payer: from.Address,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.c.fits(s.t, "PaymentProof", text)
	proof := openapiWith(api.HeaderPayment, base64.StdEncoding.EncodeToString(text))
	first, again := s.do(200, method, path, "", proof), s.do(200, method, path, "", proof)
	if !bytes.Equal(ageless([]byte(first.Body)), ageless([]byte(again.Body))) || again.Header.Get(api.HeaderReplayed) != "true" {
		s.t.Errorf("%s: the same proof is answered otherwise the second time", path)
	}
	s.do(402, "GET", api.PathFresh+"?query=another", "", proof)
}

// console are the operations of the console that are bounded in their rate, with the path that is described.
func (s *stage) console() [][2]string {
	var list [][2]string
	for name, op := range s.c.operations() {
		method, path, _ := strings.Cut(name, " ")
		switch {
		case slices.Contains(op.Tags, "MCP"), slices.Contains(op.Tags, "OAuth"), slices.Contains(op.Tags, "Description"), slices.Contains(op.Tags, "Pages"),
			slices.Contains(op.Tags, "Log"), slices.Contains(op.Tags, "Health"):
		case strings.HasPrefix(path, "/v1/") || name == "GET "+api.PathAuthEmailLanding:
		default:
			list = append(list, [2]string{method, strings.NewReplacer("{pack}", "crypto", "{keyId}", s.key[:api.KeyIDLength], "{depositId}", "none", "{identityId}", "none",
				"{watchId}", "none").Replace(path)})
		}
	}
	return list
}

// hurry calls the console too often.
func (s *stage) hurry() {
	now := time.Now()
	d := daemontest.Start(s.t, daemontest.On(s.chain), daemontest.WithPages, func(cfg *daemon.Config) {
		cfg.Limits, cfg.OAuth.Enabled = daemon.Limits{SignIns: 1, Mails: 1, Requests: 1}, true
		cfg.Now = func() time.Time { return now } // what a client has used up does not come back
	})
	for res := new(http.Response); res.StatusCode != 429; {
		var err error
		if res, err = http.Get(d.URL() + logged()[0]); err != nil {
			s.t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode >= 400 && res.StatusCode != 429 {
			s.t.Fatal(res.Status)
		}
	}
	for _, path := range logged() {
		s.at(d, 429, "GET", path, "")
	}
	s.at(d, 401, "GET", api.PathKeys, "")
	s.at(d, 401, "POST", api.PathAuthEmailVerify, `{"token":"x"}`)
	for _, call := range s.console() {
		s.at(d, 429, call[0], call[1], "")
	}
	s.at(d, 429, "GET", eventsOf(api.PackCrypto), "", elsewhere, session("x"))
	if s.speaksMCP() {
		s.oauthHurry(d)
	}
}

// fail calls everything while the chain is gone, and then while tables are.
func (s *stage) fail() {
	s.back.Add(-int64(30 * time.Second)) // of the minute in which a client may present so many proofs
	me := session(s.jar)
	var intent api.DepositIntent
	s.decode(s.do(201, "POST", api.PathCredits, `{"pack":"starter"}`, me), &intent)
	purchase := pathOf(api.CreditStarter)
	offer := unwrap[api.StandardRequired](s.t, s.do(402, "POST", purchase, ""), api.HeaderRequired)
	if err := s.chain.Close(); err != nil {
		s.t.Fatal(err)
	}
	s.do(503, "POST", purchase, "", s.paying(offer, ""))
	s.do(503, "POST", api.PathCredits+"/"+intent.ID+"/verify", `{"txHash":"0x`+strings.Repeat("cd", 32)+`"}`, me) // of which nobody has asked yet

	s.drop("watches", "sessions", "challenges", "paid_calls", "settlement_txs", "purchases", "settlements")
	s.do(500, "POST", purchase, "", s.paying(offer, ""))
	for name, query := range s.paid() {
		method, path, _ := strings.Cut(name, " ")
		s.do(500, method, path+query, "", openapiBearer(s.key))
	}
	s.do(503, "GET", api.PathReady, "")
	s.do(500, "GET", api.PathSubscribe+"?token="+s.key, "")
	s.do(500, "GET", s.history(""), "", openapiBearer(s.key))
	for _, call := range watchCalls("w_1") {
		s.do(500, call[0], call[1], call[2], openapiBearer(s.key))
	}
	s.do(500, "GET", eventsOf(api.PackCrypto), "", elsewhere, me)
	if s.speaksMCP() {
		s.do(500, "POST", api.PathMCP, callFresh, unseen())
	}
	for _, call := range s.console() {
		s.do(500, call[0], call[1], signInBody(call[1]), me)
	}
	never := daemontest.Start(s.t, daemontest.On(s.chain)) // looked at the chain
	s.at(never, 503, "POST", api.PathCredits, `{"pack":"starter"}`, session(s.enter(never)))
}

// signInBody is what a path of the console is called with, that needs anything.
func signInBody(path string) string {
	return map[string]string{
		api.PathAuthEmail: `{"email":"x@example.org"}`, api.PathAuthWallet: `{"address":"0x52908400098527886E0F7030069857D2E4169EE7"}`,
		api.PathAuthEmailVerify: `{"token":"x"}`, api.PathAuthEmailLanding: "token=x", api.PathAuthWalletVerify: `{"message":"Nonce: x","signature":"0x"}`,
	}[path]
}

// enter signs in at another daemon and returns the session's secret.
func (s *stage) enter(d *daemontest.Daemon) string {
	u := newUser(s.t, d)
	u.signIn("ada@example.org")
	return u.secret
}

// drop takes tables away from the daemon, and lets it charge nothing.
func (s *stage) drop(tables ...string) {
	s.t.Helper()
	text := "CREATE TRIGGER full BEFORE INSERT ON usage BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
	for _, table := range tables {
		text += "; DROP TABLE " + table
	}
	s.sql(text)
}

// sql changes the daemon's books.
func (s *stage) sql(text string) {
	s.t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(s.d.Config.DataDir, "contextd.db"))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(context.WithoutCancel(s.t.Context()), text); err != nil {
		s.t.Fatal(err)
	}
}
