//! The shapes of models and money, described.

use super::schema::Kind::{Any, Count, Flag, Id, List, Ref, Text, Time, Word};
use super::schema::Openness::{Closed, Open};
use super::schema::{always, nullable, optional};
use super::shapes::Object;

pub(super) const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "max"];
const LIMITS: &[&str] = &["total", "hour", "tree", "task"];
const WAITS: &[&str] = &["no_route", "auth", "quota", "rate_limit", "unavailable", "network", "hour_limit"];

/// The shapes.
pub const OBJECTS: &[Object] = &[
    (
        "AskSpec",
        "A question to a model, without tools.",
        Closed,
        &[
            always("prompt", Text, "The question."),
            optional("system", Text, "What holds for the answer as a whole."),
            optional(
                "route",
                Text,
                "A route such as `openai/gpt-5.1`, or a model's name; the default route when absent.",
            ),
            optional("max_output_tokens", Count, "Most tokens of the answer, thinking included."),
            optional("effort", Word(EFFORTS), "How much the model should think."),
            optional(
                "output_schema",
                Any,
                "JSON Schema that the provider is told to make the answer follow; what comes is not checked.",
            ),
            optional("images", List(&Ref("ImageSpec")), "Images that go with the question."),
            optional("wait_model", Flag, "Whether it waits for a route when there is none, instead of being refused."),
        ],
    ),
    (
        "ImageSpec",
        "An image.",
        Closed,
        &[
            always("media_type", Text, "image/png, image/jpeg, image/gif or image/webp."),
            always("data", Text, "Its bytes, base64."),
        ],
    ),
    (
        "ResumeRequest",
        "How a task goes on.",
        Closed,
        &[
            optional("pause", Id, "The pause that is meant; refused when the task is in another one by now."),
            optional(
                "max_cost",
                Text,
                "Dollars that the task may spend from now on, in all; `none` for no limit of its own.",
            ),
        ],
    ),
    (
        "AskView",
        "A question, as far as it is shown.",
        Open,
        &[always("head", Text, "Its first characters."), nullable("route", Text, "The route that was asked for.")],
    ),
    (
        "PauseView",
        "A pause for want of money.",
        Open,
        &[
            always("id", Id, "Which."),
            always("limit", Word(LIMITS), "The limit that is used up."),
            always("since", Time, "Since when."),
            always("phase", Word(&["pausing", "paused", "resumed"]), "How far it is."),
        ],
    ),
    (
        "WaitView",
        "A wait for a model.",
        Open,
        &[
            always("reason", Word(WAITS), "For what."),
            always("since", Time, "Since when."),
            always("until", Time, "When it looks again."),
        ],
    ),
    (
        "CostView",
        "What was spent, in nano-dollars. What is set aside or not known is not spent, and not nothing.",
        Open,
        &[
            always("settled_nanos", Count, "Known costs."),
            always("reserved_nanos", Count, "Bounds of sends under way."),
            always("unresolved_nanos", Count, "Bounds of sends whose cost is not known."),
            always("accounted_nanos", Count, "All three: it is never more than that."),
            always("is_final", Flag, "Whether nothing of it can change any more."),
            always("sends", Count, "Sends to providers."),
            always("unpriced", Count, "Of those, how many were answered and the cost is not known."),
            always("unresolved", Count, "Of those, how many may have reached the provider without an answer."),
            always("input_tokens", Count, "Tokens of prompts, as far as counted."),
            always("cached_tokens", Count, "Of those, read from a cache."),
            always("output_tokens", Count, "Tokens of answers, as far as counted."),
        ],
    ),
    (
        "SendView",
        "One send to a provider.",
        Open,
        &[
            always("id", Id, "Its id."),
            always("call", Count, "The call of its attempt."),
            always("ordinal", Count, "Which send of the call."),
            always("route", Text, "The route it took."),
            nullable("model", Text, "The model that answered, when known."),
            always("state", Word(&["reserved", "dispatched", "settled", "unresolved", "released"]), "Where it stands."),
            always("bound_nanos", Count, "What it can cost at most."),
            nullable("cost", Ref("Cost"), "What it cost; null when not known."),
            always("usage", Ref("TokenUsage"), "What was counted."),
            nullable("provider_request", Text, "The provider's id of the request."),
            always("reserved_at", Time, "When its bound was set aside."),
            nullable("ended_at", Time, "When it was over."),
        ],
    ),
    (
        "SendReceipt",
        "What a send cost that nobody has said.",
        Closed,
        &[always("cost", Text, "Dollars, as text such as `0.50`.")],
    ),
    (
        "Cost",
        "A cost.",
        Open,
        &[
            always("amount", Count, "Nano-dollars."),
            always("source", Word(&["provider", "catalogue", "local", "error", "owner"]), "Who says so."),
        ],
    ),
    (
        "TokenUsage",
        "Tokens as the provider counted them; null when it did not say.",
        Open,
        &[
            nullable("input", Count, "All of the prompt, with what came from or went to a cache."),
            nullable("cached", Count, "Of those, read from a cache."),
            nullable("cache_write", Count, "Of those, written to a cache."),
            nullable("cache_write_long", Count, "Of those written, how many for an hour instead of minutes."),
            nullable("output", Count, "All of the answer, with thinking."),
            nullable("reasoning", Count, "Of those, thinking."),
        ],
    ),
    (
        "LimitView",
        "A limit and how it stands.",
        Open,
        &[
            always("limit", Word(LIMITS), "Which."),
            nullable("nanos", Count, "Nano-dollars; null when there is no such limit."),
            nullable("accounted_nanos", Count, "What counts against it; null for limits of single tasks."),
        ],
    ),
    (
        "SpendingView",
        "What all tasks together spent, in nano-dollars, and what they may spend.",
        Open,
        &[
            always("settled_nanos", Count, "Known costs."),
            always("reserved_nanos", Count, "Bounds of sends under way."),
            always("unresolved_nanos", Count, "Bounds of sends whose cost is not known."),
            always("accounted_nanos", Count, "All three: it is never more than that."),
            always("limits", List(&Ref("LimitView")), "The limits in force."),
        ],
    ),
    (
        "CostBreakdown",
        "What models cost.",
        Open,
        &[
            always("whole", Ref("CostView"), "Everything that was asked for."),
            always("limits", List(&Ref("LimitView")), "The limits in force."),
            always("by", Word(&["task", "tree", "route", "model", "day"]), "What the groups are."),
            always("groups", List(&Ref("CostGroup")), "The groups, dearest first, days newest first."),
            nullable("warning", Text, "What is wrong with the ledger; only with `check`."),
        ],
    ),
    (
        "CostGroup",
        "A group of sends.",
        Open,
        &[
            always("key", Text, "A task's number, a route, a model, a day as 2026-11-30."),
            always("cost", Ref("CostView"), "What was spent."),
        ],
    ),
    (
        "ModelsView",
        "Routes to models.",
        Open,
        &[
            nullable("default", Text, "The route that is taken when none is named."),
            always("why", Text, "Why that one."),
            always("routes", List(&Ref("RouteView")), "Every route."),
            always("problems", List(&Text), "What was looked for and is not usable, a sentence each."),
            always("limits", List(&Ref("LimitView")), "The limits in force."),
        ],
    ),
    (
        "RouteView",
        "A route to a model.",
        Open,
        &[
            always("id", Text, "Its id."),
            always("provider", Text, "Its provider."),
            always("model", Text, "The model in the provider's words."),
            always("found", Text, "How it was found."),
            nullable("window", Count, "Tokens that prompt and answer may have together."),
            nullable("max_output", Count, "Tokens that an answer may have."),
            nullable("tools", Flag, "Whether it can call tools."),
            nullable("images", Flag, "Whether it sees images."),
            nullable("price", Ref("PriceView"), "What it costs; null when not known."),
            always("health", Ref("HealthView"), "How it does."),
        ],
    ),
    (
        "PriceView",
        "A price, in nano-dollars for a million tokens.",
        Open,
        &[
            always("input_nanos_per_million", Count, "Of the prompt."),
            always("output_nanos_per_million", Count, "Of the answer."),
            nullable("cached_nanos_per_million", Count, "Of the prompt, read from a cache."),
            nullable("cache_write_nanos_per_million", Count, "Of the prompt, written to a cache."),
            always("source", Text, "Who says so."),
            nullable("at", Time, "When that was asked."),
        ],
    ),
    (
        "HealthView",
        "How a route does.",
        Open,
        &[
            always("state", Word(&["untried", "well", "cooling", "failing"]), "In a word."),
            nullable("reason", Text, "What went wrong last."),
            nullable("cooling_until", Time, "Until when nothing is sent."),
            always("in_flight", Count, "Sends under way."),
        ],
    ),
    ("ModelTest", "A route to try.", Closed, &[always("route", Text, "The route to call.")]),
    (
        "ModelTestAnswer",
        "What came of a real call that asks for a tool.",
        Open,
        &[
            always("route", Text, "The route."),
            always("works", Flag, "Whether a well-formed call of the tool came back."),
            nullable("problem", Text, "What is wrong, when something is."),
            always("text", Text, "Text that came."),
            nullable("tool_call", List(&Text), "The tool that was called, with its arguments as they came."),
            always("usage", Ref("TokenUsage"), "What was counted."),
            nullable("cost", Ref("Cost"), "What it cost; null when not known."),
            always("elapsed_ms", Count, "In all."),
        ],
    ),
    (
        "CatalogView",
        "A model's price as it is known.",
        Open,
        &[
            always("route", Text, "The route."),
            nullable("window", Count, "Tokens that prompt and answer may have together."),
            nullable("price", Ref("PriceView"), "What it costs; null when not known."),
        ],
    ),
    (
        "PriceSet",
        "The owner's own price of a route, in dollars for a million tokens; without amounts it is removed.",
        Closed,
        &[
            always("route", Text, "The route."),
            optional("input", Text, "Of the prompt."),
            optional("output", Text, "Of the answer."),
            optional("cached", Text, "Of the prompt, read from a cache."),
            optional("cache_write", Text, "Of the prompt, written to a cache."),
        ],
    ),
    (
        "KeysView",
        "Keys of providers, as far as they may be seen.",
        Open,
        &[
            always("keys", List(&Ref("KeyView")), "The keys."),
            always("protection", Text, "How they are protected."),
            always("problems", List(&Text), "What could not be read, a sentence each."),
            always("providers", List(&Ref("KeyProvider")), "Providers that take a key."),
        ],
    ),
    (
        "KeyView",
        "A key, as far as it may be seen.",
        Open,
        &[
            always("provider", Text, "The provider."),
            always("found", Text, "Where it was found."),
            always("ending", Text, "Its last four characters."),
            nullable("set_at", Time, "When it was set, when that is known."),
        ],
    ),
    (
        "KeyProvider",
        "A provider that takes a key.",
        Open,
        &[
            always("name", Text, "Its name."),
            always("variables", List(&Text), "Variables that its key is looked for in, first one first."),
        ],
    ),
    (
        "KeySet",
        "A key to keep.",
        Closed,
        &[always("provider", Text, "The provider."), always("key", Text, "The key. It is never shown again.")],
    ),
    (
        "KeyTest",
        "Whether a provider accepts its key.",
        Open,
        &[
            always("provider", Text, "The provider."),
            nullable("accepted", Flag, "Whether it does; null when that could not be found out."),
            always("detail", Text, "A sentence."),
        ],
    ),
];
