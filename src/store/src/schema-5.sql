-- Entries can be long, and a table without row numbers reads what it compares as a whole.
CREATE TABLE transcript_entries (
  task BLOB NOT NULL CHECK (length(task) = 16),
  place INTEGER NOT NULL CHECK (place > 0),
  attempt BLOB NOT NULL CHECK (length(attempt) = 16),
  entry TEXT NOT NULL CHECK (entry <> ''),
  PRIMARY KEY (task, place)
) STRICT;
INSERT INTO transcript_entries SELECT task, place, attempt, entry FROM transcripts ORDER BY task, place;
DROP TABLE transcripts;
ALTER TABLE transcript_entries RENAME TO transcripts;
