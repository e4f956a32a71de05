//! Times, and what of them is shown.

use ouroboros_proto::kind::clock;

/// Now, microseconds.
pub fn micros() -> u64 {
    clock::boot().get()
}

/// Seconds since `start`.
pub fn seconds_since(start: u64) -> f64 {
    micros().saturating_sub(start) as f64 / 1e6
}

/// Many times, in microseconds.
#[derive(Debug, Clone, Default)]
pub struct Samples(Vec<u64>);

impl Samples {
    /// Adds the time since `start`.
    pub fn since(&mut self, start: u64) {
        self.add(micros().saturating_sub(start));
    }

    /// Adds a time.
    pub fn add(&mut self, micros: u64) {
        self.0.push(micros);
    }

    /// Adds all of another.
    pub fn merge(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The time below which this percentage of them lies, milliseconds; the nearest sample, never an invented one.
    pub fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = (sorted.len() * percent).div_ceil(100).max(1);
        sorted.get(rank - 1).map_or(f64::NAN, |micros| *micros as f64 / 1e3)
    }

    /// The middle, milliseconds.
    pub fn p50(&self) -> f64 {
        self.percentile(50)
    }

    /// The tail, milliseconds.
    pub fn p99(&self) -> f64 {
        self.percentile(99)
    }

    /// Both, for people.
    pub fn shown(&self) -> String {
        format!("p50 {}, p99 {} (n={})", ms(self.p50()), ms(self.p99()), self.count())
    }
}

/// Milliseconds with as many digits as they deserve.
pub fn ms(millis: f64) -> String {
    match millis {
        long if long >= 100.0 => format!("{long:.0} ms"),
        middle if middle >= 10.0 => format!("{middle:.1} ms"),
        short if short >= 1.0 => format!("{short:.2} ms"),
        tiny => format!("{:.0} µs", tiny * 1e3),
    }
}

/// A rate for people.
pub fn per_second(rate: f64) -> String {
    if rate >= 100.0 { format!("{rate:.0}/s") } else { format!("{rate:.1}/s") }
}

/// Bytes for people.
pub fn kib(bytes: f64) -> String {
    format!("{:.1} KiB", bytes / 1024.0)
}

/// Bytes for people.
pub fn mib(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}
