//! What is to be shown of an answer, between two reads of the network.

use ouroboros_proto::agent::Piece;

/// Pieces in order. Neighbours of one kind become one: what arrived together is passed on together, because each piece that is passed on
/// costs the server and its worker a wake-up.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    list: Vec<Piece>,
    bytes: usize,
}

/// No more than this is kept back, however fast more comes.
const MOST: usize = 16 << 10;

impl Pieces {
    /// Whether there is something to be shown.
    pub(super) fn are_some(&self) -> bool {
        !self.list.is_empty()
    }

    /// Whether they are to be shown, even when more has arrived.
    pub(super) fn are_enough(&self) -> bool {
        self.bytes >= MOST
    }

    pub(super) fn add(&mut self, piece: Piece) {
        self.bytes = self.bytes.saturating_add(weight(&piece));
        match (self.list.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(more))
            | (Some(Piece::Reasoning(before)), Piece::Reasoning(more)) => {
                before.push_str(&more);
            }
            (Some(Piece::Arguments { index: of, text: before }), Piece::Arguments { index, text }) if *of == index => {
                before.push_str(&text);
            }
            (_, piece) => self.list.push(piece),
        }
    }
}

fn weight(piece: &Piece) -> usize {
    match piece {
        Piece::Text(text) | Piece::Reasoning(text) | Piece::Status(text) | Piece::Arguments { text, .. } => text.len(),
        Piece::ToolCall { name, .. } => name.len(),
    }
}

impl IntoIterator for Pieces {
    type Item = Piece;
    type IntoIter = std::vec::IntoIter<Piece>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_neighbours_of_one_kind_and_one_call_become_one() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let arguments = |index, text: &str| Piece::Arguments { index, text: text.to_owned() };
        let call = |index| Piece::ToolCall { index, name: "weather".to_owned() };
        let thought = Piece::Reasoning("so".to_owned());
        let came = [
            text("a"),
            text("b"),
            thought.clone(),
            text("c"),
            call(0),
            arguments(0, "{"),
            arguments(0, "}"),
            call(1),
            arguments(1, "[]"),
            arguments(0, " "),
            Piece::Status("x".to_owned()),
            Piece::Status("y".to_owned()),
        ];
        let mut pieces = Pieces::default();
        came.into_iter().for_each(|piece| pieces.add(piece));
        let shown = [
            text("ab"),
            thought,
            text("c"),
            call(0),
            arguments(0, "{}"),
            call(1),
            arguments(1, "[]"),
            arguments(0, " "),
            Piece::Status("x".to_owned()),
            Piece::Status("y".to_owned()),
        ];
        assert_eq!(pieces.into_iter().collect::<Vec<_>>(), shown);
    }
}
