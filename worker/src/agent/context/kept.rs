//! Results that are too long for the transcript: kept whole in files beside it, under the SHA-256 of their bytes, as long as the task is.
//! A file is durable before an entry names it.

use super::{cut, recall};
use ouroboros_process::durable;
use ouroboros_proto::agent::{CallResult, Whole};
use ouroboros_proto::kind::hex::hex;
use sha2::{Digest as _, Sha256};
use std::fs::{DirBuilder, File};
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;

/// A result that is longer is shown with head and tail.
pub const MOST: usize = 32 << 10;
/// The directory beside the versions of files.
const DIRECTORY: &str = "results";
/// No file here is longer: a tool's result fits a frame.
const LONGEST: u64 = 64 << 20;

/// The files.
#[derive(Debug)]
pub struct Kept {
    dir: PathBuf,
}

impl Kept {
    /// Those of the task whose versions of files are here.
    pub fn of(versions: &str) -> Self {
        Self { dir: PathBuf::from(versions).join(DIRECTORY) }
    }

    /// Keeps what is too long of results that will be recorded at `place`. One that cannot be kept stays as it is; the error says why.
    pub fn take(&self, results: &mut [CallResult], place: usize) -> io::Result<()> {
        for (result, number) in results.iter_mut().zip(1_usize..) {
            let hint = |from, left| recall::hint(place, number, from, left);
            // What recall gives was cut already, and can be recalled again.
            if result.name == recall::NAME {
                continue;
            }
            let Some(text) = cut::head_and_tail(&result.text, MOST, None, hint) else { continue };
            let digest = self.put(result.text.as_bytes())?;
            let bytes = u64::try_from(result.text.len()).unwrap_or(u64::MAX);
            result.whole = Some(Whole { digest, bytes });
            result.text = text;
        }
        Ok(())
    }

    fn put(&self, bytes: &[u8]) -> io::Result<String> {
        let digest = digest(bytes);
        DirBuilder::new().recursive(true).mode(0o700).create(&self.dir)?;
        durable::replace(&self.dir.join(&digest), bytes)?;
        Ok(digest)
    }

    /// The whole of a result.
    ///
    /// # Errors
    /// It is not there any more, or damaged.
    pub fn whole(&self, whole: &Whole) -> io::Result<String> {
        let name = Some(whole.digest.as_str()).filter(|name| name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let name = name.ok_or_else(|| io::Error::other("its name is none"))?;
        let mut bytes = Vec::new();
        File::open(self.dir.join(name))?.take(LONGEST).read_to_end(&mut bytes)?;
        if digest(&bytes) != whole.digest {
            return Err(io::Error::other("what is kept is damaged"));
        }
        String::from_utf8(bytes).map_err(io::Error::other)
    }
}

fn digest(bytes: &[u8]) -> String {
    let hash: [u8; 32] = Sha256::digest(bytes).into();
    hex(&hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::results;
    use ouroboros_proto::agent::Entry;

    #[test]
    fn a_long_result_is_kept_whole_and_a_damaged_one_is_not_believed() {
        let dir = tempfile::tempdir().expect("a directory");
        let kept = Kept::of(&dir.path().display().to_string());
        let Entry::Results { mut results } = results(&["a", "b"]) else { panic!("no results") };
        let long: String = (0..9_000).map(|line| format!("line {line}\n")).collect();
        results[1].text.clone_from(&long);
        kept.take(&mut results, 7).expect("it can be written");
        assert_eq!(results[0].whole, None);
        let whole = results[1].whole.clone().expect("it is kept");
        assert!(results[1].text.len() < MOST + 300 && results[1].text.contains("\"entry\":7,\"result\":2"));
        assert_eq!(kept.whole(&whole).expect("it is there"), long);
        std::fs::write(dir.path().join(DIRECTORY).join(&whole.digest), "other").expect("damaged");
        assert!(kept.whole(&whole).is_err());
    }
}
