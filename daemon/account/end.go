package account

import "sync"

// ends are channels that close when a key ends.
type ends struct {
	mu    sync.Mutex // guards byKey
	byKey map[string]chan struct{}
}

func (e *ends) of(id string) chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.byKey[id]
	if c == nil {
		c = make(chan struct{})
		if e.byKey == nil {
			e.byKey = map[string]chan struct{}{}
		}
		e.byKey[id] = c
	}
	return c
}

// close closes the channel of a key, once.
func (e *ends) close(id string) {
	c := e.of(id)
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-c:
	default:
		close(c)
	}
}

// open has the next of return a channel that is open, where the last one has returned a closed one.
func (e *ends) open(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.byKey[id]: // nil is never closed
		delete(e.byKey, id)
	default:
	}
}

// forget lets the next of return a channel that is open.
func (e *ends) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.byKey, id)
}

// Ended returns a channel that closes when the key with the given id is revoked or its owner disabled; for one that is not active it is
// closed already.
func (k *Keys) Ended(id string) <-chan struct{} {
	c := k.ends.of(id)
	k.mu.RLock()
	key := k.byID[id]
	ended := key == nil || !key.active(k.cfg.Now()) || k.owners[key.OwnerID].disabled
	k.mu.RUnlock()
	if ended {
		k.ends.close(id)
	}
	return c
}
