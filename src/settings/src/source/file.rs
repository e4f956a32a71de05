//! `config.toml`: parsed with the place of every value.

use super::Reading;
use super::text::position;
use crate::problem::{Place, Problem, UnknownKey, Warning};
use crate::schema::{ALL, Key};
use crate::value::Raw;
use std::io;
use std::path::{Path, PathBuf};
use toml_edit::{Item, TableLike, Value};

/// Largest accepted size of the file.
pub const MAX_FILE_BYTES: usize = 256 << 10;

/// The text of a configuration file that is valid TOML; its values may still be bad.
#[derive(Debug, Clone)]
pub struct Document {
    pub(super) path: PathBuf,
    pub(super) toml: toml_edit::Document<String>,
}

impl Document {
    /// Parses the text of the file at `path`; a file that does not exist is the empty text.
    ///
    /// # Errors
    ///
    /// [`Problem::Syntax`] with line and column, or [`Problem::TooLarge`].
    pub fn parse(path: &Path, text: &str) -> Result<Self, Problem> {
        if text.len() > MAX_FILE_BYTES {
            return Err(Problem::TooLarge { path: path.to_owned(), bytes: text.len(), max: MAX_FILE_BYTES });
        }
        match toml_edit::Document::parse(text.to_owned()) {
            Ok(toml) => Ok(Self { path: path.to_owned(), toml }),
            Err(error) => {
                let (line, column) = position(text, error.span().map_or(0, |span| span.start));
                let message = error.message().trim().replace('\n', "; ");
                Err(Problem::Syntax { path: path.to_owned(), line, column, message })
            }
        }
    }

    /// The text, as it was parsed or as the last edit left it.
    #[must_use]
    pub fn render(&self) -> &str {
        self.toml.raw()
    }

    /// Hands path and text to `replace`, which must leave either the old file or the whole new one, whatever happens.
    ///
    /// # Errors
    ///
    /// What `replace` returns.
    pub fn save(&self, replace: impl FnOnce(&Path, &[u8]) -> io::Result<()>) -> io::Result<()> {
        replace(&self.path, self.render().as_bytes())
    }

    /// Reads every value.
    #[must_use]
    pub fn read(&self) -> Reading {
        let mut reading = Reading::default();
        self.walk(self.toml.as_table(), &mut Vec::new(), &mut reading);
        reading
    }

    fn walk(&self, table: &dyn TableLike, above: &mut Vec<String>, reading: &mut Reading) {
        for (name, item) in table.iter() {
            let place = self.place(table, name, item);
            above.push(name.to_owned());
            match (above.as_slice(), item.as_table_like()) {
                ([section, name], _) if let Some(key) = Key::find(section, name) => {
                    reading.add(key, &raw(item), place);
                }
                ([section], None) if let Some(section) = known_section(section) => {
                    reading.problems.push(Problem::NotATable { place, section });
                }
                (_, Some(table)) if !table.is_empty() => self.walk(table, above, reading),
                (path, table) => {
                    if table.is_none() || !is_section(path) {
                        let unknown = UnknownKey::new(&path.join("."));
                        reading.warnings.push(Warning { place, unknown });
                    }
                }
            }
            above.pop();
        }
    }

    fn place(&self, table: &dyn TableLike, name: &str, item: &Item) -> Place {
        let span = table.key(name).and_then(toml_edit::Key::span).or_else(|| item.span());
        let line = span.map_or(1, |span| position(self.render(), span.start).0);
        Place::File { path: self.path.clone(), line }
    }
}

fn known_section(name: &str) -> Option<&'static str> {
    ALL.iter().map(|setting| setting.section).find(|section| *section == name)
}

fn is_section(path: &[String]) -> bool {
    matches!(path, [section] if known_section(section).is_some())
}

fn raw(item: &Item) -> Raw {
    match item {
        Item::Value(Value::String(text)) => Raw::Text(text.value().clone()),
        Item::Value(Value::Integer(number)) => Raw::Integer(*number.value()),
        Item::Value(Value::Boolean(yes)) => Raw::Boolean(*yes.value()),
        Item::Value(Value::Float(number)) => Raw::Fraction(number.display_repr().into_owned()),
        Item::Value(Value::Datetime(_)) => Raw::Other("a date or time"),
        Item::Value(Value::Array(_)) => Raw::Other("a list"),
        Item::Value(Value::InlineTable(_)) | Item::Table(_) => Raw::Other("a table"),
        Item::ArrayOfTables(_) => Raw::Other("a list of tables"),
        Item::None => Raw::Other("nothing"),
    }
}
