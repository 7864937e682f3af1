CREATE TABLE packs (
    id         TEXT PRIMARY KEY,
    started_at INTEGER NOT NULL -- Unix milliseconds, as all times here
) STRICT;

-- One row per state. A keyframe stands alone (keyframe is NULL); the rows after it are compressed against it. sum covers
-- the pack, the time and the uncompressed content, so that no damage passes for a state.
CREATE TABLE pulses (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- a keyframe's number is never used again
    pack         TEXT NOT NULL REFERENCES packs (id),
    version      INTEGER NOT NULL,
    generated_at INTEGER NOT NULL,
    keyframe     INTEGER REFERENCES pulses (id),
    sum          BLOB NOT NULL,
    body         BLOB NOT NULL
) STRICT;

CREATE UNIQUE INDEX pulses_by_time ON pulses (pack, generated_at);
CREATE INDEX pulses_by_keyframe ON pulses (keyframe) WHERE keyframe IS NOT NULL;

-- What each source said last, so that a restart neither forgets nor asks again too soon.
CREATE TABLE sources (
    pack         TEXT NOT NULL REFERENCES packs (id),
    source       TEXT NOT NULL,
    doc          BLOB,
    fetched_at   INTEGER,
    attempted_at INTEGER NOT NULL,
    not_before   INTEGER,
    failures     INTEGER NOT NULL,
    error        TEXT NOT NULL,
    PRIMARY KEY (pack, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE briefs (
    id           INTEGER PRIMARY KEY,
    pack         TEXT NOT NULL REFERENCES packs (id),
    written_at   INTEGER NOT NULL,
    generated_at INTEGER NOT NULL, -- of the state it was written from
    writer       TEXT NOT NULL,
    text         TEXT NOT NULL
) STRICT;

CREATE INDEX briefs_by_time ON briefs (pack, written_at);
