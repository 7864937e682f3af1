-- Keys that are counted and not charged: the operator's own.
ALTER TABLE keys ADD COLUMN unmetered INTEGER NOT NULL DEFAULT 0;

-- When a key ends that another has replaced; its credits are on that one already. revoked_at is set once the time has come.
ALTER TABLE keys ADD COLUMN revokes_at INTEGER;

-- When a revoked key was dropped from memory and from lists. The row stays for the books: the ledger, usage and deposits name it.
ALTER TABLE keys ADD COLUMN pruned_at INTEGER;

CREATE INDEX keys_retiring ON keys (revokes_at) WHERE revokes_at IS NOT NULL AND revoked_at IS NULL;
CREATE INDEX keys_to_prune ON keys (revoked_at) WHERE revoked_at IS NOT NULL AND pruned_at IS NULL;

-- When the owner last proved to be who they are: to add or remove an identity, that must not be long ago. Until now, every session began
-- with such a proof.
ALTER TABLE sessions ADD COLUMN proved_at INTEGER NOT NULL DEFAULT 0;
UPDATE sessions SET proved_at = created_at;

-- By the SHA-256 of mail address and client: where links to an address were redeemed. Strangers cannot keep mail from who signs in there.
CREATE TABLE known_clients (
    hash    BLOB PRIMARY KEY,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX known_clients_by_time ON known_clients (seen_at);

-- Invitations, where not everybody may become an owner. Of the secret only the SHA-256 is kept.
CREATE TABLE invites (
    id         TEXT PRIMARY KEY, -- the first characters of the secret
    hash       BLOB NOT NULL UNIQUE,
    note       TEXT NOT NULL,    -- the operator's own, such as who it is for
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    revoked_at INTEGER,
    used_at    INTEGER,
    used_by    TEXT REFERENCES owners (id)
) STRICT, WITHOUT ROWID;

-- A deposit that its nonce alone names: it is made while most amounts of a pack are held, and holds none itself.
ALTER TABLE deposits ADD COLUMN nonce_required INTEGER NOT NULL DEFAULT 0;

CREATE INDEX deposits_by_nonce_alone ON deposits (expires_at) WHERE nonce_required = 1;
