//! The exit codes of all commands.

macro_rules! exit_codes {
    ($($name:ident = $code:literal, $meaning:literal;)*) => {
        $(#[doc = $meaning] pub const $name: u8 = $code;)*

        /// Every code with its meaning, ascending.
        pub const MEANINGS: &[(u8, &str)] = &[$(($name, $meaning)),*];
    };
}

exit_codes! {
    DONE = 0, "Done; for a gate: accepted.";
    OTHER = 1, "Any other error, such as a missing permission.";
    USAGE = 2, "The arguments or the config are wrong, or a path does not exist.";
    REJECTED = 10, "The gate rejected the candidate.";
    INCONCLUSIVE = 11, "The gate was inconclusive.";
    BUDGET_SPENT = 12, "The budget was spent first; repeat the command to resume.";
    BAD_INPUT = 65, "An input is damaged, unsuitable or empty; retrying does not help.";
    TRY_AGAIN = 75, "The disk or the memory is full, a folder is in use or a worker was lost; retrying may help.";
    INTERRUPTED = 130, "Interrupted; finished work is kept.";
}
