//! What was decided about calls of tools, for people.

use super::{Look, Tone, clean};
use ouroboros_proto::agent::{CallOutcome, CallResult, Confined, Decider, Judgement, Profile};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Characters of arguments that are shown.
const ARGUMENTS: usize = 160;

/// A call.
#[derive(Debug, Clone)]
pub struct Made {
    /// Its place among all calls of the task, counted from 1.
    pub number: u32,
    /// The provider's id.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// As the model wrote them.
    pub arguments: String,
    /// What it came to; `None` while it runs.
    pub result: Option<CallResult>,
}

impl Made {
    /// As JSON.
    pub fn value(&self) -> Value {
        let result = self.result.as_ref();
        json!({
            "call": self.number,
            "tool": self.tool,
            "arguments": self.arguments,
            "outcome": result.map(|result| result.outcome),
            "code": result.and_then(|result| result.code.clone()),
            "decided": result.and_then(|result| result.decided.clone()),
            "confined": result.and_then(|result| result.confined.clone()),
        })
    }
}

/// One paragraph for each call.
pub fn show(calls: &[&Made], look: Look) -> String {
    let mut text = String::new();
    if calls.is_empty() {
        text.push_str("It called no tool yet.\n");
    }
    for made in calls {
        let mut arguments: String = clean(&made.arguments).chars().take(ARGUMENTS).collect();
        if arguments.len() < made.arguments.len() {
            arguments.push('…');
        }
        let _ = writeln!(
            text,
            "{}",
            look.paint(Tone::Strong, &format!("call {} · {} {arguments}", made.number, clean(&made.tool)))
        );
        let _ = writeln!(text, "  {}", decided(made));
        let decision = made.result.as_ref().and_then(|result| result.decided.as_ref());
        if let Some((found, allowed)) = decision.and_then(|made| Some((made.judged.as_ref()?, made.allowed))) {
            let found = judgement(found, allowed);
            let _ = writeln!(text, "  Safety check: {}.", found.trim_end_matches('.'));
        }
        if let Some(confined) = made.result.as_ref().and_then(|result| result.confined.as_ref()) {
            let _ = writeln!(text, "  {}", held(confined));
        }
    }
    text
}

/// What was in force for a program, as it was read back.
fn held(confined: &Confined) -> String {
    let profile = match confined.profile {
        Profile::Readonly => "It could look at its folder, and write to its scratch directory only",
        Profile::Workspace => "It was confined to its folder and its scratch directory",
        Profile::Full => "It had all rights of its owner",
    };
    let network = if confined.network { "with network" } else { "without network" };
    let by: Vec<&str> = [
        (confined.view, "a file system view of its own"),
        (confined.landlock > 0, "Landlock"),
        (confined.seccomp == 2, "seccomp"),
        (confined.no_new_privs, "no new privileges"),
    ]
    .into_iter()
    .filter_map(|(holds, name)| holds.then_some(name))
    .collect();
    let missing = if confined.missing.is_empty() { "" } else { "; not all of it that it should be" };
    format!("{profile}, {network}: {}{missing}.", by.join(", "))
}

fn decided(made: &Made) -> String {
    let Some(result) = &made.result else { return "It is under way: nothing is recorded of it yet.".to_owned() };
    let Some(decided) = &result.decided else {
        return match (result.outcome, &result.code) {
            (CallOutcome::Refusal, Some(code)) => format!("Refused ({}): {}", clean(code), first_sentence(result)),
            (CallOutcome::ArgumentError, _) => format!("Not done, its arguments are wrong: {}", first_sentence(result)),
            (CallOutcome::Unknown, _) => "It was interrupted: whether it was done is not known.".to_owned(),
            (CallOutcome::Ok | CallOutcome::Miss | CallOutcome::Failure | CallOutcome::Refusal, _) => {
                "Nothing was to be decided: it stays within what every task may do.".to_owned()
            }
        };
    };
    // What a mode or its owner allow is refused all the same where it leads out, or to what is closed.
    if let (true, CallOutcome::Refusal, Some(code)) = (decided.allowed, result.outcome, &result.code) {
        let (rule, why) = (clean(&decided.rule), first_sentence(result));
        return format!("Refused ({}): {why} Before that it was allowed: {rule}", clean(code));
    }
    let verdict = if decided.allowed { "Allowed" } else { "Refused" };
    let by = match decided.by {
        Decider::Mode => "by the mode of the task",
        Decider::Rule => "by a rule of the owner",
        Decider::Owner => "by the owner, who was asked",
        Decider::Nobody => "since nobody answered",
        Decider::Safety => "by the safety check",
    };
    format!("{verdict} {by}: {}", clean(&decided.rule))
}

/// How a result begins.
fn first_sentence(result: &CallResult) -> String {
    let line = result.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |dot| dot.saturating_add(1));
    clean(line.get(..end).unwrap_or(line)).chars().take(300).collect()
}

/// What a second look by a model came to.
pub fn judgement(found: &Judgement, allowed: bool) -> String {
    let advice = if allowed { "; it was done all the same" } else { "" };
    match found {
        Judgement::WavedThrough { coverage } => format!("none was made, as agent.safety is {coverage}"),
        Judgement::Safe { reason } => format!("safe: {}", clean(reason)),
        Judgement::Suspicious { reason } => format!("suspicious: {}", clean(reason)),
        Judgement::Dangerous { reason } => format!("dangerous: {}{advice}", clean(reason)),
        Judgement::Failed { reason } => format!("no judgement: {}{advice}", clean(reason)),
        Judgement::Unavailable { reason } => format!("not to be had then: {}{advice}", clean(reason)),
        Judgement::TooLarge { characters } => format!("{characters} characters are too many to be judged{advice}"),
        Judgement::NoRoute { reason } => format!("there was no model to ask: {}", clean(reason)),
    }
}
