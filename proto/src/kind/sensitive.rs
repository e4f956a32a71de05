//! Names of variables that look like those of secrets. Names decide, never values.

/// Parts of a name that tell a secret.
const PARTS: [&str; 12] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "CREDENTIAL",
    "PRIVATE",
    "SESSION_KEY",
    "AUTHORIZATION",
];

/// Ends of a name that tell a secret.
const ENDS: [&str; 2] = ["_KEY", "_PASS"];

/// Whether a variable's name looks like that of a secret, in either case. `SSH_AUTH_SOCK` does not: it names a socket and holds no key.
#[must_use]
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    PARTS.iter().any(|part| name.contains(part)) || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::looks_secret;

    #[test]
    fn names_of_secrets_are_told_apart() {
        for name in [
            "GITHUB_TOKEN",
            "aws_secret_access_key",
            "AWS_ACCESS_KEY_ID",
            "DB_PASSWORD",
            "OPENAI_API_KEY",
            "SIGNING_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "PRIVATE_PEM",
            "SMTP_PASS",
        ] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["PATH", "HOME", "KEYBOARD", "COMPASS", "MONKEY", "SSH_AUTH_SOCK", "XAUTHORITY", "LC_ALL", "KEY"] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
