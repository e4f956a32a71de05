//! `open`: the page, with a login that works once.

use super::args::system::Open;
use super::{Context, Failure, Outcome, program};
use ouroboros_proto::api::{CommandAnswer, CommandRequest};

/// Prints the address and opens it where there is a display.
pub fn open(context: &Context, open: &Open) -> Outcome {
    let answer = context.acting(|client| client.post("/api/command", &CommandRequest::LoginCode))?;
    if context.json() {
        context.print_json(&answer.value()?)?;
        return Ok(0);
    }
    let answer: CommandAnswer = answer.read()?;
    let Some(url) = answer.url.as_deref() else {
        return Err(Failure::new("no_page", "the server has no page: it listens on its socket only")
            .remedy("`ouroboros status` and `ouroboros doctor` say why; the address is the setting server.listen."));
    };
    context.print(&format!("{url}\n"))?;
    let display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if display
        && !open.no_browser
        && let Err(failure) = program::leave_running("xdg-open", &[url])
    {
        // The address is printed; a browser is a convenience.
        failure.tell(false, None);
    }
    Ok(0)
}
