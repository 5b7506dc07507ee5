-- content_sha folds case and punctuation since then. What was reaped before is known by the hash of earlier versions,
-- where only white space and the spelling of a character do not count: a row has both.
ALTER TABLE item ADD COLUMN spaced_sha TEXT NOT NULL DEFAULT '';
