//! The stages of a generation, in order, and what each takes from those before it.

use crate::pipeline::request::Role;
use crate::pipeline::stage::Stage;

/// A stage of a generation, and where its models come from.
#[derive(Debug)]
pub struct Link {
    /// The stage.
    pub stage: Stage,
    /// Its models.
    pub models: &'static [(Role, Source)],
    /// The stage whose dataset it needs besides, if any.
    pub dataset: Option<Stage>,
}

/// Where a model comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// It plays the generation.
    Champion,
    /// The version that a stage of the generation has made.
    Made(Stage),
}

/// The stages of a generation, in their order. If the last accepts its candidate, that becomes
/// champion.
pub const GENERATION: [Link; 4] = [
    Link {
        stage: Stage::Generate,
        models: &[(Role::Model, Source::Champion)],
        dataset: None,
    },
    Link {
        stage: Stage::Train,
        models: &[(Role::Parent, Source::Champion)],
        dataset: Some(Stage::Generate),
    },
    Link {
        stage: Stage::FitMpc,
        models: &[(Role::Model, Source::Made(Stage::Train))],
        dataset: None,
    },
    Link {
        stage: Stage::Gate,
        models: &[
            (Role::Candidate, Source::Made(Stage::FitMpc)),
            (Role::Baseline, Source::Champion),
        ],
        dataset: Some(Stage::Generate),
    },
];
