//! What a comment may approve: who may, and which plans its author could see.

use jiff::Timestamp;

use crate::core::config::project::ApprovalRules;
use crate::core::effect::ShownAsk;
use crate::core::gate::{AtBase, Mode};
use crate::core::ids::{Actor, Digest, Gate};
use crate::core::person::Role;
use crate::core::refusal::Refusal;

/// Says whether `actor` may approve a change of these `authors` (the last pusher is one of them), by the role the
/// forge gives them now.
pub fn who_may(
    actor: &Actor,
    role: Role,
    authors: &[Actor],
    rules: &AtBase<ApprovalRules>,
) -> Result<(), Refusal> {
    let refuse = |why: &str, hint: &str| Err(Refusal::new("/approve", why, hint));
    if actor.is_bot {
        return refuse("Apps do not approve.", "");
    }
    match role {
        Role::None | Role::Read => {
            return refuse(
                "Approving needs write access to this repository.",
                "Ask somebody who has it to approve.",
            );
        }
        Role::Write | Role::Admin => {}
    }
    let rules = rules.get();
    if !rules.author && authors.iter().any(|it| it.id == actor.id) {
        return refuse(
            "It is your own change, and the target branch does not let authors approve theirs.",
            "Ask somebody else with write access, or set `approval: {author: true}` on the target branch first.",
        );
    }
    let is_unknown = authors.iter().any(|it| it.id == Actor::nobody().id);
    if !rules.author && is_unknown && role != Role::Admin {
        return refuse(
            "Nobody can tell who pushed a part of this change, so it may be your own: the forge lost word of it, or the account is gone.",
            "Ask an administrator of this repository to approve.",
        );
    }
    match rules.mode {
        Mode::Ledger | Mode::PrReview => Ok(()),
        Mode::Sealed => refuse(
            "Only sealed approvals count here, and this version cannot verify a seal yet.",
            "Set `approval: ledger` on the target branch to approve by comment.",
        ),
    }
}

/// Finds the digest that the author of a comment approves: the one the note asked for before they wrote.
///
/// A forge's clock counts whole seconds, so a note that changed in the second of the comment may have been seen or
/// not. Such an ask counts only if nothing else was asked before it; where the author could have seen two digests,
/// none is guessed.
pub fn ask_seen(asks: &[ShownAsk], gate: &Gate, comment_at: Timestamp) -> Result<Digest, Refusal> {
    let refuse = |why: String, hint: &str| Err(Refusal::new(format!("/approve {gate}"), why, hint));
    let asks: Vec<&ShownAsk> = asks.iter().filter(|it| it.ask.gate == *gate).collect();
    let Some(current) = asks.last() else {
        return refuse(format!("Nothing asks for an approval of {gate}."), "");
    };
    let second = comment_at.as_second();
    let seen = asks.iter().rfind(|it| it.shown_at.as_second() < second);
    let within = asks.iter().filter(|it| it.shown_at.as_second() == second);
    let could_see: Vec<_> = seen.into_iter().chain(within).collect();
    let current = &current.ask.digest;
    match could_see.iter().find(|it| !it.ask.digest.is_same(current)) {
        Some(other) => refuse(
            format!(
                "The plans moved: your comment is about {}, and {gate} plans {} now.",
                other.ask.digest.short(),
                current.short()
            ),
            "Read the note again, and approve what it shows.",
        ),
        None if could_see.is_empty() => refuse(
            format!("{gate} asked for an approval only after your comment was written."),
            "Read the note, and approve what it shows.",
        ),
        None => Ok(current.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::effect::Ask;
    use crate::core::gate::Base;
    use crate::core::ids::{Login, Sha, UserId};

    fn actor(id: u64) -> Actor {
        Actor {
            id: UserId(id),
            login: Login::try_from(format!("user{id}")).unwrap(),
            is_bot: false,
        }
    }

    fn rules(mode: Mode, author: bool) -> AtBase<ApprovalRules> {
        let base = Base(Sha::try_from("b".repeat(40)).unwrap());
        AtBase::read(&base, ApprovalRules { mode, author })
    }

    #[test]
    fn approving_needs_write_access_and_another_author() {
        use Role::{Admin, None, Read, Write};
        let table = [
            (None, 9, false, false),
            (Read, 9, false, false),
            (Write, 9, false, true),
            (Admin, 9, false, true),
            (Admin, 1, false, false),
            (Write, 2, false, false),
            (Write, 1, true, true),
            (Read, 1, true, false),
        ];
        for (role, who, author, may) in table {
            let rules = rules(Mode::Ledger, author);
            let verdict = who_may(&actor(who), role, &[actor(1), actor(2)], &rules);
            assert_eq!(verdict.is_ok(), may, "{role:?} {who} {author}");
        }
    }

    #[test]
    fn where_nobody_knows_who_pushed_only_an_administrator_approves() {
        use Role::{Admin, Write};
        let authors = [actor(1), Actor::nobody()];
        for (role, who, author, may) in [
            (Write, 9, false, false),
            (Admin, 9, false, true),
            (Admin, 1, false, false),
            (Write, 9, true, true),
        ] {
            let rules = rules(Mode::Ledger, author);
            let verdict = who_may(&actor(who), role, &authors, &rules);
            assert_eq!(verdict.is_ok(), may, "{role:?} {who} {author}");
        }
    }

    #[test]
    fn a_renamed_author_is_still_the_author() {
        let renamed = Actor {
            login: Login::try_from("somebody-else").unwrap(),
            ..actor(1)
        };
        let rules = rules(Mode::Ledger, false);
        assert!(who_may(&renamed, Role::Admin, &[actor(1)], &rules).is_err());
    }

    #[test]
    fn a_bot_never_approves() {
        let bot = Actor {
            is_bot: true,
            ..actor(9)
        };
        let rules = rules(Mode::Ledger, true);
        assert!(who_may(&bot, Role::Admin, &[], &rules).is_err());
    }

    #[test]
    fn a_comment_is_no_seal() {
        for (mode, may) in [
            (Mode::Ledger, true),
            (Mode::PrReview, true),
            (Mode::Sealed, false),
        ] {
            let verdict = who_may(&actor(9), Role::Write, &[], &rules(mode, false));
            assert_eq!(verdict.is_ok(), may, "{mode:?}");
        }
    }

    fn digest(digit: char) -> Digest {
        Digest::try_from(format!("jcs1-sha256:{}", digit.to_string().repeat(64))).unwrap()
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(1_700_000_000_000 + millis).unwrap()
    }

    fn gate(name: &str) -> Gate {
        Gate::try_from(name).unwrap()
    }

    type Shown<'a> = &'a [(i64, char)];

    /// Asks of `wave-2`, each with the milliseconds at which it was shown.
    fn asks(shown: Shown) -> Vec<ShownAsk> {
        let ask = |&(millis, digit): &(i64, char)| ShownAsk {
            ask: Ask {
                gate: gate("wave-2"),
                digest: digest(digit),
            },
            shown_at: at(millis),
        };
        shown.iter().map(ask).collect()
    }

    #[test]
    fn a_comment_binds_what_its_author_could_see() {
        let table: [(Shown, i64, Option<char>); 10] = [
            (&[], 5_000, None),
            (&[(0, 'a')], 5_000, Some('a')),
            (&[(9_000, 'a')], 5_000, None),
            // The note moved on after the comment.
            (&[(0, 'a'), (9_000, 'b')], 5_000, None),
            (&[(0, 'a'), (9_000, 'b')], 10_000, Some('b')),
            // It moved back to what the author saw.
            (&[(0, 'a'), (6_000, 'b'), (9_000, 'a')], 5_000, Some('a')),
            // It moved within the second of the comment: seen or not, nobody knows.
            (&[(0, 'a'), (5_900, 'b')], 5_000, None),
            (&[(0, 'a'), (5_000, 'b')], 5_900, None),
            (&[(0, 'a'), (5_000, 'a')], 5_900, Some('a')),
            // The first note, and a quick answer.
            (&[(5_000, 'a')], 5_000, Some('a')),
        ];
        for (shown, comment_at, bound) in table {
            let seen = ask_seen(&asks(shown), &gate("wave-2"), at(comment_at));
            assert_eq!(seen.ok(), bound.map(digest), "{shown:?} {comment_at}");
        }
    }

    #[test]
    fn an_ask_of_another_gate_is_not_seen() {
        assert!(ask_seen(&asks(&[(0, 'a')]), &gate("wave-1"), at(5_000)).is_err());
    }

    #[test]
    fn a_refusal_names_both_digests() {
        let refusal = ask_seen(&asks(&[(0, 'a'), (9_000, 'b')]), &gate("wave-2"), at(5_000));
        let text = refusal.unwrap_err().to_string();
        for digit in ["aaaaaaaaaaaa", "bbbbbbbbbbbb"] {
            assert!(text.contains(digit), "{text}");
        }
    }
}
