//! Who is speaking. Decided from the channel and proofs that this server handed out, never from what a request says of itself.
//!
//! | proof | given to | good for |
//! |---|---|---|
//! | peer of the Unix socket | processes of the owner | everything |
//! | bearer token | programs, from a file only the owner can read | everything |
//! | session cookie with confirmation | a browser, against a one-use code | everything but making codes |
//! | session cookie alone | the same browser | the page itself, which holds no facts |
//!
//! Cookies do not know ports: a browser sends ours to every server of this machine. So a cookie alone proves nothing about
//! facts or acts; the confirmation lives in storage that belongs to our origin, port included, and travels in a header.

pub mod codes;
pub mod origin;
pub mod secret;
pub mod session;
pub mod token;

use super::request::{Channel, Request};
use codes::LoginCodes;
use origin::Origins;
use ouroboros_proto::api::{ApiError, Code};
use ouroboros_proto::kind::InstallationId;
use session::{SessionId, Sessions};
use token::Token;

/// The header with which the page confirms that it is the page.
pub const CONFIRM_HEADER: &str = "ouroboros-confirm";

/// What a route asks of its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Nothing.
    Public,
    /// A session cookie is enough, because the answer holds no facts.
    Page,
    /// A full proof.
    Login,
}

/// A proven caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// Nobody in particular, where that is enough.
    Anyone,
    /// The owner, over the Unix socket or with the token.
    Owner,
    /// The owner's browser.
    Browser(SessionId),
}

/// Judges requests.
#[derive(Debug)]
pub struct Auth {
    token: Token,
    cookie: String,
    /// Origins of our own page.
    pub origins: Origins,
    /// Codes that wait to be used.
    pub codes: LoginCodes,
    /// Browsers that are logged in.
    pub sessions: Sessions,
}

impl Auth {
    /// For an installation whose page is served at `origins`.
    #[must_use]
    pub fn new(installation: InstallationId, token: Token, origins: Origins) -> Self {
        let name: String = installation.to_string().chars().take(8).collect();
        Self {
            token,
            cookie: format!("ouroboros-{name}"),
            origins,
            codes: LoginCodes::default(),
            sessions: Sessions::default(),
        }
    }

    /// Whether a request may go on.
    ///
    /// # Errors
    /// It is not for us, comes from a foreign page, or proves too little.
    pub fn judge(&self, request: &Request, access: Access) -> Result<Caller, ApiError> {
        if request.channel == Channel::Owner {
            return Ok(Caller::Owner);
        }
        self.origins.check(request)?;
        if access == Access::Public {
            return Ok(Caller::Anyone);
        }
        if let Some(given) = request.header("authorization") {
            let given = given.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            let right = given.is_some_and(|(_, token)| self.token.is(token.trim()));
            return if right { Ok(Caller::Owner) } else { Err(unauthorized("The bearer token is not the right one.")) };
        }
        let session = self
            .cookie(request)
            .and_then(|cookie| self.sessions.find(cookie))
            .ok_or_else(|| unauthorized("Not logged in, or the login has ended."))?;
        if access == Access::Login {
            let confirmed = request.header(CONFIRM_HEADER).is_some_and(|given| self.sessions.confirms(session, given));
            if !confirmed {
                return Err(ApiError::new(Code::Forbidden, "The request does not come from the page that logged in.")
                    .remedy(LOG_IN));
            }
        }
        Ok(Caller::Browser(session))
    }

    /// The name of the session cookie.
    #[must_use]
    pub fn cookie_name(&self) -> &str {
        &self.cookie
    }

    fn cookie<'a>(&self, request: &'a Request) -> Option<&'a str> {
        request
            .headers
            .get_all("cookie")
            .iter()
            .filter_map(|header| header.to_str().ok())
            .flat_map(|header| header.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .find(|(name, _)| *name == self.cookie)
            .map(|(_, value)| value)
    }
}

const LOG_IN: &str = "Run `ouroboros open` to log this browser in; programs send the token as `Authorization: Bearer`.";

fn unauthorized(message: &str) -> ApiError {
    ApiError::new(Code::Unauthorized, message).remedy(LOG_IN)
}
