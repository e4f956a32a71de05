//! What a model writes, for a terminal: headings, emphasis, code, lists, tables and links by block, each once it is complete.
//!
//! Parsing is CommonMark's with tables and strikethrough; control characters, also those that entities stand for, are shown as escapes.

mod blocks;
mod spans;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};

/// Bytes of a block that are waited for: a longer one is shown as if it ended there.
const LONGEST: usize = 64 << 10;
/// Columns of text where the terminal does not say its own, and at most.
const USUAL: usize = 80;
const WIDEST: usize = 120;

/// One text.
#[derive(Debug)]
pub struct Markdown {
    width: usize,
    source: String,
    /// A block was shown.
    begun: bool,
}

impl Markdown {
    /// For a terminal of so many columns.
    pub fn new(width: Option<u16>) -> Self {
        let width = width.map_or(USUAL, usize::from).clamp(16, WIDEST);
        Self { width, source: String::new(), begun: false }
    }

    /// The blocks that are complete with this text, each line ended.
    pub fn take(&mut self, text: &str) -> String {
        self.source.push_str(text);
        if !text.contains('\n') && self.source.len() <= LONGEST {
            return String::new();
        }
        let end = if self.source.len() > LONGEST { self.source.len() } else { complete(&self.source) };
        let Some((whole, rest)) = self.source.split_at_checked(end) else { return String::new() };
        let (whole, rest) = (whole.to_owned(), rest.to_owned());
        self.source = rest;
        self.shown(&whole)
    }

    /// What is left; the next text begins anew.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.source);
        let shown = self.shown(&rest);
        self.begun = false;
        shown
    }

    fn shown(&mut self, source: &str) -> String {
        let source = source.replace("\r\n", "\n");
        let mut events = parser(&source).peekable();
        let mut shown = String::new();
        for block in blocks::all(&mut events, self.width) {
            if std::mem::replace(&mut self.begun, true) {
                shown.push('\n');
            }
            block.iter().for_each(|line| {
                shown.push_str(line.trim_end());
                shown.push('\n');
            });
        }
        shown
    }
}

fn parser(source: &str) -> Parser<'_> {
    Parser::new_ext(source, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS)
}

/// Where the block begins that may go on: the last one, unless a blank line ends it. A line that has not ended says nothing yet.
fn complete(source: &str) -> usize {
    let ended = source.rfind('\n').map_or(0, |at| at.saturating_add(1));
    let source = source.get(..ended).unwrap_or_default();
    let (mut depth, mut last) = (0_u32, (0, false));
    for (event, range) in parser(source).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let ends = match tag {
                        Tag::Heading { .. } => source.ends_with('\n'),
                        // One that is not closed goes on to the end.
                        Tag::CodeBlock(CodeBlockKind::Fenced(_)) => range.end < source.len(),
                        Tag::Paragraph | Tag::Table(_) => source.ends_with("\n\n"),
                        _ => false,
                    };
                    last = (range.start, ends);
                }
                depth = depth.saturating_add(1);
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 0 => last = (range.start, false),
            _ => {}
        }
    }
    match last {
        (_, true) => source.len(),
        (start, false) => start,
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, Markdown};

    fn plain(text: &str) -> String {
        let mut plain = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('\x1b') {
            plain.push_str(before);
            rest = after.split_once('m').map_or("", |(_, rest)| rest);
        }
        plain + rest
    }

    fn shown(width: u16, source: &str) -> String {
        let mut markdown = Markdown::new(Some(width));
        let begun = markdown.take(source);
        begun + &markdown.finish()
    }

    #[test]
    fn each_kind_of_block_has_its_look() {
        let source = "# Title\n\nSome *soft*, **strong**, ~~gone~~ and `code`.\n\n- one\n- two\n  1. deep\n  2. er\n\n> said\n> so\n\n\
            ```rust\nfn a() {}\n\n  x\n```\n\n---\n\nSee [the page](https://a.b/c) or <https://d.e>.\n\n- [x] done\n- [ ] not\n";
        let expected = "Title\n\nSome soft, strong, gone and code.\n\n• one\n• two\n  1. deep\n  2. er\n\n│ said so\n\n    fn a() {}\n\n      x\n\n\
            ────────────────────────────────────────\n\nSee the page (https://a.b/c) or https://d.e.\n\n• [x] done\n• [ ] not\n";
        assert_eq!(plain(&shown(60, source)), expected);
        assert!(shown(60, source).contains("\x1b[1mTitle\x1b[0m"));
    }

    #[test]
    fn tables_are_aligned_by_columns_and_fit() {
        let source = "| name | wert |\n|:--|--:|\n| 日本 | 1 |\n| a `b` | 200 |\n";
        assert_eq!(plain(&shown(60, source)), "name  wert\n日本     1\na b    200\n");
        let long = format!("| a | b |\n|--|--|\n| {} | {} |\n", "x".repeat(80), "日".repeat(40));
        let shown = plain(&shown(40, &long));
        assert!(shown.lines().all(|line| crate::render::width::of(line) <= 40) && shown.contains('…'), "{shown}");
    }

    #[test]
    fn text_is_wrapped_by_columns() {
        let lines = plain(&shown(20, "- 日本語の文章 と **とても長い** 言葉\n"));
        assert!(lines.lines().all(|line| crate::render::width::of(line) <= 20), "{lines}");
        assert!(lines.lines().count() > 1 && lines.lines().skip(1).all(|line| line.starts_with("  ")), "{lines}");
    }

    #[test]
    fn a_block_is_shown_once_it_is_complete_and_the_pieces_do_not_matter() {
        let mut markdown = Markdown::new(Some(60));
        assert_eq!(markdown.take("One"), "");
        assert_eq!(markdown.take(" line\n"), "");
        assert_eq!(markdown.take("\n"), "One line\n");
        assert_eq!(markdown.take("```\ncode\n"), "");
        assert_eq!(plain(&markdown.take("```\n\nNext")), "\n    code\n");
        assert_eq!(markdown.finish(), "\nNext\n");
        assert_eq!((markdown.take("New\n\n"), markdown.finish()), ("New\n".to_owned(), String::new()));
        let source = "# A\ntext *with* words\n\n- a\n- b\n\n  more\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\nend";
        let whole = shown(60, source);
        for size in 1..12 {
            let mut markdown = Markdown::new(Some(60));
            let letters: Vec<char> = source.chars().collect();
            let pieces: String =
                letters.chunks(size).map(|piece| markdown.take(&piece.iter().collect::<String>())).collect();
            assert_eq!(pieces + &markdown.finish(), whole, "{size}");
        }
    }

    #[test]
    fn hostile_text_cannot_steer_the_terminal_and_unclosed_fences_end() {
        for source in [
            "a\x1b[2Jb",
            "a&#27;[2Jb",
            "`a\x1b[2Jb`",
            "```\na\x1b[2Jb",
            "[x](http://a\x1b[2Jb)",
            "<b\x1b[2Jb>",
            "| \x1b[2J |\n|--|\n| a |\n",
        ] {
            let shown = shown(60, source);
            assert!(!shown.contains("\x1b[2J") && shown.contains("[2J"), "{source:?}: {shown:?}");
        }
        assert_eq!(plain(&shown(60, "```\nnever\nclosed")), "    never\n    closed\n");
        assert_eq!(plain(&shown(60, "a\r\nb")), "a b\n");
        let deep = "> ".repeat(3_000) + "x";
        assert!(shown(60, &deep).contains('x'));
        let mut markdown = Markdown::new(Some(60));
        assert!(!markdown.take(&format!("```\n{}", "line\n".repeat(LONGEST))).is_empty());
    }
}
