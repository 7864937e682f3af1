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
