-- The days of the log and the turns without a verdict, without reading the documents of all turns.
CREATE INDEX IF NOT EXISTS kms_quality_log_days ON kms_quality_log (date, scored_at);
CREATE INDEX IF NOT EXISTS kms_quality_log_unscored ON kms_quality_log (date, scored_at, id) WHERE problem <> '';
DROP INDEX IF EXISTS kms_quality_log_date;
DROP INDEX IF EXISTS kms_quality_log_problem;
