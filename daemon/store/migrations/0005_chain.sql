-- The chain that transfers and deposits are on, by its first block.
CREATE TABLE chain (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    genesis  BLOB NOT NULL
) STRICT;
