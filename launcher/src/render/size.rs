//! Byte counts for people.

const UNITS: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// About this many bytes, in the largest unit that leaves a whole part: `1.5 MiB`.
pub fn size(bytes: u64) -> String {
    match UNITS.iter().find(|(_, unit)| bytes >= *unit) {
        Some((name, unit)) => {
            let tenths = u128::from(bytes) * 10 / u128::from(*unit);
            if tenths >= 1_000 {
                format!("{} {name}", tenths / 10)
            } else {
                format!("{}.{} {name}", tenths / 10, tenths % 10)
            }
        }
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_short() {
        let shown = [0, 1_023, 1_024, 1_536, 102_400, 1 << 20, u64::MAX].map(size);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "100 KiB", "1.0 MiB", "16777215 TiB"]);
    }
}
