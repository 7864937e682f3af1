package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/contextd/contextd/sdk/api"
)

// watchCalls are the calls of watches, of a watch with an id.
func watchCalls(id string) [][3]string {
	one := api.PathWatches + "/" + id
	return [][3]string{
		{"GET", api.PathWatches, ""}, {"GET", one + "/events", ""}, {"DELETE", one, ""}, {"POST", one + "/test", ""},
		{"POST", api.PathWatches, `{"type":"flag.changed"}`},
	}
}

// watches makes watches, reads and removes them.
func (s *stage) watches() {
	mine, free := openapiBearer(s.key), openapiBearer(s.d.Key(s.t, api.TierFree))
	busy := openapiBearer(s.d.Key(s.t, api.TierFree))
	make := func(want int, who openapiChange, body string) (w api.Watch) {
		if a := s.do(want, "POST", api.PathWatches, body, who); want == 201 {
			s.decode(a, &w)
		}
		return w
	}
	w := make(201, mine, `{"type":"condition.met","arguments":{"member":"asset","key":"BTC","field":"priceUsd","op":">","value":1}}`)
	again := make(201, mine, `{"type":"condition.met","arguments":
		{"op":">","value":1.0,"pack":"crypto","member":"asset","key":"BTC","field":"priceUsd"}}`)
	if again.ID != w.ID {
		s.t.Errorf("the same watch is %s and %s", w.ID, again.ID)
	}
	make(400, mine, `{"type":"price"}`)
	make(400, mine, `{"type":"flag.changed","delivery":{"type":"sms"}}`)
	make(400, mine, `{"type":"condition.met","arguments":{"member":"asset","key":"BTC","field":"height","op":">","value":1}}`)
	make(403, free, `{"type":"brief.published","arguments":{"pack":"ai"}}`)
	make(404, mine, `{"type":"brief.published","arguments":{"pack":"none"}}`)
	make(413, mine, large())
	make(201, free, `{"type":"flag.changed"}`)
	make(429, free, `{"type":"brief.published"}`)
	s.do(200, "GET", api.PathWatches, "", mine)
	events := api.PathWatches + "/" + w.ID + "/events"
	s.do(200, "GET", events+"?cursor="+w.Cursor, "", mine)
	var page api.EventPage
	if s.decode(s.do(200, "GET", events+"?cursor=old", "", mine), &page); !page.Truncated {
		s.t.Errorf("a cursor of nobody: %+v", page)
	}
	s.do(400, "GET", events+"?cursor=a&cursor=b", "", mine)
	s.do(404, "GET", events, "", free)
	s.do(404, "DELETE", api.PathWatches+"/"+w.ID, "", free)
	s.do(400, "POST", api.PathWatches+"/"+w.ID+"/test", "", mine)
	s.do(404, "POST", api.PathWatches+"/"+w.ID+"/test", "", free)
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	s.t.Cleanup(echo.Close)
	hook := make(201, mine, `{"type":"brief.published","delivery":{"type":"webhook","url":"`+echo.URL+`"}}`)
	s.do(204, "POST", api.PathWatches+"/"+hook.ID+"/test", "", mine)
	me, own := session(s.jar), api.PathOwnWatches
	var list api.WatchList
	if s.decode(s.do(200, "GET", own, "", me), &list); len(list.Watches) != 2 {
		s.t.Errorf("the owner has %+v", list)
	}
	s.do(204, "POST", own+"/"+hook.ID+"/test", "", me)
	s.do(400, "POST", own+"/"+w.ID+"/test", "", me)
	s.do(404, "POST", own+"/none/test", "", me)
	s.do(204, "DELETE", own+"/"+hook.ID, "", me)
	s.do(404, "DELETE", own+"/"+hook.ID, "", me)
	s.sql("UPDATE watches SET paused_at = 1 WHERE id = '" + w.ID + "'")
	s.do(403, "GET", events, "", mine)
	for _, call := range watchCalls(w.ID) {
		s.do(401, call[0], call[1], call[2], openapiBearer("cv_test_"+strings.Repeat("Zq", api.KeySecretChars/2)))
	}
	for _, one := range watchCalls(w.ID) {
		if one[1] == api.PathWatches && one[0] == "POST" {
			continue
		}
		for call(s.t, "GET", s.d.URL()+api.PathWatches, busy).Status == http.StatusOK { // a slow run earns some back
		}
		s.do(429, one[0], one[1], one[2], busy)
	}
	s.do(204, "DELETE", api.PathWatches+"/"+w.ID, "", mine)
}
