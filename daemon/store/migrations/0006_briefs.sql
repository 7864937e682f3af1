-- What language models took for briefs, by day of UTC.
CREATE TABLE writing (
    day           TEXT PRIMARY KEY, -- YYYY-MM-DD
    input_tokens  INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost_micros   INTEGER NOT NULL  -- millionths of a US dollar
) STRICT, WITHOUT ROWID;

-- The newest brief written by an owner's own prompt.
CREATE TABLE owner_briefs (
    owner_id     TEXT NOT NULL REFERENCES owners (id),
    pack         TEXT NOT NULL,
    generated_at INTEGER NOT NULL, -- of the state it is about
    prompt       BLOB NOT NULL,    -- SHA-256
    attempts     INTEGER NOT NULL, -- to write one about that state
    written_at   INTEGER NOT NULL,
    writer       TEXT NOT NULL,
    text         TEXT NOT NULL,    -- '' where the last attempt failed
    refused      TEXT NOT NULL,
    PRIMARY KEY (owner_id, pack)
) STRICT, WITHOUT ROWID;
