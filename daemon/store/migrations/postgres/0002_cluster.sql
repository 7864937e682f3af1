-- Several daemons on one database. Times in leader and nodes are the database's, in milliseconds: the nodes' clocks may differ.
-- leader has one row. epoch counts the takeovers; what the leader writes holds that row, so that no other takes over meanwhile.
CREATE TABLE leader (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    epoch BIGINT NOT NULL,
    node TEXT COLLATE "C" NOT NULL,
    beat_at BIGINT NOT NULL,
    since BIGINT NOT NULL
);
INSERT INTO leader VALUES (1, 0, '', 0, 0);

-- states is a JSON object: when the newest state of each pack was made that the node serves.
CREATE TABLE nodes (
    id TEXT COLLATE "C" PRIMARY KEY,
    url TEXT COLLATE "C" NOT NULL,
    version TEXT COLLATE "C" NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at BIGINT NOT NULL,
    states TEXT COLLATE "C" NOT NULL
);

-- What an act has changed, apart from charges, for the nodes that remember it. Acts follow one another, so that seq rises as they commit.
CREATE TABLE changes (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at BIGINT NOT NULL,
    owner_id TEXT COLLATE "C" NOT NULL
);
CREATE INDEX changes_by_time ON changes (at);

-- Keys that all nodes share, and sealed: whether value is encrypted with the key file of the nodes.
CREATE TABLE secrets (
    name TEXT COLLATE "C" PRIMARY KEY,
    value BYTEA NOT NULL,
    sealed BIGINT NOT NULL
);
