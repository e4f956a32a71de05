//! Text with emphasis, broken into lines.

use crate::render::width;
use pulldown_cmark::{Event, Tag, TagEnd};
use std::iter::Peekable;

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    bold: bool,
    italic: bool,
    struck: bool,
    code: bool,
    faint: bool,
    /// The text of a link, which looks like any other.
    link: bool,
}

impl Style {
    /// That of headings.
    pub const STRONG: Self = Self { bold: true, italic: false, struck: false, code: false, faint: false, link: false };

    fn paint(self, text: &str) -> String {
        let codes: Vec<&str> =
            [(self.bold, "1"), (self.faint, "2"), (self.italic, "3"), (self.struck, "9"), (self.code, "36")]
                .into_iter()
                .filter_map(|(is, code)| is.then_some(code))
                .collect();
        if codes.is_empty() || text.is_empty() {
            text.to_owned()
        } else {
            format!("\x1b[{}m{text}\x1b[0m", codes.join(";"))
        }
    }
}

/// Text that looks the same.
pub type Span = (Style, String);

/// Code as it is shown in a block.
pub fn code(text: &str) -> String {
    Style { code: true, ..Style::default() }.paint(text)
}

/// Text beside the point.
pub fn faint(text: &str) -> String {
    Style { faint: true, ..Style::default() }.paint(text)
}

/// The text up to the end of what it stands in, or to the next block; the end is taken when there is one.
pub fn inline<'a>(events: &mut Peekable<impl Iterator<Item = Event<'a>>>, base: Style) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut styles = vec![base];
    let mut links: Vec<(String, usize)> = Vec::new();
    while let Some(event) = events.peek() {
        let style = styles.last().copied().unwrap_or(base);
        match event {
            Event::Start(Tag::Emphasis) => styles.push(Style { italic: true, ..style }),
            Event::Start(Tag::Strong) => styles.push(Style { bold: true, ..style }),
            Event::Start(Tag::Strikethrough) => styles.push(Style { struck: true, ..style }),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                links.push((dest_url.to_string(), spans.len()));
                let within = Style { link: true, ..style };
                styles.push(within);
            }
            Event::Start(Tag::Superscript | Tag::Subscript) => styles.push(style),
            Event::Start(_) => return spans,
            Event::End(
                TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough | TagEnd::Superscript | TagEnd::Subscript,
            ) => drop(styles.pop()),
            Event::End(TagEnd::Link | TagEnd::Image) => {
                styles.pop();
                let (address, from) = links.pop().unwrap_or_default();
                let text: String = spans.iter().skip(from).map(|(_, text)| text.as_str()).collect();
                let named = address.strip_prefix("mailto:").unwrap_or(&address);
                if !text.is_empty() && text != named && !address.is_empty() {
                    spans.push((Style { faint: true, ..style }, format!(" ({address})")));
                } else if text.is_empty() {
                    spans.push((style, address));
                }
            }
            Event::End(_) => return spans,
            Event::Text(text) | Event::InlineHtml(text) | Event::Html(text) => push(&mut spans, style, text),
            Event::Code(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                spans.push((Style { code: true, ..style }, text.to_string()));
            }
            Event::FootnoteReference(text) => spans.push((style, format!("[{text}]"))),
            Event::SoftBreak => push(&mut spans, style, " "),
            Event::HardBreak => spans.push((style, "\n".to_owned())),
            Event::TaskListMarker(done) => spans.push((style, if *done { "[x] " } else { "[ ] " }.to_owned())),
            Event::Rule => return spans,
        }
        events.next();
    }
    spans
}

/// Adds text, to the span before where that looks the same. Text of a link begins one of its own, which its address is compared with.
fn push(spans: &mut Vec<Span>, style: Style, text: &str) {
    match spans.last_mut() {
        Some((last, before)) if *last == style => before.push_str(text),
        Some(_) | None => spans.push((style, text.to_owned())),
    }
}

/// Control characters as escapes, but for line ends where they are meant.
pub fn tame(text: &str, lines: bool) -> String {
    let mut tame = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' if lines => tame.push('\n'),
            '\t' => tame.push_str("    "),
            '\n' => tame.push(' '),
            letter if letter.is_control() => tame.extend(letter.escape_default()),
            letter => tame.push(letter),
        }
    }
    tame
}

/// The spans without looks.
pub fn text(spans: &[Span]) -> String {
    spans.iter().map(|(_, text)| tame(text, false)).collect()
}

/// The spans on lines of at most so many columns.
pub fn wrapped(spans: &[Span], most: usize) -> Vec<String> {
    let (mut lines, mut line, mut taken) = (Vec::new(), String::new(), 0_usize);
    for (style, text) in spans {
        let text = tame(text, true);
        for (number, part) in text.split('\n').enumerate() {
            if number > 0 {
                lines.push(std::mem::take(&mut line));
                taken = 0;
            }
            for piece in part.split_inclusive(' ') {
                let word = piece.trim_end_matches(' ');
                let columns = width::of(word);
                if taken > 0 && taken.saturating_add(columns) > most {
                    lines.push(std::mem::take(&mut line));
                    taken = 0;
                }
                let mut broken = width::wrapped(word, most).into_iter();
                let mut last = broken.next().unwrap_or_default();
                for next in broken {
                    line.push_str(&style.paint(&last));
                    lines.push(std::mem::take(&mut line));
                    (taken, last) = (0, next);
                }
                line.push_str(&style.paint(&last));
                taken = taken.saturating_add(width::of(&last));
                if piece.len() > word.len() && taken > 0 {
                    line.push(' ');
                    taken = taken.saturating_add(1);
                }
            }
        }
    }
    lines.push(line);
    lines
}
