-- Hashes of what upstream sent for doc, separated by spaces. Before, nobody counted them.
ALTER TABLE sources ADD COLUMN bodies TEXT NOT NULL DEFAULT '';

-- The transparency logs: what was published, in an order that nobody can change unseen. A pack has one that goes on, and may have ended
-- ones, which a restore leaves. Their leaves stay when states are pruned.
CREATE TABLE logs (
    id          INTEGER PRIMARY KEY,
    pack        TEXT NOT NULL REFERENCES packs (id),
    origin      TEXT NOT NULL UNIQUE,
    public_key  TEXT NOT NULL, -- base64 of the one that its checkpoints are signed with, '' while none was
    size        INTEGER NOT NULL,
    root        TEXT NOT NULL, -- base64
    appended_at INTEGER NOT NULL,
    ended       INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX logs_that_go_on ON logs (pack) WHERE ended = 0;

-- The hashes of the tree, 256 to a full tile; of the last tile of a level those that there are.
CREATE TABLE log_tiles (
    log    INTEGER NOT NULL REFERENCES logs (id),
    level  INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (log, level, n)
) STRICT, WITHOUT ROWID;

-- One row per leaf. When there are 256 more, their bodies go into a bundle together.
CREATE TABLE log_leaves (
    log  INTEGER NOT NULL REFERENCES logs (id),
    seq  INTEGER NOT NULL,
    kind INTEGER NOT NULL, -- 0: a state, 1: a brief that was written later
    at   INTEGER NOT NULL, -- when the state or brief was made
    body BLOB,
    PRIMARY KEY (log, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_leaves_by_time ON log_leaves (log, kind, at);

-- The leaves of a full tile, as they are served, compressed.
CREATE TABLE log_bundles (
    log  INTEGER NOT NULL REFERENCES logs (id),
    n    INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (log, n)
) STRICT, WITHOUT ROWID;
