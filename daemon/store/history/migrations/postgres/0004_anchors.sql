-- The first checkpoint of each hour that most witnesses signed: a witness does not sign a log as it was before.
CREATE TABLE log_anchors (
    log BIGINT NOT NULL REFERENCES logs (id),
    hour BIGINT NOT NULL, -- since 1970
    size BIGINT NOT NULL,
    signatures BIGINT NOT NULL, -- of witnesses
    checkpoint TEXT COLLATE "C" NOT NULL, -- with them
    PRIMARY KEY (log, hour)
);

CREATE INDEX log_anchors_by_size ON log_anchors (log, size);
