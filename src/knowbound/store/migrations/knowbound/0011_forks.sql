-- A fork copies the messages of a session into a file with a session id of its own: its first message tells.
-- NULL: the head of the file was looked at before that was known, and is looked at again.
ALTER TABLE file ADD COLUMN root TEXT;
