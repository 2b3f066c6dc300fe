//! The table `[selective]`: forward pruning and extensions.

use super::keys::{Checked, ConfigTable, Key, KeyFault, Takes};
use crate::engine::{Extension, Score, Selective};
use serde::{Deserialize, Serialize};

/// No position has more legal moves.
const MOVES_MAX: i64 = 36;

/// Where a search looks two plies further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExtensionSetting {
    /// Where one ply is left.
    Horizon,
    /// At every remaining depth.
    EveryDepth,
}

/// The optional `[selective]` table: forward pruning and extensions of the searches by depth of
/// self-play and gates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SelectiveConfig {
    /// Discs: a move whose static value is further below that of the position is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Moves of a position that are searched, in the order of the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u8>,
    /// Replies that are searched again, two plies deeper.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<ExtensionSetting>,
}

impl ConfigTable for SelectiveConfig {
    const NAME: &'static str = "selective";

    const KEYS: &'static [Key] = &[
        Key::new("threshold", Takes::Number(0.0, 128.0))
            .unit("discs")
            .optional(),
        Key::new("rank", Takes::Whole(1, MOVES_MAX))
            .unit("moves")
            .optional(),
        Key::new("extension", Takes::Words(&["horizon", "every-depth"])).optional(),
    ];

    fn check(&self) -> Result<(), KeyFault> {
        if self.search() != Selective::NONE {
            return Ok(());
        }
        let reason =
            "[selective]: it has no key\nset threshold, rank or extension, or leave the table out";
        Err(KeyFault {
            key: Self::NAME.to_owned(),
            reason: reason.to_owned(),
        })
    }
}

impl SelectiveConfig {
    /// What the search knows of it.
    pub fn search(&self) -> Selective {
        Selective {
            threshold: self
                .threshold
                .map(|discs| Score(Score::in_millidiscs(discs).round() as i32)),
            rank: self.rank,
            extension: self.extension.map(|extension| match extension {
                ExtensionSetting::Horizon => Extension::Horizon,
                ExtensionSetting::EveryDepth => Extension::EveryDepth,
            }),
        }
    }
}

/// The search that a table, or its absence, asks for.
pub fn selective(config: Option<&Checked<SelectiveConfig>>) -> Selective {
    config.map_or(Selective::NONE, |config| config.search())
}
