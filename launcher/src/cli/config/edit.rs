//! `config edit`: the file in an editor. A copy is edited, and takes the file's place only when it is valid.

use super::{done, file, invalid};
use crate::cli::{Context, Failure, Outcome, program};
use ouroboros_process::durable;
use ouroboros_settings::check;
use std::path::Path;

/// Head of a file that does not exist yet.
const TEMPLATE: &str = "\
# Settings of Ouroboros. `ouroboros config list` shows all of them with their values; a setting is written as
#
#   [queue]
#   slots = 4
";

/// Opens the file in `VISUAL`, `EDITOR` or `vi`.
pub fn edit(context: &Context) -> Outcome {
    let before = file::text(context)?;
    let path = context.paths().config_file();
    let copy = path.with_file_name("config.edit.toml");
    let failed = |error: &std::io::Error| Failure::io(format!("{} cannot be used", copy.display()), error);
    let resumed = copy.exists();
    if !resumed {
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).map_err(|error| failed(&error))?;
        let text = if before.is_empty() { TEMPLATE } else { &before };
        durable::replace(&copy, text.as_bytes()).map_err(|error| failed(&error))?;
    } else {
        context.note(&format!("going on with {}, which an earlier edit left", copy.display()));
    }
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let editor = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let code = program::run_on_terminal(&format!("{editor} \"$1\""), &copy)?;
    if code != 0 {
        return Err(Failure::new(
            "editor_failed",
            format!("the editor `{editor}` ended with code {code}; nothing was changed"),
        )
        .remedy(format!("Your text is kept in {}; VISUAL or EDITOR names another editor.", copy.display())));
    }
    let text = std::fs::read_to_string(&copy).map_err(|error| failed(&error))?;
    let checked = check(path, &text);
    if !checked.problems.is_empty() {
        return Err(invalid(&checked.problems)
            .about("nothing was changed")
            .remedy(format!("Your text is kept in {}; `ouroboros config edit` goes on with it.", copy.display())));
    }
    super::warn(context, &checked.warnings);
    let changed = text != before && text != TEMPLATE;
    if changed {
        file::save(context, &text)?;
    }
    std::fs::remove_file(&copy).map_err(|error| failed(&error))?;
    if changed {
        done(context, &format!("{} is changed", path.display()))
    } else {
        context.note("nothing was changed");
        Ok(0)
    }
}
