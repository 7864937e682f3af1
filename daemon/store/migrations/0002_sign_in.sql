-- The operator may disable an owner: his keys and sessions are refused until he is enabled again.
ALTER TABLE owners ADD COLUMN disabled_at INTEGER;

-- How owners sign in. An owner may have several mail addresses and wallets; each of them belongs to one owner.
CREATE TABLE identities (
    kind       TEXT NOT NULL, -- email or wallet
    subject    TEXT NOT NULL, -- the address, as daemon/account writes it
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT, WITHOUT ROWID;

CREATE INDEX identities_by_owner ON identities (owner_id, created_at);

-- Mailed links and messages to sign that wait for their answer. Of the secret in them only the SHA-256 is kept.
CREATE TABLE challenges (
    hash       BLOB PRIMARY KEY,
    kind       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    links      TEXT REFERENCES owners (id), -- whom the identity is to be added to, NULL to sign in
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX challenges_by_end ON challenges (expires_at);

-- Console sessions, by the SHA-256 of what the cookie holds.
CREATE TABLE sessions (
    hash       BLOB PRIMARY KEY,
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_owner ON sessions (owner_id);
CREATE INDEX sessions_by_end ON sessions (expires_at);

-- What an owner wants in his briefs of a pack.
CREATE TABLE prompts (
    owner_id   TEXT NOT NULL REFERENCES owners (id),
    pack       TEXT NOT NULL,
    prompt     TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (owner_id, pack)
) STRICT, WITHOUT ROWID;
