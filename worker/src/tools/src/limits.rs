//! Every bound of the tools. What hits one says so in its outcome.

/// Bounds of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a call's arguments.
    pub argument_bytes: usize,
    /// Lines that a read gives when it was not told how many, and at most.
    pub read_lines: usize,
    /// Bytes of text that a read gives.
    pub read_bytes: usize,
    /// Characters of one line that are shown; the rest is cut, and said to be.
    pub line_chars: usize,
    /// Bytes of a file that are masked in one piece. Longer files are taken in windows of this size, cut at ends of lines.
    pub window_bytes: usize,
    /// The same for a file that is read.
    pub read_window_bytes: usize,
    /// Bytes of a file that are searched; what lies behind is said not to be.
    pub scan_bytes: u64,
    /// Bytes behind what is read in which lines are counted; how many more there are is said not to be known.
    pub count_bytes: u64,
    /// Bytes of a file that is edited, before and after.
    pub edit_bytes: usize,
    /// Files that one call changes.
    pub changed_files: usize,
    /// Bytes of all files that one call changes, as they are before.
    pub changed_bytes: usize,
    /// Entries that a listing shows.
    pub listed_entries: usize,
    /// Entries of directories that one call looks at.
    pub walked_entries: usize,
    /// Levels of directories below the first.
    pub depth: usize,
    /// Lines with matches that a search shows.
    pub matches: usize,
    /// Bytes of text that a search or a listing gives.
    pub result_bytes: usize,
    /// Lines around a match.
    pub context_lines: usize,
    /// Characters of a glob or a search pattern.
    pub pattern_chars: usize,
    /// Characters of a note.
    pub note_chars: usize,
    /// Bytes of an image's file, and of it as it is shown.
    pub image_bytes: usize,
    /// See above.
    pub image_shown_bytes: usize,
    /// Pixels of an image that is decoded.
    pub image_pixels: u64,
    /// Bytes that decoding may take.
    pub image_memory: u64,
    /// Pixels of the longer side of an image as it is shown.
    pub image_side: u32,
    /// Lines that are compared to find those nearest to a text that is not there.
    pub compared_lines: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            argument_bytes: 16 << 20,
            read_lines: 2_000,
            read_bytes: 128 << 10,
            line_chars: 2_000,
            window_bytes: 8 << 20,
            read_window_bytes: 512 << 10,
            scan_bytes: 256 << 20,
            count_bytes: 32 << 20,
            edit_bytes: 8 << 20,
            changed_files: 256,
            changed_bytes: 64 << 20,
            listed_entries: 500,
            walked_entries: 1_000_000,
            depth: 64,
            matches: 200,
            result_bytes: 64 << 10,
            context_lines: 20,
            pattern_chars: 4_096,
            note_chars: 4_000,
            image_bytes: 20 << 20,
            image_shown_bytes: 1_536 << 10,
            image_pixels: 50_000_000,
            image_memory: 256 << 20,
            image_side: 1_568,
            compared_lines: 20_000,
        }
    }
}
