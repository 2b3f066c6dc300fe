//! `renma init`.

use super::output::say;
use super::session::Session;
use crate::run::workspace::make_workspace;
use serde_json::json;
use std::path::Path;

pub fn run(session: &Session, folder: &Path) -> anyhow::Result<()> {
    let written = make_workspace(folder)?;
    let name = folder.to_string_lossy();
    match written.len() {
        0 => say(&format!("init: {name} has everything already")),
        1 => say(&format!("init: wrote {name}/{}", written[0])),
        count => say(&format!("init: wrote {count} files to {name}")),
    }
    let quoted = shlex::try_quote(&name).unwrap_or_default();
    say(&format!(
        "\nnext:\n    cd {quoted}\n    renma run                               # the whole loop, some minutes\n    \
         renma run --config configs/smoke.toml   # the same in seconds, to look at"
    ));
    session.print_json(&json!({"folder": name, "written": written}))
}
