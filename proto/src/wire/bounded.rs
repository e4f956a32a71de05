//! Reading of text and lists whose announced length is not believed.
//!
//! bincode takes memory for an owned string as long as announced, and serde takes up to a mebibyte for an announced list,
//! before either has seen that many bytes. Every [`String`] and [`Vec`] of a frame is read by a function of this module
//! instead: text is copied out of the body once it is known to be there, a list grows with the elements that arrive.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

/// Reads a string.
pub(super) fn text<'de, D: Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    Text::deserialize(source).map(|text| text.0)
}

/// Reads a string that may be absent.
pub(super) fn optional_text<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<Text>::deserialize(source)?.map(|text| text.0))
}

/// Reads bytes.
pub(super) fn bytes<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<u8>, D::Error> {
    source.deserialize_bytes(BytesVisitor)
}

/// Reads a list of strings.
pub(super) fn texts<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<String>, D::Error> {
    source.deserialize_seq(List(|text: Text| text.0))
}

/// Reads a list of pairs of strings.
pub(super) fn pairs<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<(String, String)>, D::Error> {
    source.deserialize_seq(List(|(name, value): (Text, Text)| (name.0, value.0)))
}

/// Reads a list of strings with numbers.
pub(super) fn numbered<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<(u32, String)>, D::Error> {
    source.deserialize_seq(List(|(number, text): (u32, Text)| (number, text.0)))
}

/// Reads a list of numbers.
pub(super) fn numbers<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<u32>, D::Error> {
    source.deserialize_seq(List(|number: u32| number))
}

struct BytesVisitor;

impl Visitor<'_> for BytesVisitor {
    type Value = Vec<u8>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
        Ok(bytes.to_vec())
    }
}

struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        source.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }
}

/// Reads elements of one type and keeps each as another.
struct List<Read, Kept>(fn(Read) -> Kept);

impl<'de, Read: Deserialize<'de>, Kept> Visitor<'de> for List<Read, Kept> {
    type Value = Vec<Kept>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Vec<Kept>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = source.next_element()? {
            list.push(self.0(element));
        }
        Ok(list)
    }
}
