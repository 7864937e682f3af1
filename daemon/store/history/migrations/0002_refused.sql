-- Why the texts before a brief were not taken, one per line.
ALTER TABLE briefs ADD COLUMN refused TEXT NOT NULL DEFAULT '';
