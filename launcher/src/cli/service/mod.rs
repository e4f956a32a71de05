//! `service`: Ouroboros as a systemd service, of this user or of the machine.
//!
//! The unit runs the launcher, so that custody is the same with and without systemd; systemd starts the launcher again when it
//! crashed, and ends what it left.

mod socket;
mod systemctl;
mod unit;

use super::args::system::{Install, Owner, Service};
use super::{Context, Failure, Outcome, program};
use ouroboros_process::durable;
use serde_json::json;
use std::path::{Path, PathBuf};
use systemctl::{SERVICE, SOCKET, Systemctl};
use unit::Unit;

/// Does what was asked with the service.
pub fn service(context: &Context, service: Service) -> Outcome {
    match service {
        Service::Install(asked) => install(context, &asked),
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
    Systemctl::of(&owner).act(&["start", SERVICE]).map(|()| true)
}

/// Whether the unit is there and names the same directories as this environment.
fn is_for(owner: &Owner) -> bool {
    let text = unit_file(owner, SERVICE).ok().and_then(|file| std::fs::read_to_string(file).ok());
    let ours = Unit::of(owner, Path::new("/"));
    text.is_some_and(|text| unit::environment_lines(&text) == unit::environment_lines(&ours.render()))
}

/// Whether systemd listens for a service of ours: this user's, or the machine's.
pub fn has_socket() -> bool {
    let owners = [false, true].map(|system| Owner { system, user: None });
    owners.iter().any(|owner| unit_file(owner, SOCKET).is_ok_and(|unit| socket::address(&unit).is_some()))
}

/// What is wrong with the unit of this user; `None` when there is none.
pub fn unit_state() -> Option<Result<PathBuf, String>> {
    let owner = Owner { system: false, user: None };
    let file = unit_file(&owner, SERVICE).ok().filter(|file| file.exists())?;
    let wanted = program::own().map(|own| Unit::of(&owner, &own).render());
    let current = std::fs::read_to_string(&file);
    Some(match (wanted, current) {
        (Ok(wanted), Ok(current)) if wanted == current => Ok(file),
        (Ok(_), Ok(_)) => Err(format!("{} is not what this version would write", file.display())),
        (Err(_), _) => Err("the path of this program is not known".to_owned()),
        (_, Err(error)) => Err(format!("{} cannot be read: {error}", file.display())),
    })
}

fn install(context: &Context, asked: &Install) -> Outcome {
    let owner = &asked.owner;
    // It would only fail to start, over and over.
    program::server()?;
    let systemctl = Systemctl::of(owner);
    let runs = systemctl.is_active(SERVICE);
    if !runs && !owner.system && context.client().get("/api/health").is_ok() {
        return Err(Failure::new("already_running", "a server that is no service runs already; nothing was changed")
            .remedy("`ouroboros stop --drain` lets running tasks end and stops it; then install the service again."));
    }
    if runs && asked.socket.is_some() && !systemctl.is_active(SOCKET) {
        return Err(Failure::new("already_running", "the service runs and listens by itself; nothing was changed")
            .remedy(format!("Stop it first: `{}`.", systemctl.words(&["stop", SERVICE]))));
    }
    let unit = Unit::of(owner, &program::own()?);
    let file = unit_file(owner, SERVICE)?;
    write(&file, &unit.render())?;
    let mut units = vec![SERVICE];
    if let Some(address) = asked.socket {
        write(&unit_file(owner, SOCKET)?, &socket::render(address))?;
        // Before the service, which would open the address itself.
        units.insert(0, SOCKET);
    }
    let enable: Vec<&str> = ["enable", "--now"].into_iter().chain(units).collect();
    let started = systemctl.act(&["daemon-reload"]).and_then(|()| systemctl.act(&enable));
    let written = format!("{} is written", file.display());
    started.map_err(|failure| failure.about(&format!("{written}, but the service is not started")))?;
    let home =
        unit.home().map(|home| format!("; `OUROBOROS_HOME={home} ouroboros status` shows it")).unwrap_or_default();
    let lingers = if owner.system { "" } else { "; `loginctl enable-linger` keeps it running without a login" };
    let listens = asked.socket.map(|address| format!("; systemd listens on {address}")).unwrap_or_default();
    tell(context, &format!("{written} and the service is started{listens}{home}{lingers}"))
}

fn uninstall(context: &Context, owner: &Owner) -> Outcome {
    let file = unit_file(owner, SERVICE)?;
    if !file.exists() {
        return tell(context, &format!("{} is not there; nothing was changed", file.display()));
    }
    let systemctl = Systemctl::of(owner);
    let socket = unit_file(owner, SOCKET)?;
    // The socket first: a connection would start the service again.
    let units: Vec<(&str, &Path)> =
        [(SOCKET, &*socket), (SERVICE, &*file)].into_iter().filter(|(_, file)| file.exists()).collect();
    let disable: Vec<&str> = ["disable", "--now"].into_iter().chain(units.iter().map(|(name, _)| *name)).collect();
    let stopped = systemctl.act(&disable);
    stopped.map_err(|failure| failure.about("the service could not be stopped and its unit is still there"))?;
    for (_, file) in units {
        std::fs::remove_file(file)
            .map_err(|error| Failure::io(format!("{} cannot be removed", file.display()), &error))?;
    }
    systemctl.act(&["daemon-reload"])?;
    tell(context, &format!("the service is stopped and {} is removed; no data was touched", file.display()))
}

fn status(context: &Context, owner: &Owner) -> Outcome {
    let file = unit_file(owner, SERVICE)?;
    let installed = file.exists();
    let current = std::fs::read_to_string(&file).unwrap_or_default();
    let up_to_date = installed && program::own().is_ok_and(|own| Unit::of(owner, &own).render() == current);
    let active = installed && Systemctl::of(owner).is_active(SERVICE);
    let socket = unit_file(owner, SOCKET)?;
    let address = socket::address(&socket);
    if context.json() {
        let file = file.display().to_string();
        context.print_json(&json!({ "unit": file, "installed": installed, "up_to_date": up_to_date,
            "active": active, "listens": address }))?;
    } else {
        let words = match (installed, up_to_date) {
            (false, _) => "not installed; `ouroboros service install` installs it",
            (true, false) => "installed, but not as this version would; `ouroboros service install` writes it again",
            (true, true) => "installed and up to date",
        };
        let running = if active { "running" } else { "not running" };
        let listens = address.map(|address| format!("{}: listens on {address}\n", socket.display()));
        let listens = listens.unwrap_or_default();
        context.print(&format!("{}: {words}\n{listens}service: {running}\n", file.display()))?;
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

/// Where the unit with this name is (systemd.unit(5)).
fn unit_file(owner: &Owner, name: &str) -> Result<PathBuf, Failure> {
    if owner.system {
        return Ok(Path::new("/etc/systemd/system").join(name));
    }
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let config = config.or_else(|| std::env::home_dir().map(|home| home.join(".config")));
    let config = config.ok_or_else(|| Failure::usage("there is no home directory; set HOME"))?;
    Ok(config.join("systemd/user").join(name))
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
