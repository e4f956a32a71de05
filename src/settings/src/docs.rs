//! The reference of all settings, as Markdown.

use crate::schema::{ALL, Preset, Setting};
use std::fmt::Write;

const HEAD: &str = "\
# Configuration

<!-- Made from the table of settings in src/settings/src/schema/table.rs. To make it again:
     OUROBOROS_TEST_UPDATE=1 cargo test -p ouroboros-settings -->

A setting has a value from the first of these that names it: the command line, its environment variable, `config.toml`,
its default. `ouroboros config list` shows every value and where it came from; `ouroboros config path` prints where
`config.toml` is. In the file a setting is written as `slots = 4` below `[queue]`, or as `queue.slots = 4`.

- A value that is not allowed is an error that names the line; nothing is clamped. At a reload (`SIGHUP`) the old
  configuration stays in force.
- An unknown name is a warning with the nearest known name; it is otherwise ignored.
- An empty environment variable counts as not set.
- Durations are numbers with units, largest first: `250ms`, `5s`, `1h30m`, `30d`. Sizes are bytes, or have a unit: `B`,
  `KiB`, `MiB`, `GiB`, `TiB`. Bounds are allowed values.
- *In force* says when a changed value counts: *immediate* at the reload, for running tasks too; *next task* for attempts
  that start after it; *restart* when the server starts again.
- Settings marked *owner* can be changed by the owner only, never by work that runs here.
";

/// The whole document.
#[must_use]
pub fn render() -> String {
    let mut text = HEAD.to_owned();
    let mut section = "";
    for setting in ALL {
        if setting.section != section {
            section = setting.section;
            let _ = write!(text, "\n## `[{section}]`\n\n");
            text.push_str("| setting | default | allowed | in force | what it is |\n| --- | --- | --- | --- | --- |\n");
        }
        text.push_str(&row(setting));
    }
    text
}

fn row(setting: &Setting) -> String {
    let default = match setting.preset {
        Preset::Fixed(text) => format!("`{text}`"),
        Preset::Processors => "number of processors, 2 to 256".to_owned(),
    };
    let mark = if setting.owner_only { ", *owner*" } else { "" };
    format!(
        "| `{}`<br>`{}` | {default} | {} | {}{mark} | {} |\n",
        setting.key,
        setting.key.variable(),
        setting.kind,
        setting.effect,
        setting.description,
    )
}
