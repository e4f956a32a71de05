//! What an unresolved send cost, when that becomes known after all: asked of a provider that tells, or said by the owner.

use super::asked::Asked;
use ouroboros_domain::{AnswerKind, MoneyInput, Receipt};
use ouroboros_gateway::dialect::{generation_cost, generation_path};
use ouroboros_gateway::route::Provider;
use ouroboros_gateway::transport::{Fetch, Transport};
use ouroboros_proto::agent::{Cost, CostSource, TokenUsage};
use ouroboros_proto::kind::{Millis, NanoDollars, SendId};
use ouroboros_secrets::Secret;
use std::sync::Arc;
use tokio::time::sleep;

/// When a provider is asked after a send was given up: it counts at its own pace.
const ASKED_AFTER: [Millis; 3] = [Millis::seconds(5), Millis::seconds(60), Millis::seconds(600)];

/// Asks OpenRouter for the cost of a request it knows, later; nothing happens for other providers. A life that ends asks no more.
pub fn ask_later(
    transport: &Arc<Transport>,
    asked: &Asked,
    send: SendId,
    provider: &Provider,
    key: Option<Secret>,
    request: &str,
) {
    let Some(path) = generation_path(request).filter(|_| provider.name == "openrouter") else { return };
    let (transport, asked, provider, request) =
        (Arc::clone(transport), asked.clone(), provider.clone(), request.to_owned());
    tokio::spawn(async move {
        for after in ASKED_AFTER {
            sleep(after.duration()).await;
            if let Some(amount) = generation(&transport, &provider, key.as_ref(), &path).await {
                let cost = Cost { amount, source: CostSource::Provider };
                asked.ask(send, input(send, cost, &request)).await;
                return;
            }
        }
    });
}

/// What the owner says that a send cost.
pub fn by_owner(send: SendId, amount: NanoDollars) -> MoneyInput {
    input(send, Cost { amount, source: CostSource::Owner }, "")
}

fn input(send: SendId, cost: Cost, request: &str) -> MoneyInput {
    let receipt = Receipt {
        answer: AnswerKind::Unusable,
        cost: Some(cost),
        usage: TokenUsage::default(),
        model: "".into(),
        provider_request: request.into(),
    };
    MoneyInput::Late { send, receipt }
}

async fn generation(
    transport: &Transport,
    provider: &Provider,
    key: Option<&Secret>,
    path: &str,
) -> Option<NanoDollars> {
    let fetch = Fetch {
        provider,
        path,
        headers: &[],
        key: key.map(Secret::expose),
        body: None,
        connect: Millis::seconds(10),
        whole: Millis::seconds(20),
        max_bytes: 1 << 20,
    };
    generation_cost(&transport.fetch(&fetch).await.ok()?)
}
