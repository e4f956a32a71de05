//! One row of the table, and printing all of them.

use serde_json::json;

/// How a figure stands to its bar.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It has no bar.
    None,
    /// It meets it.
    Met,
    /// It does not.
    Missed,
    /// It was not measured, for this reason.
    Skipped(String),
    /// Measuring it failed.
    Broken(String),
}

/// One figure.
#[derive(Debug, Clone)]
pub struct Row {
    name: String,
    figure: String,
    against: String,
    ratio: Option<f64>,
    bar: String,
    /// How it stands.
    pub verdict: Verdict,
}

impl Row {
    /// A figure under this name.
    pub fn new(name: impl Into<String>, figure: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            figure: figure.into(),
            against: String::new(),
            ratio: None,
            bar: String::new(),
            verdict: Verdict::None,
        }
    }

    /// One that could not be measured here.
    pub fn skipped(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Skipped(why.into()), ..Self::new(name, "") }
    }

    /// One whose measuring failed.
    pub fn broken(name: impl Into<String>, why: impl Into<String>) -> Self {
        Self { verdict: Verdict::Broken(why.into()), ..Self::new(name, "") }
    }

    /// What it is compared with, and its ratio to that.
    pub fn against(mut self, against: impl Into<String>, ratio: f64) -> Self {
        self.against = against.into();
        self.ratio = ratio.is_finite().then_some(ratio);
        self
    }

    /// What it is beside, when a ratio says nothing.
    pub fn beside(mut self, against: impl Into<String>) -> Self {
        self.against = against.into();
        self
    }

    /// The bar is an upper one.
    pub fn at_most(self, value: f64, limit: f64, bar: impl Into<String>) -> Self {
        self.judged(value <= limit, format!("≤ {}", bar.into()))
    }

    /// The bar is a lower one.
    pub fn at_least(self, value: f64, limit: f64, bar: impl Into<String>) -> Self {
        self.judged(value >= limit, format!("≥ {}", bar.into()))
    }

    /// The bar is met or not.
    pub fn judged(mut self, met: bool, bar: impl Into<String>) -> Self {
        self.bar = bar.into();
        self.verdict = if met { Verdict::Met } else { Verdict::Missed };
        self
    }

    fn cells(&self) -> [String; 6] {
        let ratio = self.ratio.map_or_else(String::new, |ratio| match ratio {
            large if large >= 100.0 => format!("{large:.0}"),
            small => format!("{small:.2}"),
        });
        let verdict = match &self.verdict {
            Verdict::None => "",
            Verdict::Met => "ok",
            Verdict::Missed => "MISS",
            Verdict::Skipped(_) => "skipped",
            Verdict::Broken(_) => "BROKEN",
        };
        let figure = match &self.verdict {
            Verdict::Skipped(why) | Verdict::Broken(why) => why.clone(),
            Verdict::None | Verdict::Met | Verdict::Missed => self.figure.clone(),
        };
        [self.name.clone(), figure, self.against.clone(), ratio, self.bar.clone(), verdict.to_owned()]
    }

    fn json(&self) -> serde_json::Value {
        let [name, figure, against, _, bar, verdict] = self.cells();
        json!({ "row": name, "figure": figure, "against": against, "ratio": self.ratio, "bar": bar, "verdict": verdict })
    }
}

/// Prints the table.
pub fn print(rows: &[Row], as_json: bool) {
    if as_json {
        let rows: Vec<_> = rows.iter().map(Row::json).collect();
        println!("{:#}", json!({ "version": 1, "rows": rows }));
        return;
    }
    let head = ["row", "figure", "floor or peer, same run", "ratio", "bar", ""].map(str::to_owned);
    let mut lines = vec![head];
    lines.extend(rows.iter().map(Row::cells));
    let widths: Vec<usize> =
        (0..6).map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0)).collect();
    for line in lines {
        let padded = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        println!("{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    }
}
