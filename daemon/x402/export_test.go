package x402

// FormerPayload is the Payload of e in rows of daemons that looked at no more than what is on the chain.
func FormerPayload(e Exact) string { return e.digest() }
