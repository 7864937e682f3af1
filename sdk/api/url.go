package api

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// ParseBaseURL reads the base URL of a service: http or https, a host, and optionally a port and a path. The result has no slash at its
// end.
func ParseBaseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("base URL is not a URL") // url.Error would repeat a password in it
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, fmt.Errorf("base URL %q is not http://host or https://host", u.Redacted())
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("base URL of %s must have no user, query or fragment", u.Host)
	}
	if _, port, err := net.SplitHostPort(u.Host); err == nil && port == "" {
		return nil, fmt.Errorf("base URL %q has an empty port", u.Redacted())
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}
