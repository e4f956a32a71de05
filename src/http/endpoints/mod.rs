//! What answers each route. One file per subject.

mod changes;
mod command;
mod costs;
mod events;
mod keys;
mod listing;
mod login;
mod logs;
mod message;
mod models;
mod page;
mod requests;
mod sends;
mod submit;
mod system;
pub mod task;

use super::router::Found;
use super::routes::Endpoint;
use super::site::Call;
use ouroboros_domain::TaskCommand;
use ouroboros_proto::api::ApiError;
use warp::reply::Response;

pub use page::refused as refused_page;

/// Answers a call.
///
/// # Errors
/// What the caller is told instead of an answer.
pub async fn answer(call: &mut Call<'_>, found: &Found) -> Result<Response, ApiError> {
    match found.route.endpoint {
        Endpoint::Health => system::health(call),
        Endpoint::State => system::state(call).await,
        Endpoint::Processes => system::processes(call).await,
        Endpoint::Config => system::config(call).await,
        Endpoint::Metrics => system::metrics(call).await,
        Endpoint::OpenApi => system::openapi(call),
        Endpoint::Submit => submit::submit(call).await,
        Endpoint::List => listing::list(call).await,
        Endpoint::Show => task::show(call, found.id()).await,
        Endpoint::Transcript => task::transcript(call, found.id()).await,
        Endpoint::Say => message::say(call, found.id()).await,
        Endpoint::Interrupt => message::interrupt(call, found.id()).await,
        Endpoint::Changes => changes::changes(call, found.id()).await,
        Endpoint::Undo => changes::undo(call, found.id()).await,
        Endpoint::Remove => task::remove(call, found.id()).await,
        Endpoint::Cancel => task::cancel(call, found.id()).await,
        Endpoint::Retry => task::retry(call, found.id()).await,
        Endpoint::Hold => task::act(call, found.id(), TaskCommand::Hold).await,
        Endpoint::Release => task::act(call, found.id(), TaskCommand::Release).await,
        Endpoint::Resume => task::resume(call, found.id()).await,
        Endpoint::Prioritise => task::prioritise(call, found.id()).await,
        Endpoint::TaskEvents => events::of_task(call, found.id()).await,
        Endpoint::Events => events::of_all(call).await,
        Endpoint::Logs => logs::logs(call, found.id(), found.last()).await,
        Endpoint::Command => command::command(call).await,
        Endpoint::Models => models::list(call).await,
        Endpoint::RefreshModels => models::refresh(call).await,
        Endpoint::TestModel => models::test(call).await,
        Endpoint::Catalog => models::catalog(call),
        Endpoint::SetPrice => models::set_price(call).await,
        Endpoint::Exchange => sends::exchange(call, found.id(), found.last()).await,
        Endpoint::Receipt => sends::receipt(call, found.id()).await,
        Endpoint::Keys => keys::list(call).await,
        Endpoint::SetKey => keys::set(call).await,
        Endpoint::RemoveKey => keys::remove(call, found.last()).await,
        Endpoint::TestKey => keys::test(call, found.last()).await,
        Endpoint::Costs => costs::breakdown(call).await,
        Endpoint::Requests => requests::list(call).await,
        Endpoint::Request => requests::show(call, found.id(), found.last()).await,
        Endpoint::AnswerRequest => requests::answer(call, found.id(), found.last()).await,
        Endpoint::Rules => requests::rules(call).await,
        Endpoint::RemoveRule => requests::remove_rule(call, found.last()).await,
        Endpoint::LogIn => login::log_in(call),
        Endpoint::Logout => login::log_out(call),
        Endpoint::EndSessions => login::end_sessions(call),
        Endpoint::Index => page::index(call),
        Endpoint::Asset => page::asset(call, found.last()),
    }
}
