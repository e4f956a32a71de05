//! Blocks as lines.

use super::spans::{self, Span, Style};
use crate::render::width;
use pulldown_cmark::{Alignment, Event, Tag};
use std::iter::Peekable;

/// How deep blocks are shown within each other; what is deeper stands at that depth.
const DEEPEST: usize = 16;
/// Columns of a rule.
const RULE: usize = 40;

/// The lines of each block up to the end of what they stand in.
pub fn all<'a>(events: &mut Peekable<impl Iterator<Item = Event<'a>>>, width: usize) -> Vec<Vec<String>> {
    Blocks { events, depth: 0 }.all(width)
}

struct Blocks<'e, I: Iterator> {
    events: &'e mut Peekable<I>,
    depth: usize,
}

impl<'a, I: Iterator<Item = Event<'a>>> Blocks<'_, I> {
    fn all(&mut self, width: usize) -> Vec<Vec<String>> {
        let mut blocks = Vec::new();
        while let Some(event) = self.events.peek() {
            match event {
                Event::End(_) => {
                    self.events.next();
                    break;
                }
                Event::Rule => {
                    self.events.next();
                    blocks.push(vec![spans::faint(&"─".repeat(width.min(RULE)))]);
                }
                Event::Start(tag) if is_block(tag) => {
                    let Some(Event::Start(tag)) = self.events.next() else { break };
                    blocks.push(self.block(&tag, width));
                }
                _ => {
                    // Text that stands in no paragraph: that of an item.
                    let spans = spans::inline(self.events, Style::default());
                    if spans.is_empty() {
                        // What is no block and no text is passed over.
                        self.events.next();
                    } else {
                        blocks.push(spans::wrapped(&spans, width));
                    }
                }
            }
        }
        blocks
    }

    fn block(&mut self, tag: &Tag<'_>, width: usize) -> Vec<String> {
        match tag {
            Tag::Heading { .. } => spans::wrapped(&self.line(Style::STRONG), width),
            Tag::BlockQuote(_) => {
                let inner = self.inside(width.saturating_sub(2));
                join(inner, true).into_iter().map(|line| format!("{}{line}", spans::faint("│ "))).collect()
            }
            Tag::CodeBlock(_) => {
                let text = spans::tame(&self.verbatim(), true);
                let lines = text.trim_end_matches('\n').split('\n');
                lines.map(|line| format!("    {}", spans::code(line))).collect()
            }
            Tag::HtmlBlock => {
                let text = spans::tame(&self.verbatim(), true);
                text.trim_end_matches('\n').split('\n').map(str::to_owned).collect()
            }
            Tag::List(first) => self.list(*first, width),
            Tag::Table(alignments) => self.table(alignments, width),
            _ => spans::wrapped(&self.line(Style::default()), width),
        }
    }

    /// Blocks within one.
    fn inside(&mut self, width: usize) -> Vec<Vec<String>> {
        self.depth = self.depth.saturating_add(1);
        let blocks = if self.depth > DEEPEST { vec![self.flat()] } else { self.all(width.max(8)) };
        self.depth = self.depth.saturating_sub(1);
        blocks
    }

    /// The text of what is too deep.
    fn flat(&mut self) -> Vec<String> {
        vec![spans::tame(&self.verbatim(), false)]
    }

    /// Text up to the end of this block.
    fn line(&mut self, base: Style) -> Vec<Span> {
        let spans = spans::inline(self.events, base);
        self.events.next();
        spans
    }

    /// All text up to the end of this block, whatever stands in it.
    fn verbatim(&mut self) -> String {
        let (mut text, mut depth) = (String::new(), 0_u32);
        for event in self.events.by_ref() {
            match event {
                Event::Start(_) => depth = depth.saturating_add(1),
                Event::End(_) if depth == 0 => break,
                Event::End(_) => depth = depth.saturating_sub(1),
                Event::Text(more) | Event::Code(more) | Event::Html(more) | Event::InlineHtml(more) => {
                    text.push_str(&more)
                }
                Event::SoftBreak | Event::HardBreak => text.push('\n'),
                _ => {}
            }
        }
        text
    }

    fn list(&mut self, first: Option<u64>, width: usize) -> Vec<String> {
        let (mut lines, mut number) = (Vec::new(), first);
        while let Some(Event::Start(Tag::Item)) = self.events.peek() {
            self.events.next();
            let loose = matches!(self.events.peek(), Some(Event::Start(Tag::Paragraph)));
            let marker = number.map_or_else(|| "• ".to_owned(), |number| format!("{number}. "));
            number = number.map(|number| number.saturating_add(1));
            let indent = width::of(&marker);
            let inner = join(self.inside(width.saturating_sub(indent)), loose);
            if loose && !lines.is_empty() {
                lines.push(String::new());
            }
            let blank = " ".repeat(indent);
            let inner = if inner.is_empty() { vec![String::new()] } else { inner };
            lines.extend(inner.into_iter().enumerate().map(|(at, line)| {
                let begin = if at == 0 { &marker } else { &blank };
                format!("{begin}{line}")
            }));
        }
        self.events.next();
        lines
    }

    fn table(&mut self, alignments: &[Alignment], most: usize) -> Vec<String> {
        let mut rows: Vec<Vec<String>> = Vec::new();
        while let Some(event) = self.events.next() {
            match event {
                Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
                Event::Start(Tag::TableCell) => {
                    let cell = spans::text(&self.line(Style::default()));
                    if let Some(row) = rows.last_mut() {
                        row.push(cell);
                    }
                }
                Event::End(pulldown_cmark::TagEnd::Table) => break,
                _ => {}
            }
        }
        let count = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths = fitted(
            (0..count)
                .map(|at| rows.iter().filter_map(|row| row.get(at)).map(|cell| width::of(cell)).max().unwrap_or(0))
                .collect(),
            most,
        );
        let cell = |text: &str, at: usize| {
            let columns = widths.get(at).copied().unwrap_or(0);
            let text = width::cut(text, columns);
            let left = columns.saturating_sub(width::of(&text));
            let before = match alignments.get(at) {
                Some(Alignment::Right) => left,
                Some(Alignment::Center) => left / 2,
                Some(Alignment::Left | Alignment::None) | None => 0,
            };
            format!("{}{text}{}", " ".repeat(before), " ".repeat(left.saturating_sub(before)))
        };
        let line = |(number, row): (usize, &Vec<String>)| {
            let cells: Vec<String> = row.iter().enumerate().map(|(at, text)| cell(text, at)).collect();
            let line = cells.join("  ").trim_end().to_owned();
            if number == 0 { spans::wrapped(&[(Style::STRONG, line.clone())], usize::MAX).join("") } else { line }
        };
        rows.iter().enumerate().map(line).collect()
    }
}

/// Widths of columns that fit beside each other: the widest are made narrower.
fn fitted(mut widths: Vec<usize>, most: usize) -> Vec<usize> {
    let between = widths.len().saturating_sub(1).saturating_mul(2);
    while widths.iter().sum::<usize>().saturating_add(between) > most {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > 1) else { break };
        *widest = widest.saturating_sub(1);
    }
    widths
}

/// The lines of blocks, with a blank one between them where that is wanted.
fn join(blocks: Vec<Vec<String>>, apart: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for block in blocks {
        if apart && !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(block);
    }
    lines
}

fn is_block(tag: &Tag<'_>) -> bool {
    !matches!(
        tag,
        Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::Superscript
            | Tag::Subscript
            | Tag::Link { .. }
            | Tag::Image { .. }
    )
}
