//! Files that are damaged or lie: whatever they say, one error names the file and why, soon, and
//! nothing half-made is left.

mod damaged;
mod impossible;
mod sealed;
mod untrue;

use crate::support::workspace::Workspace;
use renma::artifact::dataset::manifest::content_of;
use renma::artifact::publish::publish_bytes;
use renma::artifact::{
    ContentHash, DatasetKind, Footer, Manifest, NEVER, POSITIONS, PositionRow, Table, TableRow,
};
use std::path::Path;
use std::sync::LazyLock;

/// A tiny run, and a plan for such a dataset.
static RUN: LazyLock<Workspace> = LazyLock::new(|| {
    let run = Workspace::with_tiny_run();
    let config = run.tiny("tiny", &[]);
    run.done(&format!(
        "generate --plan plan.json --config {config} --shards 3 --output out"
    ));
    run
});

fn copy_of_run() -> Workspace {
    Workspace::copy_of(&RUN)
}

/// Our keys in the footer of a file.
fn footer_of(path: &Path) -> Footer {
    Table::read_footer(path)
        .unwrap()
        .into_iter()
        .filter(|(key, _)| key.starts_with("renma."))
        .collect()
}

/// Puts bytes in the place of the second part of positions, with a manifest that vouches for them.
fn plant(folder: &Path, bytes: &[u8]) {
    let mut manifest = Manifest::read(folder, DatasetKind::Selfplay).unwrap();
    let entry = manifest.parts[1].files.get_mut(POSITIONS.name).unwrap();
    entry.bytes = bytes.len() as u64;
    entry.hash = ContentHash::of(bytes);
    manifest.content = content_of(&manifest.parts);
    publish_bytes(&folder.join("positions/part-00001.parquet"), bytes).unwrap();
    manifest.write(folder).unwrap();
}

/// Changes rows and footer of a part's positions, and the manifest with them if there is one.
fn rewrite(
    folder: &Path,
    part: usize,
    rows: impl Fn(&mut PositionRow),
    footer: impl Fn(&mut Footer),
) {
    let path = folder.join(format!("positions/part-{part:05}.parquet"));
    let batch = POSITIONS
        .read_unlisted(&path, |_| Ok(10_000), &NEVER)
        .unwrap()
        .2;
    let mut changed: Vec<PositionRow> = PositionRow::from_batch(&batch).unwrap();
    changed.iter_mut().for_each(rows);
    let mut keys = footer_of(&path);
    footer(&mut keys);
    let entry = POSITIONS.write_rows(&path, &changed, &keys).unwrap();
    if folder.join("manifest.json").exists() {
        let mut manifest = Manifest::read(folder, DatasetKind::Selfplay).unwrap();
        manifest.parts[part]
            .files
            .insert(POSITIONS.name.to_owned(), entry);
        manifest.content = content_of(&manifest.parts);
        manifest.write(folder).unwrap();
    }
}
