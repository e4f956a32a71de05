//! Edits of the file in place: comments, order and layout of everything else stay as they are.

use super::text::without_lines;
use super::{Document, value};
use crate::problem::{Place, Problem};
use crate::schema::{Key, Setting};
use crate::value::{Raw, Value};
use toml_edit::{DocumentMut, Formatted, InlineTable, Item, Table, TableLike};

const BYTE_ORDER_MARK: char = '\u{feff}';

impl Document {
    /// Sets `key` to what `text` stands for, and gives that value back.
    ///
    /// The comment beside an old value stays. A new key goes to the end of its table, a new table to the end of the file.
    ///
    /// # Errors
    ///
    /// [`Problem::BadValue`] when the value is not allowed, [`Problem::NotATable`] when the file uses the name of the
    /// group for something else; the document is unchanged then.
    pub fn set(&mut self, key: Key, text: &str) -> Result<Value, Problem> {
        let value = value(key, &Raw::Untyped(text.to_owned()), Place::Edit)?;
        let setting = key.setting();
        let mut toml = self.toml.clone().into_mut();
        if !toml.contains_key(setting.section) {
            append_table(&mut toml, setting.section);
        }
        let new = to_toml(&value);
        match toml.get_mut(setting.section) {
            Some(Item::Table(table)) => put(table, setting.name, new),
            Some(Item::Value(toml_edit::Value::InlineTable(table))) => {
                close_up(table);
                put(table, setting.name, new);
            }
            _ => return Err(Problem::NotATable { place: Place::Edit, section: setting.section }),
        }
        *self = Self::parse(&self.path, &self.restyled(&toml))?;
        Ok(value)
    }

    /// Takes `key` out of the file; `false` when it is not there. Comments above it stay.
    ///
    /// # Errors
    ///
    /// [`Problem::Syntax`] when the rest would not be TOML; the document is unchanged then.
    pub fn unset(&mut self, key: Key) -> Result<bool, Problem> {
        let setting = key.setting();
        if !self.holds(&setting) {
            return Ok(false);
        }
        let text = self.without_line_of(&setting).unwrap_or_else(|| self.without_item(&setting));
        *self = Self::parse(&self.path, &text)?;
        Ok(true)
    }

    fn holds(&self, setting: &Setting) -> bool {
        let section = self.toml.get(setting.section).and_then(Item::as_table_like);
        section.is_some_and(|section| section.contains_key(setting.name))
    }

    /// The text without the lines of a plain `name = value`; `None` when they hold something else too.
    fn without_line_of(&self, setting: &Setting) -> Option<String> {
        let section = self.toml.get(setting.section)?.as_table()?;
        let (key, item) = section.get_key_value(setting.name)?;
        let range = key.span()?.start..item.as_value()?.span()?.end;
        without_lines(self.render(), &range)
    }

    fn without_item(&self, setting: &Setting) -> String {
        let mut toml = self.toml.clone().into_mut();
        if let Some(table) = toml.get_mut(setting.section).and_then(Item::as_table_like_mut) {
            table.remove(setting.name);
        }
        self.restyled(&toml)
    }

    /// The edited document with the byte-order mark and line ends of this one, which the library drops.
    fn restyled(&self, toml: &DocumentMut) -> String {
        let text = toml.to_string().replace("\r\n", "\n");
        let text = if self.render().contains("\r\n") { text.replace('\n', "\r\n") } else { text };
        if self.render().starts_with(BYTE_ORDER_MARK) { format!("{BYTE_ORDER_MARK}{text}") } else { text }
    }
}

/// Adds an empty table below everything, comments at the end of the file included.
fn append_table(toml: &mut DocumentMut, section: &str) {
    let mut table = Table::new();
    let end = toml.trailing().as_str().unwrap_or_default().to_owned();
    if !end.trim().is_empty() {
        table.decor_mut().set_prefix(format!("{}\n\n", end.trim_end()));
        toml.set_trailing("");
    }
    toml.insert(section, Item::Table(table));
}

/// Takes the blanks before the closing brace away: what is added next stands behind them.
fn close_up(table: &mut InlineTable) {
    if let Some((_, last)) = table.iter_mut().last() {
        let suffix = last.decor().suffix().and_then(toml_edit::RawString::as_str);
        if suffix == Some(" ") {
            last.decor_mut().set_suffix("");
        }
    }
}

fn put(table: &mut dyn TableLike, name: &str, mut value: toml_edit::Value) {
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            table.insert(name, Item::Value(value));
        }
    }
}

fn to_toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Integer(number) => match i64::try_from(*number) {
            Ok(number) => toml_edit::Value::Integer(Formatted::new(number)),
            Err(_) => toml_edit::Value::from(number.to_string()),
        },
        Value::Boolean(yes) => toml_edit::Value::from(*yes),
        Value::Duration(_)
        | Value::Bytes(_)
        | Value::Text(_)
        | Value::Choice(_)
        | Value::Path(_)
        | Value::Address(_)
        | Value::Money(_) => toml_edit::Value::from(value.to_string()),
    }
}
