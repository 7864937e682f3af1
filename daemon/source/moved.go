package source

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Moved says where a source is asked in place of the address that is declared for it.
type Moved struct {
	ID  string `key:"id,name"`
	URL string `key:"url,short" doc:"The address now."`
}

// At is c, asked at another address: the first of those that it asks, which is the only one of most. It is the operator's word, under the
// guard of declared sources, and no key goes with it to another host.
func (c Connector) At(address string) (Connector, error) {
	if len(c.Asks) == 0 {
		return c, fmt.Errorf("%s asks at no address", c.ID)
	}
	u, err := url.Parse(ExpandURL(address, time.Unix(0, 0)))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil || strings.ContainsAny(u.Host, "{}") {
		return c, fmt.Errorf("%q is no address such as %s", address, c.Asks[0].URL)
	}
	if want, got := places(c.Asks[0].URL), places(address); !slices.Equal(want, got) {
		return c, fmt.Errorf("%q must hold %s, as %s does", address, strings.Join(want, " and "), c.Asks[0].URL)
	}
	c.Asks = slices.Clone(c.Asks)
	c.declared, c.Moved, c.Asks[0].URL = c.Asks[0].URL, address, address
	return c, nil
}

// place is what stands in a URL for a part that differs from request to request. No URL has two.
var place = regexp.MustCompile(`\{[a-z]+\}`)

// places are those of a URL that are no times.
func places(url string) []string { return place.FindAllString(moments.ReplaceAllString(url, ""), -1) }

// address is where the document at url is now, and whether the operator says so.
func (a *attempt) address(url string) (string, bool) {
	if a.to == "" {
		return url, false
	}
	from, to := ExpandURL(a.from, a.At), ExpandURL(a.to, a.At)
	name := place.FindString(from)
	if name == "" {
		if url == from {
			return to, true
		}
		return url, false
	}
	before, after, _ := strings.Cut(from, name)
	value, begins := strings.CutPrefix(url, before)
	value, ends := strings.CutSuffix(value, after)
	if begins && ends {
		return strings.Replace(to, name, value, 1), true
	}
	return url, false
}
