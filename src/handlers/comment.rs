//! Somebody commented: each command is refused with a reason, or taken on with a reaction at once.

use jiff::Timestamp;

use crate::core::command::{self, Command, DigestPrefix, Target};
use crate::core::config::project::ApprovalRules;
use crate::core::effect::{Effect, Reaction};
use crate::core::event::{Commented, Event};
use crate::core::gate::facts::Fact;
use crate::core::gate::{AtBase, Base};
use crate::core::ids::{Root, WaveNumber};
use crate::core::note::reply;
use crate::core::person::Role;
use crate::core::refusal::Refusal;
use crate::core::rollout::approve::{self, Subject};
use crate::core::rollout::pull::PullMemory;
use crate::core::rollout::{Rollout, planning};
use crate::handlers::desk::Desk;
use crate::handlers::{App, note, pull, push};
use crate::store::{Change, Handled};

/// One comment being answered: who said it, and what was gathered to decide on it.
struct Talk<'a> {
    app: &'a App,
    desk: Desk,
    said: &'a Commented,
    now: Timestamp,
    role: Role,
    /// What is remembered of the pull request; none before it was first looked at.
    memory: Option<PullMemory>,
    /// The newest rollout that carries it, once it is merged.
    rollout: Option<Rollout>,
}

/// Answers the commands of a new comment; a comment without one is none of our business.
pub(super) async fn said(app: &App, said: &Commented, now: Timestamp) -> anyhow::Result<Handled> {
    let commands = command::read(&said.body);
    if commands.is_empty() || said.actor.is_bot {
        return Ok(Handled::default());
    }
    let desk = Desk::open(app, &said.pull.repo).await?;
    if desk.forge.me().await?.id == said.actor.id {
        return Ok(Handled::default());
    }
    let role = desk.forge.role(&said.pull.repo, &said.actor).await?;
    let memory = app.store.pull(&said.pull).await?;
    let rollout = app.rollout_of(&said.pull).await?;
    let mut talk = Talk {
        app,
        desk,
        said,
        now,
        role,
        memory,
        rollout,
    };
    let may = role.may_command(&asked_for(&commands));
    if let Err(refusal) = may.and_then(|()| said.is_fresh(now)) {
        return Ok(talk.refuse(0, &refusal));
    }
    let mut handled = Handled::default();
    for (ordinal, command) in commands.into_iter().enumerate() {
        let answer = match command {
            Ok(command) => {
                let what = command.to_string();
                let answer = match said.is_in_time(&command) {
                    Ok(()) => talk.answer(ordinal, command).await?,
                    Err(refusal) => Err(refusal),
                };
                answer.map_err(|refusal| Refusal { what, ..refusal })
            }
            Err(refusal) => Err(refusal),
        };
        let answer = answer.unwrap_or_else(|refusal| talk.refuse(ordinal, &refusal));
        talk.remember(&answer);
        handled.changes.extend(answer.changes);
        handled.effects.extend(answer.effects);
    }
    Ok(handled)
}

/// The first command of a comment, for one refusal of all of them.
fn asked_for(commands: &[Result<Command, Refusal>]) -> String {
    commands
        .first()
        .map_or_else(String::new, |first| match first {
            Ok(command) => command.to_string(),
            Err(refusal) => refusal.what.clone(),
        })
}

impl Talk<'_> {
    /// What one command of a comment changes is what the next one finds.
    fn remember(&mut self, answer: &Handled) {
        for change in &answer.changes {
            if let Change::Pull(memory) = change {
                self.memory = Some(memory.as_ref().clone());
            }
        }
    }

    async fn answer(
        &self,
        ordinal: usize,
        command: Command,
    ) -> anyhow::Result<Result<Handled, Refusal>> {
        match command {
            Command::Plan { roots } => self.plan(roots).await,
            Command::Apply { wave } => Ok(self.apply(wave)),
            Command::Approve { target, digest } => {
                self.approve(ordinal, target.as_ref(), digest.as_ref())
                    .await
            }
            Command::Cancel => Ok(self.cancel()),
            Command::Help => {
                let mut handled = self.reply(ordinal, self.help().await?);
                handled.effects.insert(0, self.react(Reaction::Eyes));
                Ok(Ok(handled))
            }
            Command::Unapprove { .. }
            | Command::Lock { .. }
            | Command::Unlock
            | Command::Env(_) => {
                let refusal = command.refused_as_unbuilt();
                Ok(Err(refusal.expect("these four are not in this version")))
            }
        }
    }

    /// Plans the head again; an unknown root is refused with the list.
    async fn plan(&self, roots: Vec<Root>) -> anyhow::Result<Result<Handled, Refusal>> {
        if let Err(refusal) =
            planning::are_reached(&roots, self.memory.as_ref().and_then(PullMemory::survey))
        {
            return Ok(Err(refusal));
        }
        let before = self.memory.clone();
        let looked = pull::look_again(self.app, &self.said.pull, before, roots).await?;
        Ok(looked.map(|mut handled| {
            handled.effects.insert(0, self.react(Reaction::Eyes));
            handled
        }))
    }

    /// Calls the rollout's wave again; the branch's lane starts it.
    fn apply(&self, wave: Option<WaveNumber>) -> Result<Handled, Refusal> {
        let Some(rollout) = &self.rollout else {
            return Err(Refusal::new(
                Command::Apply { wave }.to_string(),
                "This pull request is not merged, and waves go out after the merge.",
                "Merge it; its waves start by themselves.",
            ));
        };
        let wave = rollout.callable(wave)?;
        let effects = std::iter::once(self.react(Reaction::Eyes)).chain(self.call(wave));
        Ok(Handled {
            changes: Vec::new(),
            effects: effects.collect(),
        })
    }

    /// Records an approval of what the author of the comment could see, and calls the wave that waits for it.
    async fn approve(
        &self,
        ordinal: usize,
        target: Option<&Target>,
        digest: Option<&DigestPrefix>,
    ) -> anyhow::Result<Result<Handled, Refusal>> {
        let default_branch = self.desk.mirror.default_branch().await?;
        let decided = approve::decide(&approve::Inputs {
            said: self.said,
            role: self.role,
            subject: Subject::of(self.rollout.as_ref(), self.memory.as_ref()),
            target,
            digest,
            shown: &self.app.store.asks(&self.said.pull).await?,
            default_branch: default_branch.as_ref(),
            rules: self.rules().await?,
        });
        let waiting = match decided {
            Ok(waiting) => waiting,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let principal = self
            .said
            .actor
            .principal(self.desk.forge.limits().name, &self.said.pull.repo.forge);
        let fact = approve::fact(&waiting, self.said, ordinal, principal, self.now);
        let mut effects = vec![self.react(Reaction::Eyes)];
        effects.push(Effect::Record {
            repo: self.said.pull.repo.clone(),
            fact: Fact::Approval(fact),
        });
        effects.push(self.react(Reaction::Rocket));
        effects.extend(self.call(waiting.wave));
        Ok(Ok(Handled {
            changes: Vec::new(),
            effects,
        }))
    }

    /// The approval rules at the base: the rollout's, or the tip of the open pull request's target.
    async fn rules(&self) -> anyhow::Result<Result<AtBase<ApprovalRules>, String>> {
        let base = match Subject::of(self.rollout.as_ref(), self.memory.as_ref()) {
            Subject::Rollout(rollout) => rollout.base(),
            Subject::Open(memory) => {
                let target = &memory.details.target;
                match self.desk.heads(target).await?.tip {
                    Some(tip) => Base::of_pull(&tip),
                    None => return Ok(Err(format!("the branch `{target}` is gone"))),
                }
            }
            Subject::Unknown => {
                return Ok(Err("the pull request was not looked at yet".to_owned()));
            }
        };
        Ok(self
            .desk
            .rules(&base)
            .await?
            .map(|rules| rules.part(|it| it.approval.clone())))
    }

    async fn help(&self) -> anyhow::Result<String> {
        let memory = match &self.memory {
            Some(memory) => memory.clone(),
            None => PullMemory::new(self.desk.forge.pull(&self.said.pull).await?),
        };
        Ok(command::help(
            &note::allowed(&self.desk, &memory, self.rollout.as_ref()).await?,
        ))
    }

    /// Stops the jobs of this pull request: its plan, and its rollout's running wave.
    fn cancel(&self) -> Result<Handled, Refusal> {
        let plan = self.memory.as_ref().and_then(PullMemory::running_job);
        let wave = self.rollout.as_ref().and_then(|rollout| {
            rollout
                .current()
                .filter(|it| it.is_running())
                .and_then(|it| rollout.job(it.number))
        });
        let jobs: Vec<_> = plan.into_iter().chain(wave).map(Effect::Cancel).collect();
        if jobs.is_empty() {
            return Err(Refusal::new(
                "/cancel",
                "No job of this pull request is running.",
                "",
            ));
        }
        let effects = std::iter::once(self.react(Reaction::Eyes))
            .chain(jobs)
            .collect();
        Ok(Handled {
            changes: Vec::new(),
            effects,
        })
    }

    /// The follow-up that calls a wave in its branch's lane; none before the merge.
    fn call(&self, wave: WaveNumber) -> Option<Effect> {
        let rollout = self.rollout.as_ref()?;
        let branch = push::branch_of(rollout)?.clone();
        let event = Event::WaveCalled {
            repo: rollout.repo.clone(),
            branch,
            rollout: rollout.id.clone(),
            wave,
        };
        Some(Effect::Follow(Box::new(event)))
    }

    fn react(&self, reaction: Reaction) -> Effect {
        Effect::React {
            pull: self.said.pull.clone(),
            comment: self.said.comment,
            reaction,
        }
    }

    fn refuse(&self, ordinal: usize, refusal: &Refusal) -> Handled {
        let mut handled = self.reply(ordinal, reply::refused(std::slice::from_ref(refusal)));
        handled.effects.insert(0, self.react(Reaction::Confused));
        handled
    }

    fn reply(&self, ordinal: usize, text: String) -> Handled {
        let key = format!("{}-{ordinal}", self.said.comment);
        Handled {
            changes: Vec::new(),
            effects: vec![Effect::Reply {
                pull: self.said.pull.clone(),
                key,
                text,
            }],
        }
    }
}
