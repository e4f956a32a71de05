//! What an owner says about a request, checked against what was asked.

use ouroboros_domain::NewRule;
use ouroboros_proto::agent::{OwnerAnswer, OwnerRequest};
use ouroboros_proto::api::{AlwaysIn, AnswerRequest, ApiError, Code, Decision};
use ouroboros_proto::kind::{RuleEffect, RuleScope};
use ouroboros_proto::limits;

/// The answer, and the rule that it makes. `folder` is where the task works.
///
/// # Errors
/// It is no answer to this.
pub fn judge(
    asked: &OwnerRequest,
    given: AnswerRequest,
    folder: &str,
) -> Result<(OwnerAnswer, Option<NewRule>), ApiError> {
    let said = [given.option.is_some(), given.text.is_some(), given.decision.is_some()];
    if said.into_iter().filter(|said| *said).count() != 1 {
        return Err(no_answer("An answer is one of `option`, `text` and `decision`.", asked));
    }
    let words = [&given.text, &given.reason].into_iter().flatten().map(String::len).fold(0, usize::saturating_add);
    let words = u64::try_from(words).unwrap_or(u64::MAX);
    if words > limits::ANSWER_BYTES.max {
        return Err(ApiError::limit(&limits::ANSWER_BYTES, words));
    }
    if given.reason.is_some() && given.decision != Some(Decision::Deny) {
        return Err(no_answer("A `reason` goes with the decision `deny`.", asked));
    }
    if given.scope.is_some() && given.decision != Some(Decision::Always) {
        return Err(no_answer("A `scope` goes with the decision `always`.", asked));
    }
    match (asked, given) {
        (OwnerRequest::Question { options, .. }, AnswerRequest { option: Some(number), .. }) => {
            let place = usize::try_from(number).unwrap_or(usize::MAX).checked_sub(1);
            match place.and_then(|place| options.get(place)) {
                Some(text) => Ok((OwnerAnswer::Option { number, text: text.clone() }, None)),
                None => Err(no_answer(&format!("There is no option {number}."), asked)),
            }
        }
        (OwnerRequest::Question { .. }, AnswerRequest { text: Some(text), .. }) if text.trim().is_empty() => {
            Err(no_answer("The answer is empty.", asked))
        }
        (OwnerRequest::Question { .. }, AnswerRequest { text: Some(text), .. }) => {
            Ok((OwnerAnswer::Text { text }, None))
        }
        (OwnerRequest::Approval { tool, rule, .. }, AnswerRequest { decision: Some(decision), reason, scope, .. }) => {
            let saved = |scope| match rule {
                Some(pattern) => Ok(NewRule {
                    scope,
                    tool: tool.as_str().into(),
                    pattern: pattern.to_string().into_bytes().into(),
                    effect: RuleEffect::Allow,
                }),
                None => Err(no_answer("There is no rule that would match the like of it: it is answered once.", asked)),
            };
            match decision {
                Decision::Once => Ok((OwnerAnswer::Once, None)),
                Decision::Task => Ok((OwnerAnswer::Task, Some(saved(RuleScope::Task)?))),
                Decision::Always => {
                    let scope = match scope.unwrap_or_default() {
                        AlwaysIn::Folder => RuleScope::Folder { path: folder.to_owned() },
                        AlwaysIn::Installation => RuleScope::Installation,
                    };
                    Ok((OwnerAnswer::Always, Some(saved(scope)?)))
                }
                Decision::Deny => {
                    Ok((OwnerAnswer::Deny { reason: reason.filter(|reason| !reason.trim().is_empty()) }, None))
                }
            }
        }
        (OwnerRequest::Question { .. }, _) => Err(no_answer("It is a question: it is not decided about.", asked)),
        (OwnerRequest::Approval { .. }, _) => Err(no_answer("It asks for approval: words decide nothing.", asked)),
    }
}

fn no_answer(why: &str, asked: &OwnerRequest) -> ApiError {
    let remedy = match asked {
        OwnerRequest::Question { options, .. } if options.is_empty() => "Answer with `text`.",
        OwnerRequest::Question { .. } => "Answer with `option`, counted from 1, or with `text`.",
        OwnerRequest::Approval { rule: None, .. } => "Answer with the decision `once` or `deny`.",
        OwnerRequest::Approval { .. } => "Answer with the decision `once`, `task`, `always` or `deny`.",
    };
    ApiError::new(Code::BadAnswer, format!("{why} Nothing was answered.")).remedy(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question() -> OwnerRequest {
        OwnerRequest::Question { text: "Which?".to_owned(), options: vec!["left".to_owned(), "right".to_owned()] }
    }

    fn approval(rule: Option<serde_json::Value>) -> OwnerRequest {
        OwnerRequest::Approval { tool: "run".to_owned(), summary: "rm".to_owned(), why: "deletes".to_owned(), rule }
    }

    fn decided(decision: Decision) -> AnswerRequest {
        AnswerRequest { decision: Some(decision), ..AnswerRequest::default() }
    }

    fn said(asked: &OwnerRequest, given: AnswerRequest) -> Option<OwnerAnswer> {
        judge(asked, given, "/work").ok().map(|(answer, _)| answer)
    }

    #[test]
    fn a_question_takes_an_option_or_words_and_nothing_else() {
        let option = |number| AnswerRequest { option: Some(number), ..AnswerRequest::default() };
        let text = |text: &str| AnswerRequest { text: Some(text.to_owned()), ..AnswerRequest::default() };
        assert_eq!(said(&question(), option(2)), Some(OwnerAnswer::Option { number: 2, text: "right".to_owned() }));
        assert_eq!(said(&question(), text("up")), Some(OwnerAnswer::Text { text: "up".to_owned() }));
        let both = AnswerRequest { option: Some(1), ..text("up") };
        let long = text(&"x".repeat(9 << 10));
        let refused = [option(0), option(3), text(" "), both, long, decided(Decision::Once), AnswerRequest::default()];
        for given in refused {
            assert_eq!(said(&question(), given.clone()), None, "{given:?}");
        }
    }

    #[test]
    fn an_approval_takes_a_decision_and_saves_a_rule_only_where_there_is_one() {
        let rule = Some(serde_json::json!({ "argv": ["rm"] }));
        let (answer, saved) = judge(&approval(rule.clone()), decided(Decision::Always), "/work").unwrap();
        let saved = saved.unwrap();
        assert_eq!((answer, &saved.scope), (OwnerAnswer::Always, &RuleScope::Folder { path: "/work".to_owned() }));
        assert_eq!((&*saved.tool, &*saved.pattern), ("run", &br#"{"argv":["rm"]}"#[..]));
        let everywhere = AnswerRequest { scope: Some(AlwaysIn::Installation), ..decided(Decision::Always) };
        let (_, saved) = judge(&approval(rule.clone()), everywhere, "/work").unwrap();
        assert_eq!(saved.unwrap().scope, RuleScope::Installation);
        let (_, saved) = judge(&approval(rule.clone()), decided(Decision::Task), "/work").unwrap();
        assert_eq!(saved.unwrap().scope, RuleScope::Task);
        assert!(judge(&approval(rule.clone()), decided(Decision::Once), "/work").unwrap().1.is_none());
        for decision in [Decision::Task, Decision::Always] {
            assert_eq!(said(&approval(None), decided(decision)), None);
        }
        let with = |given: AnswerRequest| said(&approval(rule.clone()), given);
        let reason = Some("no".to_owned());
        assert_eq!(
            with(AnswerRequest { reason: reason.clone(), ..decided(Decision::Deny) }),
            Some(OwnerAnswer::Deny { reason: reason.clone() })
        );
        assert_eq!(with(AnswerRequest { reason, ..decided(Decision::Once) }), None);
        assert_eq!(with(AnswerRequest { scope: Some(AlwaysIn::Folder), ..decided(Decision::Task) }), None);
        assert_eq!(with(AnswerRequest { text: Some("yes".to_owned()), ..AnswerRequest::default() }), None);
    }
}
