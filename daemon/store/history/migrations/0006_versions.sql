-- What was read before a restart is asked for only if it has changed.
ALTER TABLE sources ADD COLUMN versions TEXT NOT NULL DEFAULT ''; -- how upstream names the versions of what doc was read from, as JSON
