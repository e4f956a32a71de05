//! What tasks ask their owner: listed, answered; and the rules that answers leave behind.

use super::args::request::{Answer, RequestRef, Requests, RuleVerb, Rules};
use super::{Context, Failure, Outcome, follow};
use crate::client::segment;
use crate::render;
use ouroboros_proto::agent::OwnerRequest;
use ouroboros_proto::api::{AlwaysIn, AnswerRequest, Decision, RequestView, RequestsView, RulesView};
use ouroboros_proto::kind::{RequestState, RuleId, TaskId, clock};
use serde_json::json;

/// Lists requests.
pub fn requests(context: &Context, requests: &Requests) -> Outcome {
    let state = if requests.all { "all" } else { "open" };
    let answer = context.client().get(&format!("/api/requests?state={state}"))?;
    if context.json() {
        context.print_json(&answer.value()?)?;
        return Ok(0);
    }
    let RequestsView { requests } = answer.read()?;
    if requests.is_empty() {
        context.note("nothing waits for an answer");
    } else {
        context.print(&render::request::table(&requests, clock::wall(), context.out()))?;
    }
    Ok(0)
}

/// Answers a request, or shows it when no answer is given.
pub fn answer(context: &Context, answer: Answer) -> Outcome {
    let request = find(context, &answer.request)?;
    let Some(given) = given(answer) else {
        if context.json() {
            context.print_json(&request)?;
        } else {
            context.print(&render::request::whole(&request))?;
            if let Some(answer) = &request.answer {
                context.print(&format!("answered: {}\n", render::request::answer(answer)))?;
            } else if request.state == RequestState::Open {
                context.print(&format!("{}\n", render::request::ways(&request)))?;
            }
        }
        return Ok(0);
    };
    let answered = send(context, &request, &given)?;
    if context.json() {
        context.print_json(&answered)?;
    } else {
        let words = answered.answer.as_ref().map(render::request::answer).unwrap_or_default();
        context.note(&format!("task {} is answered: {words}", answered.number));
    }
    Ok(0)
}

/// Lists rules, or takes some back.
pub fn rules(context: &Context, rules: Rules) -> Outcome {
    match rules.verb.unwrap_or(RuleVerb::List) {
        RuleVerb::List => list_rules(context),
        RuleVerb::Remove { rules } => remove_rules(context, &rules),
    }
}

fn list_rules(context: &Context) -> Outcome {
    let answer = context.client().get("/api/rules")?;
    if context.json() {
        context.print_json(&answer.value()?)?;
        return Ok(0);
    }
    let RulesView { rules } = answer.read()?;
    if rules.is_empty() {
        context.note("there are no rules: what needs approval is asked each time");
    } else {
        context.print(&render::request::rules(&rules, clock::wall(), context.out()))?;
    }
    Ok(0)
}

fn remove_rules(context: &Context, rules: &[RuleId]) -> Outcome {
    for rule in rules {
        context.acting(|client| client.delete(&format!("/api/rules/{rule}")))?;
        if context.json() {
            context.print_json(&json!({ "rule": rule }))?;
        } else {
            context.note(&format!("rule {rule} is removed"));
        }
    }
    Ok(0)
}

/// Sends an answer.
pub fn send(context: &Context, request: &RequestView, given: &AnswerRequest) -> Result<RequestView, Failure> {
    let target = format!("/api/requests/{}/{}/answer", request.task, request.request);
    context.acting(|client| client.post(&target, given)?.read())
}

/// The request that is meant: the one that is named, or the only one that its task asks.
fn find(context: &Context, named: &RequestRef) -> Result<RequestView, Failure> {
    if let Some(number) = named.number {
        let target = format!("/api/requests/{}/{number}", segment(named.task.as_str()));
        return Ok(context.client().get(&target)?.read()?);
    }
    let task = follow::look_up(context, named.task.as_str())?;
    let mut open = open(context, task.id)?;
    match (open.pop(), open.len()) {
        (Some(request), 0) => Ok(request),
        (Some(_), _) => Err(Failure::new("several_requests", format!("task {} asks more than one thing", task.number))
            .remedy("Name one as TASK/NUMBER; `ouroboros requests` lists them.")),
        (None, _) => Err(Failure::new("nothing_asked", format!("task {} asks nothing now", task.number))
            .remedy("`ouroboros requests` lists what waits for an answer.")),
    }
}

fn open(context: &Context, task: TaskId) -> Result<Vec<RequestView>, Failure> {
    let RequestsView { requests } = context.client().get(&format!("/api/requests?state=open&task={task}"))?.read()?;
    Ok(requests)
}

/// What is answered; `None` when nothing is.
fn given(answer: Answer) -> Option<AnswerRequest> {
    let Answer { request: _, text, option, once, for_task, always, everywhere, deny } = answer;
    let decision = match (once, for_task, always, &deny) {
        (true, _, _, _) => Some(Decision::Once),
        (_, true, _, _) => Some(Decision::Task),
        (_, _, true, _) => Some(Decision::Always),
        (_, _, _, Some(_)) => Some(Decision::Deny),
        (false, false, false, None) => None,
    };
    let text = (!text.is_empty()).then(|| text.join(" "));
    let given = option.is_some() || text.is_some() || decision.is_some();
    let scope = everywhere.then_some(AlwaysIn::Installation);
    given.then(|| AnswerRequest { option, text, decision, reason: deny.flatten(), scope })
}

/// What a line that was typed answers. The error says what would be an answer.
pub fn typed(asks: &OwnerRequest, line: &str) -> Result<AnswerRequest, &'static str> {
    let line = line.trim();
    match asks {
        OwnerRequest::Question { .. } if line.is_empty() => Err("an answer has words"),
        OwnerRequest::Question { options, .. } => {
            let number = line
                .parse::<u32>()
                .ok()
                .filter(|number| usize::try_from(*number).is_ok_and(|number| (1..=options.len()).contains(&number)));
            Ok(match number {
                Some(number) => AnswerRequest { option: Some(number), ..AnswerRequest::default() },
                None => AnswerRequest { text: Some(line.to_owned()), ..AnswerRequest::default() },
            })
        }
        OwnerRequest::Approval { .. } => {
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let decision = match word.to_ascii_lowercase().as_str() {
                "y" | "yes" | "once" => Decision::Once,
                "t" | "task" => Decision::Task,
                "a" | "always" => Decision::Always,
                "n" | "no" | "deny" => Decision::Deny,
                _ => return Err("it is y, t, a or n"),
            };
            let reason = Some(rest.trim()).filter(|rest| !rest.is_empty()).map(str::to_owned);
            if reason.is_some() && decision != Decision::Deny {
                return Err("only n takes more words");
            }
            Ok(AnswerRequest { decision: Some(decision), reason, ..AnswerRequest::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_line_is_an_option_words_or_a_decision_and_never_approves_by_accident() {
        let question = |options: &[&str]| OwnerRequest::Question {
            text: "Which?".to_owned(),
            options: options.iter().map(|option| (*option).to_owned()).collect(),
        };
        let option = |number| Ok(AnswerRequest { option: Some(number), ..AnswerRequest::default() });
        let words = |text: &str| Ok(AnswerRequest { text: Some(text.to_owned()), ..AnswerRequest::default() });
        assert_eq!(typed(&question(&["a", "b"]), " 2\n"), option(2));
        assert_eq!(typed(&question(&["a", "b"]), "3\n"), words("3"));
        assert_eq!(typed(&question(&[]), "1\n"), words("1"));
        assert!(typed(&question(&[]), "\n").is_err());
        let approval =
            OwnerRequest::Approval { tool: "run".to_owned(), summary: "rm".to_owned(), why: String::new(), rule: None };
        let decided = |decision| Ok(AnswerRequest { decision: Some(decision), ..AnswerRequest::default() });
        assert_eq!(typed(&approval, "Y"), decided(Decision::Once));
        assert_eq!(typed(&approval, "t"), decided(Decision::Task));
        assert_eq!(typed(&approval, "always"), decided(Decision::Always));
        let denied = AnswerRequest { reason: Some("not there".to_owned()), ..decided(Decision::Deny).unwrap() };
        assert_eq!(typed(&approval, "n not there"), Ok(denied));
        for none in ["", "maybe", "yes please", "yn"] {
            assert!(typed(&approval, none).is_err(), "{none}");
        }
    }
}
