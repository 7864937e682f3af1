-- The first checkpoint of each hour that most witnesses signed: a witness does not sign a log as it was before.
CREATE TABLE log_anchors (
    log        INTEGER NOT NULL REFERENCES logs (id),
    hour       INTEGER NOT NULL, -- since 1970
    size       INTEGER NOT NULL,
    signatures INTEGER NOT NULL, -- of witnesses
    checkpoint TEXT NOT NULL,    -- with them
    PRIMARY KEY (log, hour)
) STRICT, WITHOUT ROWID;

CREATE INDEX log_anchors_by_size ON log_anchors (log, size);
