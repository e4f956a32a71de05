//! A provider of models that does what a script says: a real HTTP server that speaks the true wire formats.
//!
//! `provider [--script FILE] [--journal FILE] [--listen 127.0.0.1:PORT]` prints `listening on http://127.0.0.1:PORT`. `POST /script`
//! replaces the script, `GET /record` gives everything that was received, `DELETE /record` forgets it.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`script`], [`rule`] | which request gets which answer |
//! | [`answer`], [`fault`], [`money`] | an answer, an error, a bill, before a dialect gives them its shape |
//! | [`wire`], [`frames`] | the paths, and what a dialect must be able to say |
//! | [`chat`], [`openrouter`], [`responses`], [`anthropic`], [`gemini`], [`ollama`] | the dialects |
//! | [`play`], [`socket`], [`stamp`] | how an answer goes out: gaps, stalls, cuts, resets; when |
//! | [`record`] | what was received, and what is billed |
//! | [`serve`], [`reply`] | connections and requests |

mod answer;
mod anthropic;
mod chat;
mod fault;
mod frames;
mod gemini;
mod money;
mod ollama;
mod openrouter;
mod play;
mod record;
mod reply;
mod responses;
mod rule;
mod script;
mod serve;
mod socket;
mod stamp;
#[cfg(test)]
mod tests;
mod wire;

use anyhow::{Context as _, bail};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str = "\
usage: provider [--script FILE] [--journal FILE] [--listen 127.0.0.1:PORT]

It answers like providers of models, as the script says (TOML; the head of tests/provider/script.rs shows one). Without a script it says
what the user said last. A base URL is what it prints and one of
  /openai/v1  /v1  /anthropic/v1  /gemini/v1beta  /openrouter/api/v1  /ollama
POST /script replaces the script, GET /record gives everything that was received, DELETE /record forgets it.
";

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|word| word == "--help" || word == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("provider: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<()> {
    let mut script = script::Script::default();
    let mut journal = None;
    let mut listen = "127.0.0.1:0".to_owned();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().with_context(|| format!("{word} needs a value"))?;
        match word.as_str() {
            "--script" => {
                let text = std::fs::read_to_string(&value).with_context(|| format!("read {value}"))?;
                script = script::Script::parse(&text).with_context(|| format!("understand {value}"))?;
            }
            "--journal" => {
                let open = OpenOptions::new().create(true).append(true).open(&value);
                journal = Some(open.with_context(|| format!("open {value}"))?);
            }
            "--listen" => listen = value,
            other => bail!("unknown argument {other}; --help says what there is"),
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(&listen).await.with_context(|| format!("listen on {listen}"))?;
        let mut out = std::io::stdout();
        writeln!(out, "listening on http://{}", listener.local_addr()?)?;
        out.flush()?;
        serve::serve(listener, Arc::new(reply::Provider::new(script, journal))).await
    })
}
