package billing

// Keep makes m keep the windows of at most n keys, so that a test comes to the bound.
func (m *Meter) Keep(n int) { m.most = n }
