package watch

import "net/http"

// What the tests call. Each is its namesake.
var (
	Attempt     = (*Service).attempt
	Challenge   = (*Service).challenge
	ParseSecret = parseSecret
	SecretText  = secretText
)

// Through has a service post through another transport.
func Through(s *Service, t http.RoundTripper) { s.client.Transport = t }
