-- What rescue needs of a lesson, as JSON: hooks read it on the standard library alone. '' in rows of earlier versions,
-- until the lessons are opened (store/lessons.py).
ALTER TABLE lesson ADD COLUMN accepted TEXT NOT NULL DEFAULT '';
