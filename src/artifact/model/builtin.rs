//! The names of the models that need no registry.

/// A model that is part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// The disc difference.
    DiscCount,
    /// One weight per square.
    SquareWeights,
    /// The shipped model, trained by this program.
    Champion,
}

impl Builtin {
    /// All of them, weakest first.
    pub const ALL: [Self; 3] = [Self::DiscCount, Self::SquareWeights, Self::Champion];

    /// Its name, including `builtin:`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DiscCount => "builtin:disc-count",
            Self::SquareWeights => "builtin:square-weights",
            Self::Champion => "builtin:champion",
        }
    }

    /// The built-in with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }

    /// All names, separated by commas.
    pub fn names() -> String {
        Self::ALL.map(Self::name).join(", ")
    }
}
