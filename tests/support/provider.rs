//! A scripted provider of models: the binary `provider`, and what it received.

use crate::home::program;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A running one. Dropping it kills it; the journal is gone with it.
pub struct Provider {
    child: Child,
    address: String,
    dir: TempDir,
}

impl Provider {
    /// Starts it with a script (TOML) and waits until it listens.
    ///
    /// # Panics
    /// When it does not, or the script has a mistake.
    #[track_caller]
    #[must_use]
    pub fn start(script: &str) -> Self {
        Self::start_at("127.0.0.1:0", script)
    }

    /// The same at this address: for one that comes back where another was.
    ///
    /// # Panics
    /// When it does not, or the script has a mistake.
    #[track_caller]
    #[must_use]
    pub fn start_at(address: &str, script: &str) -> Self {
        Self::with(address, script, &["--journal", "journal"])
    }

    /// One that answers sooner: it keeps no journal.
    ///
    /// # Panics
    /// When it does not start, or the script has a mistake.
    #[track_caller]
    #[must_use]
    pub fn start_quick(script: &str) -> Self {
        Self::with("127.0.0.1:0", script, &[])
    }

    #[track_caller]
    fn with(address: &str, script: &str, more: &[&str]) -> Self {
        let dir = tempfile::Builder::new().prefix("provider").tempdir().unwrap();
        std::fs::write(dir.path().join("script.toml"), script).unwrap();
        let mut child = Command::new(program("provider"))
            .args(["--listen", address, "--script", "script.toml"])
            .args(more)
            .current_dir(dir.path())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on http://").map(str::to_owned);
        let address = address.unwrap_or_else(|| panic!("the provider did not start; it says why on standard error"));
        Self { child, address, dir }
    }

    /// Where it listens: `127.0.0.1:PORT`. A base URL that ends here is that of a server on one's own machine.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The base URL of a dialect: `openai`, `responses`, `compatible`, `anthropic`, `gemini`, `openrouter` or `ollama`.
    ///
    /// # Panics
    /// When there is no such dialect.
    #[track_caller]
    #[must_use]
    pub fn url(&self, dialect: &str) -> String {
        let path = match dialect {
            "openai" | "responses" => "/openai/v1",
            "compatible" => "/v1",
            "anthropic" => "/anthropic/v1",
            "gemini" => "/gemini/v1beta",
            "openrouter" => "/openrouter/api/v1",
            "ollama" => "/ollama",
            other => panic!("there is no dialect {other:?}"),
        };
        format!("http://{}{path}", self.address)
    }

    /// Replaces the script; its counts begin anew.
    ///
    /// # Panics
    /// When it has a mistake.
    #[track_caller]
    pub fn script(&self, script: &str) {
        let (status, body) = self.call("POST", "/script", script);
        assert_eq!(status, 200, "{body}");
    }

    /// Every request that was received, oldest first.
    #[track_caller]
    #[must_use]
    pub fn record(&self) -> Vec<Value> {
        let (_, body) = self.call("GET", "/record", "");
        let mut all: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(all["dropped"], 0, "there were more requests than are kept");
        match all["requests"].take() {
            Value::Array(requests) => requests,
            other => panic!("no list of requests: {other}"),
        }
    }

    /// The requests for answers of models.
    #[track_caller]
    #[must_use]
    pub fn chats(&self) -> Vec<Value> {
        self.record().into_iter().filter(|record| record["endpoint"] == "chat").collect()
    }

    /// What it billed for all of them, in nano-dollars.
    #[track_caller]
    #[must_use]
    pub fn billed(&self) -> u64 {
        self.record().iter().map(|record| record["cost_nanos"].as_u64().unwrap()).sum()
    }

    /// Forgets every request but for the journal.
    #[track_caller]
    pub fn forget(&self) {
        let (status, body) = self.call("DELETE", "/record", "");
        assert_eq!(status, 200, "{body}");
    }

    /// The file with a record a line, before each answer and at its end. It outlives [`Provider::kill`].
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.dir.path().join("journal")
    }

    /// The last record of each request in a journal, oldest request first.
    ///
    /// # Panics
    /// When it cannot be read. A last line that was cut by a kill is left out.
    #[track_caller]
    #[must_use]
    pub fn journalled(path: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let mut last = std::collections::BTreeMap::new();
        for line in lines {
            let record: Value = serde_json::from_str(line).unwrap();
            last.insert(record["number"].as_u64().unwrap(), record);
        }
        last.into_values().collect()
    }

    /// Process number.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Kills it as if its machine had gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// One request of our own; the answer comes with a length and the connection ends after it.
    #[track_caller]
    fn call(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: provider\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::until;

    #[test]
    fn a_record_outlives_a_kill_in_the_middle_of_an_answer() {
        let mut provider = Provider::start("[[rule]]\nsay = 'old'");
        provider.script("[prices.m]\noutput = 10\n[[rule]]\nsay = 'abcd'\nstall_after_bytes = 20");
        let body = r#"{"model":"m","stream":true,"messages":[]}"#;
        let mut stream = TcpStream::connect(provider.address()).unwrap();
        let path = provider.url("anthropic").replacen(&format!("http://{}", provider.address()), "", 1);
        let length = body.len();
        write!(stream, "POST {path}/messages HTTP/1.1\r\nhost: p\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
        until("the answer stalls", || (provider.chats().pop()?["bytes_sent"] == 20).then_some(()));
        assert_eq!(provider.billed(), 10);
        provider.kill();
        let records = Provider::journalled(&provider.journal());
        assert_eq!(records.len(), 1);
        assert_eq!((&records[0]["ended"], &records[0]["cost_nanos"]), (&"open".into(), &10.into()));
    }
}
