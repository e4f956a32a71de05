//! The floor of a call: the same request over a bare client, its answer read and thrown away.

use crate::caller::{Heard, Round};
use crate::sample::micros;
use anyhow::{Context as _, ensure};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::Provider;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// A bare client, and a request that the gateway has sent.
#[derive(Clone)]
pub struct Bare {
    client: reqwest::Client,
    url: String,
    body: Bytes,
}

impl Bare {
    /// One that sends what the provider received last.
    ///
    /// # Errors
    /// It received nothing.
    pub fn repeating(provider: &Provider) -> anyhow::Result<Self> {
        let record = provider.chats().pop().context("the provider was not asked")?;
        let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).tls_certs_only([]).build()?;
        let path = record["route"].as_str().context("no route")?;
        let url = format!("http://{}{path}", provider.address());
        Ok(Self { client, url, body: record["body"].to_string().into() })
    }

    /// Makes calls like a worker that is told to.
    ///
    /// # Errors
    /// One was not answered.
    pub fn answered(&self, runtime: &Runtime, round: Round) -> anyhow::Result<Heard> {
        runtime.block_on(async {
            let asked = Arc::new(AtomicUsize::new(0));
            let mut all = JoinSet::new();
            for _ in 0..round.at_once {
                let (bare, asked) = (self.clone(), Arc::clone(&asked));
                all.spawn(async move {
                    let mut heard = Heard { begin: micros(), ..Heard::default() };
                    while asked.fetch_add(1, Ordering::Relaxed) < round.calls {
                        bare.call(&mut heard).await?;
                    }
                    heard.end = micros();
                    anyhow::Ok(heard)
                });
            }
            let mut heard = Heard::default();
            while let Some(one) = all.join_next().await {
                heard.merge(one??);
            }
            Ok(heard)
        })
    }

    async fn call(&self, heard: &mut Heard) -> anyhow::Result<()> {
        let start = micros();
        let request = self.client.post(&self.url).header("content-type", "application/json");
        let request = request.header("authorization", "Bearer sk-key-of-the-bench-0001");
        let mut response = request.body(self.body.clone()).send().await?;
        ensure!(response.status().is_success(), "the provider answers {}", response.status());
        let mut asked = Some(start);
        while let Some(chunk) = response.chunk().await? {
            let before = heard.leads.len();
            heard.piece(&chunk, asked);
            // The first event of an answer says nothing yet.
            asked = asked.filter(|_| heard.leads.len() == before);
        }
        heard.calls.push(micros().saturating_sub(start));
        heard.answers += 1;
        Ok(())
    }
}
