//! The unit of an address that systemd listens on. The launcher hands the socket to every server that it starts, so nobody is
//! refused while one server follows another.

use std::net::SocketAddr;
use std::path::Path;

/// The text (systemd.socket(5)).
pub fn render(address: SocketAddr) -> String {
    format!(
        "\
[Unit]
Description=Address of Ouroboros
Documentation=man:ouroboros-service(1)

[Socket]
{LISTEN}{address}

[Install]
WantedBy=sockets.target
"
    )
}

const LISTEN: &str = "ListenStream=";

/// The address in the unit at this path; `None` when there is no such unit.
pub fn address(unit: &Path) -> Option<SocketAddr> {
    let text = std::fs::read_to_string(unit).ok()?;
    text.lines().find_map(|line| line.strip_prefix(LISTEN))?.parse().ok()
}
