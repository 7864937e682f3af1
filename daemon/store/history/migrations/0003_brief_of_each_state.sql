-- A brief that was written with its state, and not the daily one. Of those of a day the last is kept.
ALTER TABLE briefs ADD COLUMN with_state INTEGER NOT NULL DEFAULT 0;
