//! What an agent may do: the one place that decides. A mode and the owner's rules say yes, no, or that the owner is asked.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`act`] | what is decided about, and how it is shown and remembered |
//! | [`gate`] | one call held against it, and the owner asked |
//! | [`look`] | which acts a model looks at, and what follows |
//! | [`subject`], [`judge`] | what it is shown; asking it |
//! | [`source`] | the source of this program as a folder to work in |
//!
//! Nothing here does anything, and nothing that a model says can allow: what counts is what would be done. A second look by a model
//! comes after, at what the mode or a rule allows, and can only stop it. Rules are held
//! against an act as a whole, so that what was allowed once matches the same again and nothing beside it.

mod act;
mod gate;
mod judge;
mod look;
mod source;
mod subject;

pub use act::Act;
pub use gate::Gate;
pub use judge::{Judge, Looks, Safety};
pub use source::{Guards, guarded};

use ouroboros_proto::agent::{Decided, Decider, Mode, OwnerRequest, Rule};
use ouroboros_proto::kind::{RuleEffect, RuleScope};

/// What follows for an act.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// It is done, or refused.
    Decided(Decided),
    /// The owner is asked.
    Ask {
        /// What.
        request: Box<OwnerRequest>,
        /// Why.
        why: String,
    },
}

/// What a mode says of a kind of act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Yes,
    Ask,
    No,
}

/// Decides about an act. Rules that hold in another folder are not to be given. One that forbids wins over one that allows; both win
/// over the mode, but for what the mode forbids for good.
pub fn decide(mode: Mode, rules: &[Rule], folder: &str, tool: &str, act: &Act<'_>) -> Verdict {
    let decided = |allowed, by, rule: String| Verdict::Decided(Decided { allowed, by, rule, judged: None });
    let (says, words) = table(mode, act);
    let in_mode = format!("mode {mode}: {words}");
    if says == Says::No {
        return decided(false, Decider::Mode, in_mode);
    }
    let pattern = act.pattern();
    let matching =
        || rules.iter().filter(|rule| rule.tool == tool && rule.holds_in(folder) && act.matches(&rule.pattern));
    for effect in [RuleEffect::Deny, RuleEffect::Allow] {
        if let Some(rule) = matching().find(|rule| rule.effect == effect) {
            return decided(effect == RuleEffect::Allow, Decider::Rule, told(rule));
        }
    }
    match says {
        Says::Yes => decided(true, Decider::Mode, in_mode),
        Says::Ask | Says::No => Verdict::Ask {
            request: Box::new(OwnerRequest::Approval {
                tool: tool.to_owned(),
                summary: act.summary(),
                why: in_mode.clone(),
                rule: Some(pattern),
            }),
            why: in_mode,
        },
    }
}

fn told(rule: &Rule) -> String {
    let scope = match &rule.scope {
        RuleScope::Installation => "everywhere".to_owned(),
        RuleScope::Folder { path } => format!("in {path}"),
        RuleScope::Task => "for this task".to_owned(),
    };
    let says = match rule.effect {
        RuleEffect::Allow => "allows",
        RuleEffect::Deny => "forbids",
    };
    format!("rule {} of the owner {says} it {scope}", rule.id)
}

/// The ladder. A row is a kind of act, a step down allows no less.
fn table(mode: Mode, act: &Act<'_>) -> (Says, &'static str) {
    use Says::{Ask, No, Yes};
    let steps = |observe, light, advanced, pro, cyber_pro| match mode {
        Mode::Observe => observe,
        Mode::Light => light,
        Mode::Advanced => advanced,
        Mode::Pro => pro,
        Mode::CyberPro => cyber_pro,
    };
    match act {
        Act::Change => (steps(No, Yes, Yes, Yes, Yes), "changes of files in the folder"),
        Act::Run { unconfined: true, .. } => (steps(No, No, Ask, Ask, Yes), "programs that reach beyond the folder"),
        Act::Run { network: true, .. } => (steps(No, No, Ask, Yes, Yes), "programs that use the network"),
        Act::Run { .. } => (Yes, "programs confined to the folder, without network"),
        Act::Fetch { .. } => (steps(No, No, Ask, Yes, Yes), "pages of the network"),
        Act::ReadOutside { .. } => (steps(No, No, Ask, Ask, Yes), "files outside the folder"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ouroboros_proto::kind::RuleId;
    use serde_json::Value;

    fn run(argv: &[String], network: bool) -> Act<'_> {
        Act::Run { argv, cwd: "/f", network, unconfined: false, stdin: "" }
    }

    fn rule(pattern: Value, effect: RuleEffect) -> Rule {
        Rule { id: RuleId::new(7), scope: RuleScope::Installation, tool: "run_command".to_owned(), pattern, effect }
    }

    fn allowed(verdict: &Verdict) -> Option<(bool, Decider)> {
        match verdict {
            Verdict::Decided(decided) => Some((decided.allowed, decided.by)),
            Verdict::Ask { .. } => None,
        }
    }

    #[test]
    fn a_step_up_the_ladder_never_allows_less() {
        let argv = ["x".to_owned()];
        let acts = [
            Act::Change,
            run(&argv, false),
            run(&argv, true),
            Act::Run { argv: &argv, cwd: "/f", network: false, unconfined: true, stdin: "" },
            Act::Fetch { origin: "https://a.example", url: "https://a.example/x" },
            Act::ReadOutside { directory: "/usr" },
        ];
        for act in acts {
            let rank = |mode| match table(mode, &act).0 {
                Says::No => 0,
                Says::Ask => 1,
                Says::Yes => 2,
            };
            let ranks: Vec<_> = Mode::ALL.into_iter().map(rank).collect();
            assert!(ranks.is_sorted(), "{act:?} {ranks:?}");
            assert_eq!(ranks.last(), Some(&2), "{act:?}");
        }
    }

    #[test]
    fn nothing_beyond_the_folder_is_done_unasked_by_default() {
        let argv = ["curl".to_owned()];
        let decide = |act: &Act<'_>| allowed(&decide(Mode::default(), &[], "/f", "run_command", act));
        assert_eq!(decide(&run(&argv, false)), Some((true, Decider::Mode)));
        assert_eq!(decide(&run(&argv, true)), None);
        assert_eq!(decide(&Act::ReadOutside { directory: "/etc" }), None);
        assert_eq!(decide(&Act::Fetch { origin: "https://a.example", url: "https://a.example/x" }), None);
    }

    #[test]
    fn what_was_allowed_matches_the_same_again_and_nothing_beside_it() {
        let (argv, other) = (["curl".to_owned(), "a".to_owned()], ["curl".to_owned(), "b".to_owned()]);
        let Verdict::Ask { request, .. } = decide(Mode::Advanced, &[], "/f", "run_command", &run(&argv, true)) else {
            panic!("it is asked for");
        };
        let OwnerRequest::Approval { rule: Some(pattern), summary, why, .. } = *request else { panic!("an approval") };
        assert!(
            summary.contains("curl a") && summary.contains("network") && why.contains("mode advanced"),
            "{summary} {why}"
        );
        let rules = [rule(pattern.clone(), RuleEffect::Allow)];
        let decide = |rules: &[Rule], act: &Act<'_>| allowed(&decide(Mode::Advanced, rules, "/f", "run_command", act));
        assert_eq!(decide(&rules, &run(&argv, true)), Some((true, Decider::Rule)));
        assert_eq!(decide(&rules, &run(&other, true)), None);
        let elsewhere = Act::Run { argv: &argv, cwd: "/g", network: true, unconfined: false, stdin: "" };
        assert_eq!(decide(&rules, &elsewhere), None);
        let both = [rules[0].clone(), rule(pattern, RuleEffect::Deny)];
        assert_eq!(decide(&both, &run(&argv, true)), Some((false, Decider::Rule)));
    }

    #[test]
    fn what_a_mode_forbids_no_rule_allows() {
        let argv = ["x".to_owned()];
        let act = run(&argv, true);
        let rules = [rule(act.pattern(), RuleEffect::Allow)];
        assert_eq!(allowed(&decide(Mode::Light, &rules, "/f", "run_command", &act)), Some((false, Decider::Mode)));
    }

    #[test]
    fn a_rule_for_a_directory_holds_beneath_it() {
        let act = Act::ReadOutside { directory: "/usr/share/doc" };
        assert!(act.matches(&Act::ReadOutside { directory: "/usr/share" }.pattern()));
        assert!(!act.matches(&Act::ReadOutside { directory: "/usr/share/do" }.pattern()));
        assert!(!act.matches(&Value::Null) && !act.matches(&Act::Change.pattern()));
    }
}
