//! What is left out behind the beginning of a secret that was found by its shape.

use super::class::Class;

/// Most bytes of a private key that are left out; the largest in use have about a quarter of this.
const BLOCK: usize = 64 << 10;

/// A word shorter than this is not a line of a key.
const SHORT: usize = 16;

/// And one shorter than this is a mark between lines, such as the `+` of a program.
const MARK: usize = 2;

/// Most short words in a key: its headers have some, prose has more.
const SHORT_WORDS: u8 = 8;

/// What is still to be left out.
#[derive(Debug, Clone, Copy)]
pub enum Swallow {
    /// A run of these bytes.
    Run(Class),
    /// Nothing more.
    Nothing,
    /// A private key.
    Block(Block),
}

/// Inside a private key.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// What it consists of.
    class: Class,
    /// Hyphens in a row.
    hyphens: u8,
    /// Whether the last line has begun.
    ending: bool,
    /// Bytes of the word so far.
    word: usize,
    /// Short words so far.
    short: u8,
    /// Bytes that may still come.
    left: usize,
}

impl Swallow {
    /// A private key behind its first line.
    pub fn key_block(class: Class) -> Self {
        Self::Block(Block { class, hyphens: 0, ending: false, word: 0, short: 0, left: BLOCK })
    }

    /// Leaves out what belongs to the secret from `from` on. Says where that ends, and what is left to be done if the text
    /// ended first.
    pub fn advance(self, text: &[u8], from: usize) -> (usize, Option<Self>) {
        match self {
            Self::Run(class) => {
                let end = class.run(text, from);
                (end, (end >= text.len()).then_some(self))
            }
            Self::Nothing => (from, None),
            Self::Block(mut block) => {
                let rest = text.get(from..).unwrap_or_default();
                for (offset, byte) in rest.iter().enumerate() {
                    match block.step(*byte) {
                        Step::Goes => {}
                        Step::EndsBefore => return (from.saturating_add(offset), None),
                        Step::EndsWith => return (from.saturating_add(offset).saturating_add(1), None),
                    }
                }
                (text.len(), Some(Self::Block(block)))
            }
        }
    }
}

enum Step {
    Goes,
    EndsBefore,
    EndsWith,
}

impl Block {
    fn step(&mut self, byte: u8) -> Step {
        let Some(left) = self.left.checked_sub(1).filter(|_| self.class.has(byte)) else {
            return Step::EndsBefore;
        };
        self.left = left;
        if byte == b'-' {
            return self.hyphen();
        }
        self.hyphens = 0;
        if !byte.is_ascii_whitespace() {
            self.word = self.word.saturating_add(1);
        } else if self.word > 0 {
            self.short = self.short.saturating_add(u8::from((MARK..SHORT).contains(&self.word) && !self.ending));
            self.word = 0;
        }
        if self.short > SHORT_WORDS { Step::EndsBefore } else { Step::Goes }
    }

    /// Five hyphens begin the last line, and five end it.
    fn hyphen(&mut self) -> Step {
        self.hyphens = self.hyphens.saturating_add(1);
        if self.hyphens < 5 {
            return Step::Goes;
        }
        self.hyphens = 0;
        if self.ending {
            return Step::EndsWith;
        }
        self.ending = true;
        Step::Goes
    }
}
