package source

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Ask is a document that an attempt asks for.
type Ask struct {
	URL   string        // may hold times, see ExpandURL
	Times int           // documents of this kind; 0 is one
	Every time.Duration // from one to the next; 0 is with every attempt
}

// Host is the host that is asked.
func (a Ask) Host() string {
	u, err := url.Parse(ExpandURL(a.URL, time.Unix(0, 0)))
	if err != nil {
		return ""
	}
	return u.Host
}

// needsContact reports whether a host refuses those who give no e-mail address. The SEC refuses also those who give an address of the web
// beside it.
func needsContact(host string) bool {
	return host == "www.bls.gov" || host == "sec.gov" || strings.HasSuffix(host, ".sec.gov")
}

// likesContact reports whether a host bears more with those who give an e-mail address.
func likesContact(host string) bool { return strings.HasSuffix(host, ".arxiv.org") }

// userAgent is how we name ourselves to a host.
func (cfg Config) userAgent(host string) string {
	switch {
	case cfg.Contact == "":
	case needsContact(host):
		return "contextd " + cfg.Contact
	case likesContact(host):
		return cfg.UserAgent + " " + cfg.Contact
	}
	return cfg.UserAgent
}

// Unasked says why c is not asked by those who give contact as their e-mail address, "" where it is.
func (c Connector) Unasked(contact string) string {
	for _, a := range c.Asks {
		if host := a.Host(); contact == "" && needsContact(host) {
			return fmt.Sprintf("not asked: %s wants an e-mail address, see sources.contact", host)
		}
	}
	return ""
}
