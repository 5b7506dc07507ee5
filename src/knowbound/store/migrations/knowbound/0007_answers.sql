-- Answers of models are kept per entry, with the session and the project that they are about, so that `forget` removes
-- exactly those. Answers of earlier versions stay: where no session is known, `forget` removes them all.
ALTER TABLE answer ADD COLUMN session TEXT NOT NULL DEFAULT '';
ALTER TABLE answer ADD COLUMN project TEXT NOT NULL DEFAULT '';
ALTER TABLE answer ADD COLUMN made TEXT NOT NULL DEFAULT '';    -- day, UTC; '' if unknown
CREATE INDEX answer_session ON answer (session);

-- Verdicts on hedges are such answers now.
DROP TABLE verdict;
