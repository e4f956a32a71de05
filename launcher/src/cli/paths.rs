//! `paths`: where everything is.

use super::{Context, Outcome};
use serde_json::{Map, Value};

/// Lists every place of this installation, whether it exists or not.
pub fn paths(context: &Context) -> Outcome {
    let all = context.paths().all();
    if context.json() {
        let key = |name: &str| name.to_lowercase().replace(' ', "_");
        let object: Map<String, Value> =
            all.iter().map(|(name, path)| (key(name), path.display().to_string().into())).collect();
        context.print_json(&object)?;
    } else {
        let width = all.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let lines: String = all.iter().map(|(name, path)| format!("{name:<width$}  {}\n", path.display())).collect();
        context.print(&lines)?;
    }
    Ok(0)
}
