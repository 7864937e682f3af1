-- What a leaf tells of the document of a source: when the attempt began that brought it, and the hash of the one it was made from.
ALTER TABLE sources ADD COLUMN asked_at BIGINT;
ALTER TABLE sources ADD COLUMN made_from TEXT COLLATE "C" NOT NULL DEFAULT '';
