//! Which build this is.

/// Build of this command, in the form in which the server names its own: the version, and what the build adds to it.
pub const BUILD: &str = match option_env!("OUROBOROS_BUILD") {
    Some(_) => match std::str::from_utf8(&LONG) {
        Ok(long) => long,
        Err(_) => VERSION,
    },
    None => VERSION,
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

const MARK: &str = match option_env!("OUROBOROS_BUILD") {
    Some(mark) => mark,
    None => "",
};

const LONG: [u8; VERSION.len() + 1 + MARK.len()] = {
    let mut long = [b'+'; VERSION.len() + 1 + MARK.len()];
    let (version, rest) = long.split_at_mut(VERSION.len());
    version.copy_from_slice(VERSION.as_bytes());
    let (_, mark) = rest.split_at_mut(1);
    mark.copy_from_slice(MARK.as_bytes());
    long
};
