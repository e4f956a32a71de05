//! `service`: Ouroboros as a systemd service, of this user or of the machine.
//!
//! The unit runs the launcher, so that custody is the same with and without systemd; systemd starts the launcher again when it
//! crashed, and ends what it left.

mod systemctl;
mod unit;

use super::args::system::{Owner, Service};
use super::{Context, Failure, Outcome, program};
use ouroboros_process::durable;
use serde_json::json;
use std::path::{Path, PathBuf};
use systemctl::Systemctl;
use unit::Unit;

/// The unit's file name.
const FILE: &str = "ouroboros.service";

/// Does what was asked with the service.
pub fn service(context: &Context, service: Service) -> Outcome {
    match service {
        Service::Install(owner) => install(context, &owner),
        Service::Uninstall(owner) => uninstall(context, &owner),
        Service::Status(owner) => status(context, &owner),
    }
}

/// Starts the service of this user when it is installed for this installation; false when it is not.
pub fn start_user_service() -> Result<bool, Failure> {
    let owner = Owner { system: false, user: None };
    if program::find("systemctl").is_none() || !is_for(&owner) {
        return Ok(false);
    }
    Systemctl::of(&owner).act(&["start", "ouroboros"]).map(|()| true)
}

/// Whether the unit is there and names the same directories as this environment.
fn is_for(owner: &Owner) -> bool {
    let text = file(owner).ok().and_then(|file| std::fs::read_to_string(file).ok());
    let ours = Unit::of(owner, Path::new("/"));
    text.is_some_and(|text| unit::environment_lines(&text) == unit::environment_lines(&ours.render()))
}

/// What is wrong with the unit of this user; `None` when there is none.
pub fn unit_state() -> Option<Result<PathBuf, String>> {
    let owner = Owner { system: false, user: None };
    let file = file(&owner).ok().filter(|file| file.exists())?;
    let wanted = program::own().map(|own| Unit::of(&owner, &own).render());
    let current = std::fs::read_to_string(&file);
    Some(match (wanted, current) {
        (Ok(wanted), Ok(current)) if wanted == current => Ok(file),
        (Ok(_), Ok(_)) => Err(format!("{} is not what this version would write", file.display())),
        (Err(_), _) => Err("the path of this program is not known".to_owned()),
        (_, Err(error)) => Err(format!("{} cannot be read: {error}", file.display())),
    })
}

fn install(context: &Context, owner: &Owner) -> Outcome {
    // It would only fail to start, over and over.
    program::server()?;
    let unit = Unit::of(owner, &program::own()?);
    let file = file(owner)?;
    write(&file, &unit.render())?;
    let systemctl = Systemctl::of(owner);
    let started = systemctl.act(&["daemon-reload"]).and_then(|()| systemctl.act(&["enable", "--now", "ouroboros"]));
    let written = format!("{} is written", file.display());
    started.map_err(|failure| failure.about(&format!("{written}, but the service is not started")))?;
    let home =
        unit.home().map(|home| format!("; `OUROBOROS_HOME={home} ouroboros status` shows it")).unwrap_or_default();
    let lingers = if owner.system { "" } else { "; `loginctl enable-linger` keeps it running without a login" };
    tell(context, &format!("{written} and the service is started{home}{lingers}"))
}

fn uninstall(context: &Context, owner: &Owner) -> Outcome {
    let file = file(owner)?;
    if !file.exists() {
        return tell(context, &format!("{} is not there; nothing was changed", file.display()));
    }
    let systemctl = Systemctl::of(owner);
    let stopped = systemctl.act(&["disable", "--now", "ouroboros"]);
    stopped.map_err(|failure| failure.about("the service could not be stopped and its unit is still there"))?;
    std::fs::remove_file(&file)
        .map_err(|error| Failure::io(format!("{} cannot be removed", file.display()), &error))?;
    systemctl.act(&["daemon-reload"])?;
    tell(context, &format!("the service is stopped and {} is removed; no data was touched", file.display()))
}

fn status(context: &Context, owner: &Owner) -> Outcome {
    let file = file(owner)?;
    let installed = file.exists();
    let current = std::fs::read_to_string(&file).unwrap_or_default();
    let up_to_date = installed && program::own().is_ok_and(|own| Unit::of(owner, &own).render() == current);
    let active = installed && Systemctl::of(owner).is_active();
    if context.json() {
        let file = file.display().to_string();
        context
            .print_json(&json!({ "unit": file, "installed": installed, "up_to_date": up_to_date, "active": active }))?;
    } else {
        let words = match (installed, up_to_date) {
            (false, _) => "not installed; `ouroboros service install` installs it",
            (true, false) => "installed, but not as this version would; `ouroboros service install` writes it again",
            (true, true) => "installed and up to date",
        };
        let running = if active { "running" } else { "not running" };
        context.print(&format!("{}: {words}\nservice: {running}\n", file.display()))?;
    }
    Ok(u8::from(!active))
}

fn tell(context: &Context, message: &str) -> Outcome {
    if context.json() {
        context.print_json(&json!({ "message": message }))?;
    } else {
        context.note(message);
    }
    Ok(0)
}

/// Where the unit is (systemd.unit(5)).
fn file(owner: &Owner) -> Result<PathBuf, Failure> {
    if owner.system {
        return Ok(Path::new("/etc/systemd/system").join(FILE));
    }
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let config = config.or_else(|| std::env::home_dir().map(|home| home.join(".config")));
    let config = config.ok_or_else(|| Failure::usage("there is no home directory; set HOME"))?;
    Ok(config.join("systemd/user").join(FILE))
}

/// Units are read by others than their owner, so unlike our data they are open to reading.
fn write(file: &Path, text: &str) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt;
    let made = std::fs::create_dir_all(file.parent().unwrap_or(Path::new("/")));
    let written = made.and_then(|()| durable::replace(file, text.as_bytes()));
    let opened = written.and_then(|()| std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o644)));
    opened.map_err(|error| {
        Failure::io(format!("{} cannot be written; nothing was started", file.display()), &error)
            .remedy("A service of the machine needs root: `sudo ouroboros service install --system`.")
    })
}
