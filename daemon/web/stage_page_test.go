package web_test

import (
	"net/http"

	"github.com/contextd/contextd/sdk/api"
)

// eventsOf is where the page of a pack is followed.
func eventsOf(pack string) string { return "/packs/" + pack + "/events" }

// elsewhere makes a request one for the machine's address in a network: browsers that are on it see all.
func elsewhere(r *http.Request) { r.Host = "10.0.0.1" }

// pages follows the pages of packs.
func (s *stage) pages() {
	s.do(200, "GET", eventsOf(api.PackCrypto), "")
	s.do(404, "GET", eventsOf("none"), "")
	s.do(403, "GET", eventsOf(api.PackCrypto), "", foreign)
	s.do(401, "GET", eventsOf(api.PackCrypto), "", elsewhere)
	poor := session(cookie(s.do(200, "POST", api.PathAuthEmailVerify, `{"token":"`+s.token("poor@example.org")+`"}`)))
	s.do(200, "GET", eventsOf(api.PackCrypto)+"?v=1", "", elsewhere, poor)
	s.do(403, "GET", eventsOf(api.PackAI), "", elsewhere, poor)
}
