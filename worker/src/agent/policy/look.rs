//! Which acts a model looks at before they are done, and what follows from what it says.

use super::Act;
use ouroboros_proto::agent::{Coverage, Decided, Decider, Judgement, Mode};
use ouroboros_tools::{Code, Outcome};

/// What is to be done about an act that is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// Nothing.
    Skip,
    /// A model would be asked, and the setting waves it through.
    Waved,
    /// A model is asked.
    Ask,
}

/// How much a kind of act needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    /// It can be undone.
    Never,
    /// Only where everything is looked at.
    Conditional,
    /// Wherever anything is.
    Always,
}

/// The table beside the modes. `lacks` says that what the act runs is not held as its confinement says.
const fn need(act: &Act<'_>, lacks: bool) -> Need {
    match act {
        Act::Change => Need::Never,
        Act::Run { unconfined: true, .. } | Act::Run { network: true, .. } => Need::Always,
        Act::Run { .. } if lacks => Need::Always,
        Act::Run { .. } | Act::Fetch { .. } | Act::ReadOutside { .. } => Need::Conditional,
    }
}

/// What is to be done about an act. Who decided matters: what the owner allowed in person is not looked at again.
pub fn wanted(coverage: Coverage, decided: &Decided, act: &Act<'_>, lacks: bool) -> Look {
    let in_person = match decided.by {
        Decider::Owner => true,
        Decider::Mode | Decider::Rule | Decider::Nobody | Decider::Safety => false,
    };
    if !decided.allowed || in_person {
        return Look::Skip;
    }
    match (need(act, lacks), coverage) {
        (Need::Never, _) => Look::Skip,
        (Need::Always, Coverage::Full | Coverage::Light) | (Need::Conditional, Coverage::Full) => Look::Ask,
        (Need::Conditional, Coverage::Light) | (Need::Always | Need::Conditional, Coverage::Off) => Look::Waved,
    }
}

/// The decision with what was found. In the widest mode that is advice; what could not be judged is never taken for safe.
pub fn applied(mode: Mode, decided: Decided, judgement: Judgement) -> Decided {
    let stops = objection(&judgement).filter(|_| mode != Mode::CyberPro);
    let judged = Some(judgement);
    match stops {
        Some((_, words)) => Decided { allowed: false, by: Decider::Safety, rule: words, judged },
        None => Decided { judged, ..decided },
    }
}

/// What a call comes to that is stopped by what was found.
pub fn refusal(judgement: Option<&Judgement>) -> Outcome {
    let (code, words) =
        judgement.and_then(objection).unwrap_or((Code::SafetyFailed, "there was no safety check".to_owned()));
    let next = match code {
        Code::SafetyUnavailable => "Nothing was done. You may make the same call again later.",
        _ => "Nothing was done. Go on without it, or in another way.",
    };
    Outcome::not_ok(code, format!("It is not done: {words}. {next}"))
}

/// What the model is told beside the result of a call that was allowed all the same.
pub fn warning(decided: &Decided) -> Option<String> {
    let judgement = decided.judged.as_ref().filter(|_| decided.allowed)?;
    let words = match judgement {
        Judgement::WavedThrough { .. } | Judgement::Safe { .. } => return None,
        Judgement::Suspicious { reason } => format!("the safety check found it suspicious: {reason}"),
        Judgement::NoRoute { reason } => format!("there is no model that could check it: {reason}"),
        Judgement::Dangerous { .. }
        | Judgement::Failed { .. }
        | Judgement::Unavailable { .. }
        | Judgement::TooLarge { .. } => objection(judgement)?.1,
    };
    Some(format!("[ouroboros] With a warning: {words}."))
}

fn objection(judgement: &Judgement) -> Option<(Code, String)> {
    match judgement {
        Judgement::Dangerous { reason } => {
            Some((Code::SafetyViolation, format!("the safety check found it dangerous: {reason}")))
        }
        Judgement::Failed { reason } => {
            Some((Code::SafetyFailed, format!("the safety check came to no judgement: {reason}")))
        }
        Judgement::Unavailable { reason } => {
            Some((Code::SafetyUnavailable, format!("the safety check cannot be made now: {reason}")))
        }
        Judgement::TooLarge { characters } => {
            let words =
                format!("with what was said it has {characters} characters, which is more than is checked as a whole");
            Some((Code::SafetySubjectTooLarge, words))
        }
        Judgement::WavedThrough { .. }
        | Judgement::Safe { .. }
        | Judgement::Suspicious { .. }
        | Judgement::NoRoute { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decided(by: Decider) -> Decided {
        Decided { allowed: true, by, rule: String::new(), judged: None }
    }

    fn run(argv: &[String], network: bool, unconfined: bool) -> Act<'_> {
        Act::Run { argv, cwd: "/f", network, unconfined, stdin: "" }
    }

    #[test]
    fn what_is_looked_at_follows_from_the_act_and_the_setting() {
        use Look::{Ask, Skip, Waved};
        let argv = ["x".to_owned()];
        let [full, light, off] = [Coverage::Full, Coverage::Light, Coverage::Off];
        for (act, lacks, looks) in [
            (Act::Change, false, [Skip, Skip, Skip]),
            (run(&argv, false, false), false, [Ask, Waved, Waved]),
            (run(&argv, false, false), true, [Ask, Ask, Waved]),
            (run(&argv, true, false), false, [Ask, Ask, Waved]),
            (run(&argv, false, true), false, [Ask, Ask, Waved]),
            (Act::Fetch { origin: "https://a.example", url: "https://a.example/x" }, false, [Ask, Waved, Waved]),
            (Act::ReadOutside { directory: "/usr" }, false, [Ask, Waved, Waved]),
        ] {
            for by in [Decider::Mode, Decider::Rule] {
                let found = [full, light, off].map(|coverage| wanted(coverage, &decided(by), &act, lacks));
                assert_eq!(found, looks, "{act:?} {lacks}");
            }
            let refused = Decided { allowed: false, ..decided(Decider::Rule) };
            assert_eq!(wanted(full, &refused, &act, true), Skip, "what is refused is not looked at");
            assert_eq!(wanted(full, &decided(Decider::Owner), &act, true), Skip, "the owner has just looked");
        }
    }

    #[test]
    fn only_what_nothing_speaks_against_is_done_without_a_word() {
        let reason = || "it deletes the home".to_owned();
        for (judgement, code, warns) in [
            (Judgement::Safe { reason: reason() }, None, false),
            (Judgement::WavedThrough { coverage: Coverage::Light }, None, false),
            (Judgement::Suspicious { reason: reason() }, None, true),
            (Judgement::NoRoute { reason: reason() }, None, true),
            (Judgement::Dangerous { reason: reason() }, Some(Code::SafetyViolation), true),
            (Judgement::Failed { reason: reason() }, Some(Code::SafetyFailed), true),
            (Judgement::Unavailable { reason: reason() }, Some(Code::SafetyUnavailable), true),
            (Judgement::TooLarge { characters: 300_000 }, Some(Code::SafetySubjectTooLarge), true),
        ] {
            let held = applied(Mode::Pro, decided(Decider::Mode), judgement.clone());
            assert_eq!(held.allowed, code.is_none(), "{judgement:?}");
            if let Some(code) = code {
                assert_eq!((held.by, refusal(held.judged.as_ref()).code), (Decider::Safety, Some(code)));
                assert_eq!(warning(&held), None, "it is not done");
            }
            let advised = applied(Mode::CyberPro, decided(Decider::Mode), judgement.clone());
            assert_eq!((advised.allowed, warning(&advised).is_some()), (true, warns), "{judgement:?}");
            assert_eq!(advised.judged, Some(judgement), "what was found is on record as it was");
        }
    }
}
