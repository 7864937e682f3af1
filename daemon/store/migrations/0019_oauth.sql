-- Agents that sign in by OAuth. What an owner agrees to is a key whose plaintext nobody has: tokens stand for it. Of codes and tokens only
-- the SHA-256 is kept.
ALTER TABLE keys ADD COLUMN oauth TEXT; -- what was agreed to, as JSON; NULL for keys that are a secret

CREATE TABLE oauth_codes (
    hash       BLOB PRIMARY KEY,
    form       BLOB NOT NULL UNIQUE, -- by which the consent was given, once
    consent    TEXT NOT NULL, -- JSON
    redirect   TEXT NOT NULL,
    challenge  TEXT NOT NULL, -- of PKCE, S256
    expires_at INTEGER NOT NULL,
    used_at    INTEGER,
    key_id     TEXT REFERENCES keys (id) -- of the key that it gave
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_codes_by_end ON oauth_codes (expires_at);

CREATE TABLE oauth_tokens (
    hash       BLOB PRIMARY KEY,
    key_id     TEXT NOT NULL REFERENCES keys (id),
    kind       TEXT NOT NULL, -- access or refresh
    expires_at INTEGER NOT NULL,
    used_at    INTEGER -- when a refresh token was first exchanged
) STRICT, WITHOUT ROWID;

CREATE INDEX oauth_tokens_by_end ON oauth_tokens (expires_at);

-- Documents that describe clients, by their address, as they were last read.
CREATE TABLE oauth_clients (
    id         TEXT PRIMARY KEY,
    document   TEXT NOT NULL,
    read_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL -- when it is read again
) STRICT, WITHOUT ROWID;
