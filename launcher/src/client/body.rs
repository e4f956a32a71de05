//! The body of a response, decoded as its bytes come in.

use super::ClientError;
use std::io;

/// Longest line that frames a chunk.
const LINE_BYTES: usize = 4 << 10;

/// What is expected next.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Exactly(u64),
    UntilClose,
    ChunkSize(Vec<u8>),
    Chunk(u64),
    ChunkEnd,
    Trailer(Vec<u8>),
    Done,
}

/// Takes the framing off a body.
#[derive(Debug)]
pub struct Decoder(State);

impl Decoder {
    /// The decoder that these header fields, with lower-case names, ask for.
    pub fn new(status: u16, headers: &[(String, String)]) -> Result<Self, ClientError> {
        let find = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.trim());
        let state = if matches!(status, 204 | 304) {
            State::Done
        } else if find("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            State::ChunkSize(Vec::new())
        } else {
            match find("content-length").map(str::parse) {
                None => State::UntilClose,
                Some(Ok(0)) => State::Done,
                Some(Ok(length)) => State::Exactly(length),
                Some(Err(_)) => return Err(ClientError::Malformed("its length is not a number".to_owned())),
            }
        };
        Ok(Self(state))
    }

    /// Whether the body is complete.
    pub fn is_done(&self) -> bool {
        self.0 == State::Done
    }

    /// The peer closed: an error unless the body may end here.
    pub fn end(&mut self) -> Result<(), ClientError> {
        match self.0 {
            State::Done | State::UntilClose => {
                self.0 = State::Done;
                Ok(())
            }
            State::Exactly(_) | State::ChunkSize(_) | State::Chunk(_) | State::ChunkEnd | State::Trailer(_) => {
                Err(ClientError::Lost(io::ErrorKind::UnexpectedEof.into()))
            }
        }
    }

    /// Decodes `input` and adds what it carries to `out`. What comes after the end is dropped.
    pub fn feed(&mut self, mut input: &[u8], out: &mut Vec<u8>) -> Result<(), ClientError> {
        while !input.is_empty() && !self.is_done() {
            match &mut self.0 {
                State::Exactly(left) => {
                    out.extend_from_slice(take(&mut input, left));
                    if *left == 0 {
                        self.0 = State::Done;
                    }
                }
                State::UntilClose => {
                    out.extend_from_slice(input);
                    input = &[];
                }
                State::ChunkSize(line) => {
                    if take_line(&mut input, line)? {
                        self.0 = match httparse::parse_chunk_size(line) {
                            Ok(httparse::Status::Complete((_, 0))) => State::Trailer(Vec::new()),
                            Ok(httparse::Status::Complete((_, size))) => State::Chunk(size),
                            _ => return Err(ClientError::Malformed("a chunk has no valid size".to_owned())),
                        };
                    }
                }
                State::Chunk(left) => {
                    out.extend_from_slice(take(&mut input, left));
                    if *left == 0 {
                        self.0 = State::ChunkEnd;
                    }
                }
                State::ChunkEnd => {
                    if take_line(&mut input, &mut Vec::new())? {
                        self.0 = State::ChunkSize(Vec::new());
                    }
                }
                State::Trailer(line) => {
                    if take_line(&mut input, line)? {
                        self.0 = if line.iter().all(u8::is_ascii_whitespace) {
                            State::Done
                        } else {
                            State::Trailer(Vec::new())
                        };
                    }
                }
                State::Done => {}
            }
        }
        Ok(())
    }
}

/// Takes at most `left` bytes off the front of `input`.
fn take<'a>(input: &mut &'a [u8], left: &mut u64) -> &'a [u8] {
    let count = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
    let (taken, rest) = input.split_at_checked(count).unwrap_or((input, &[]));
    *input = rest;
    *left = left.saturating_sub(u64::try_from(taken.len()).unwrap_or(u64::MAX));
    taken
}

/// Moves bytes up to the end of the line to `line`; true when that was reached.
fn take_line(input: &mut &[u8], line: &mut Vec<u8>) -> Result<bool, ClientError> {
    let end = input.iter().position(|byte| *byte == b'\n').map(|at| at.saturating_add(1));
    let (taken, rest) = input.split_at_checked(end.unwrap_or(input.len())).unwrap_or((input, &[]));
    line.extend_from_slice(taken);
    *input = rest;
    if line.len() > LINE_BYTES {
        return Err(ClientError::Malformed("a line between chunks is too long".to_owned()));
    }
    Ok(end.is_some())
}

#[cfg(test)]
mod tests {
    use super::Decoder;

    fn decode(headers: &[(&str, &str)], body: &[u8], step: usize) -> (Vec<u8>, bool) {
        let headers: Vec<_> = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let mut decoder = Decoder::new(200, &headers).unwrap();
        let mut out = Vec::new();
        for chunk in body.chunks(step) {
            decoder.feed(chunk, &mut out).unwrap();
        }
        (out, decoder.is_done())
    }

    #[test]
    fn every_split_of_a_chunked_body_decodes_to_the_same_bytes() {
        let body = b"4\r\nwiki\r\n5;note=x\r\npedia\r\nA\r\n in\r\nthe \n\r\n0\r\nLate: yes\r\n\r\ntrash";
        for step in 1..body.len() {
            let (out, done) = decode(&[("transfer-encoding", "chunked")], body, step);
            assert_eq!(out, b"wikipedia in\r\nthe \n", "step {step}");
            assert!(done);
        }
    }

    #[test]
    fn a_counted_body_ends_where_it_should() {
        assert_eq!(decode(&[("content-length", "3")], b"abcdef", 2), (b"abc".to_vec(), true));
        assert_eq!(decode(&[("content-length", "9")], b"abc", 2), (b"abc".to_vec(), false));
        assert_eq!(decode(&[], b"abc", 2), (b"abc".to_vec(), false));
    }

    #[test]
    fn a_cut_body_is_an_error_and_a_closed_one_is_not() {
        let chunked = [("transfer-encoding".to_owned(), "chunked".to_owned())];
        assert!(Decoder::new(200, &chunked).unwrap().end().is_err());
        assert!(Decoder::new(200, &[]).unwrap().end().is_ok());
        assert!(Decoder::new(204, &chunked).unwrap().end().is_ok());
    }

    #[test]
    fn broken_framing_is_refused() {
        let chunked = [("transfer-encoding".to_owned(), "chunked".to_owned())];
        let length = [("content-length".to_owned(), "-1".to_owned())];
        assert!(Decoder::new(200, &length).is_err());
        for body in [&b"xyz\r\n"[..], b"ffffffffffffffffff\r\n", &[b'1'; 9_000]] {
            assert!(Decoder::new(200, &chunked).unwrap().feed(body, &mut Vec::new()).is_err());
        }
    }
}
