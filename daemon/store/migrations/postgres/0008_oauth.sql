-- As SQLite's migration 0019, whose comments say what the columns mean.
ALTER TABLE keys ADD COLUMN oauth TEXT COLLATE "C";

CREATE TABLE oauth_codes (
    hash BYTEA PRIMARY KEY,
    form BYTEA NOT NULL UNIQUE,
    consent TEXT COLLATE "C" NOT NULL,
    redirect TEXT COLLATE "C" NOT NULL,
    challenge TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    key_id TEXT COLLATE "C" REFERENCES keys (id)
);
CREATE INDEX oauth_codes_by_end ON oauth_codes (expires_at);

CREATE TABLE oauth_tokens (
    hash BYTEA PRIMARY KEY,
    key_id TEXT COLLATE "C" NOT NULL REFERENCES keys (id),
    kind TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE INDEX oauth_tokens_by_end ON oauth_tokens (expires_at);

CREATE TABLE oauth_clients (
    id TEXT COLLATE "C" PRIMARY KEY,
    document TEXT COLLATE "C" NOT NULL,
    read_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);
