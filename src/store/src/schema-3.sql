CREATE TABLE transcripts (
  task BLOB NOT NULL CHECK (length(task) = 16),
  place INTEGER NOT NULL CHECK (place > 0),
  attempt BLOB NOT NULL CHECK (length(attempt) = 16),
  entry TEXT NOT NULL CHECK (json_valid(entry)),
  PRIMARY KEY (task, place)
) STRICT, WITHOUT ROWID;
