//! Tables without lines: columns two blanks apart, no blanks at the end of a row.

use super::{Look, Tone, clean};
use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, presets};

/// Narrowest that the last column is cut to.
const LAST_COLUMN: usize = 12;

/// How a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Text.
    Left(&'static str),
    /// Numbers.
    Right(&'static str),
}

/// Rows under a heading. The last column takes what is left of a terminal's width and is cut there.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<(Tone, String)>>,
}

impl Table {
    /// A table of these columns.
    pub fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row; each cell is foreign text.
    pub fn row(&mut self, cells: impl IntoIterator<Item = (Tone, String)>) {
        self.rows.push(cells.into_iter().map(|(tone, text)| (tone, clean(&text))).collect());
    }

    /// The lines, each ended.
    pub fn render(&self, look: Look) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if look.color {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        table.set_header(self.columns.iter().map(|column| cell(Tone::Strong, column.name(), *column)));
        let room = self.room(look);
        for row in &self.rows {
            let last = row.len().saturating_sub(1);
            table.add_row(row.iter().zip(&self.columns).enumerate().map(|(index, ((tone, text), column))| {
                let text = if index == last { cut(text, room) } else { text.clone() };
                cell(*tone, &text, *column)
            }));
        }
        let count = self.columns.len();
        for (index, column) in table.column_iter_mut().enumerate() {
            let after = if index.saturating_add(1) == count { 0 } else { 2 };
            column.set_padding((0, after));
        }
        let lines = table.lines().map(|line| format!("{}\n", line.trim_end()));
        lines.collect()
    }

    /// Characters for the last column; `None` when there is no bound.
    fn room(&self, look: Look) -> Option<usize> {
        let width = usize::from(look.width?);
        let before = self.columns.len().saturating_sub(1);
        let taken = (0..before).map(|index| {
            let heading = self.columns.get(index).map_or(0, |column| column.name().chars().count());
            let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|(_, text)| text.chars().count());
            cells.max().unwrap_or(0).max(heading).saturating_add(2)
        });
        Some(width.saturating_sub(taken.sum()).max(LAST_COLUMN))
    }
}

impl Column {
    const fn name(self) -> &'static str {
        match self {
            Self::Left(name) | Self::Right(name) => name,
        }
    }
}

fn cell(tone: Tone, text: &str, column: Column) -> Cell {
    let cell = Cell::new(text).set_alignment(match column {
        Column::Left(_) => CellAlignment::Left,
        Column::Right(_) => CellAlignment::Right,
    });
    match tone {
        Tone::Plain => cell,
        Tone::Good => cell.fg(Color::DarkGreen),
        Tone::Busy => cell.fg(Color::DarkCyan),
        Tone::Warn => cell.fg(Color::DarkYellow),
        Tone::Bad => cell.fg(Color::DarkRed),
        Tone::Faint => cell.add_attribute(Attribute::Dim),
        Tone::Strong => cell.add_attribute(Attribute::Bold),
    }
}

/// The text in at most `room` characters, an ellipsis included.
fn cut(text: &str, room: Option<usize>) -> String {
    match room {
        Some(room) if text.chars().count() > room => {
            text.chars().take(room.saturating_sub(1)).chain(std::iter::once('…')).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Column, Look, Table, Tone};

    fn table() -> Table {
        let mut table = Table::new(&[Column::Right("ID"), Column::Left("STATUS"), Column::Left("NAME")]);
        table.row([(Tone::Plain, "7".into()), (Tone::Good, "completed".into()), (Tone::Plain, "make -j2\nall".into())]);
        table.row([(Tone::Plain, "1234".into()), (Tone::Bad, "failed".into()), (Tone::Plain, String::new())]);
        table
    }

    #[test]
    fn plain_tables_are_aligned_and_have_no_trailing_blanks() {
        let text = "  ID  STATUS     NAME\n   7  completed  make -j2\\nall\n1234  failed\n";
        assert_eq!(table().render(Look::PLAIN), text);
    }

    #[test]
    fn a_narrow_terminal_cuts_the_last_column() {
        let look = Look { terminal: true, color: false, width: Some(20) };
        assert!(table().render(look).contains("make -j2\\na…\n"), "{}", table().render(look));
        let look = Look { color: true, ..look };
        assert!(table().render(look).contains('\x1b'));
    }
}
