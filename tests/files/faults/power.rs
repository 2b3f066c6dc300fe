//! What a power cut loses: changes of names that no sync of their folder has followed, and content
//! that was not synced.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

/// A change of a folder.
pub enum Change {
    /// Of a file, a link or a folder.
    Create(PathBuf),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    RemoveFolder(PathBuf),
}

impl Change {
    /// Where it shows.
    pub fn path(&self) -> &Path {
        match self {
            Self::Create(path) | Self::Rename(_, path) | Self::Remove(path) | Self::RemoveFolder(path) => path,
        }
    }
}

/// A change that may be lost, with what it replaced or removed.
struct Pending {
    change: Change,
    before: Option<PathBuf>,
}

/// A file that was written to since it was synced, with its content at that time.
struct Dirty {
    file: File,
    before: Vec<u8>,
}

struct State {
    changes: Vec<Pending>,
    /// By device and inode.
    files: BTreeMap<(u64, u64), Dirty>,
    kept: usize,
}

static STATE: Mutex<State> = Mutex::new(State { changes: Vec::new(), files: BTreeMap::new(), kept: 0 });
static IS_CUT: AtomicBool = AtomicBool::new(false);
static CUTTER: Mutex<Option<ThreadId>> = Mutex::new(None);

/// Whether this thread is at work on the cut; every other waits for its end.
pub fn is_cut() -> bool {
    if IS_CUT.load(Ordering::SeqCst) {
        while *CUTTER.lock().unwrap() != Some(thread::current().id()) {
            thread::park();
        }
        return true;
    }
    false
}

fn state_folder() -> PathBuf {
    std::env::var_os("RENMA_FAULT_STATE").unwrap_or_default().into()
}

fn is_power() -> bool {
    std::env::var_os("RENMA_FAULT_KIND").is_some_and(|kind| kind == "power")
}

/// Does a change of names under the root, and remembers how to undo it.
pub fn recorded(root: Option<&Path>, change: Change, act: impl FnOnce() -> c_int) -> c_int {
    let in_root = root.is_some_and(|root| change.path().starts_with(root));
    if !in_root || !is_power() || is_cut() {
        return act();
    }
    let mut state = STATE.lock().unwrap();
    let replaced = if matches!(change, Change::Create(_)) { None } else { Some(change.path()) };
    let before = replaced.filter(|path| path.is_file()).and_then(|path| {
        state.kept += 1;
        let kept = state_folder().join(format!("{}-{}", std::process::id(), state.kept));
        fs::hard_link(path, &kept).ok().map(|()| kept)
    });
    let result = act();
    if 0 <= result {
        state.changes.push(Pending { change, before });
    }
    result
}

fn key(file: c_int) -> Option<(u64, u64)> {
    let metadata = fs::metadata(format!("/proc/self/fd/{file}")).ok()?;
    metadata.is_file().then(|| (metadata.dev(), metadata.ino()))
}

/// Remembers the content of a file before it is written to.
pub fn dirty(file: c_int) {
    remember(&PathBuf::from(format!("/proc/self/fd/{file}")));
}

/// The same for a file that is to be truncated.
pub fn truncated(path: &Path) {
    if is_power() {
        remember(path);
    }
}

fn remember(path: &Path) {
    if is_cut() {
        return;
    }
    let Ok(file) = File::options().read(true).write(true).open(path) else { return };
    let Some(key) = key(file.as_raw_fd()) else { return };
    let mut state = STATE.lock().unwrap();
    state.files.entry(key).or_insert_with(|| Dirty { before: fs::read(path).unwrap_or_default(), file });
}

/// A file or a folder is safe now.
pub fn synced(file: c_int, path: &Path) {
    if !is_power() || is_cut() {
        return;
    }
    let mut state = STATE.lock().unwrap();
    match key(file) {
        Some(key) => drop(state.files.remove(&key)),
        None => {
            state.changes.retain(|pending| pending.change.path().parent() != Some(path));
            // What has left a folder that is synced does not come back to it.
            for Pending { change, .. } in &mut state.changes {
                if let Change::Rename(from, to) = change
                    && from.parent() == Some(path)
                {
                    *change = Change::Create(to.clone());
                }
            }
        }
    }
}

/// The paths that a power cut would lose now.
pub fn unsynced() -> Vec<PathBuf> {
    let state = STATE.lock().unwrap();
    let names = state.changes.iter().filter(|pending| matches!(pending.change, Change::Create(_) | Change::Rename(..)));
    let files = state.files.values().filter_map(|dirty| fs::read_link(format!("/proc/self/fd/{}", dirty.file.as_raw_fd())).ok());
    names.map(|pending| pending.change.path().to_owned()).chain(files).filter(|path| path.exists()).collect()
}

/// Undoes what is lost.
pub fn cut(count: u64) {
    let mut state = STATE.lock().unwrap();
    *CUTTER.lock().unwrap() = Some(thread::current().id());
    IS_CUT.store(true, Ordering::SeqCst);
    let seed: u64 = std::env::var("RENMA_FAULT_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(0);
    let mut random = seed ^ count.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut below = |end: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % end
    };
    let first_lost = below(state.changes.len() + 1);
    for (index, Pending { change, before }) in state.changes.drain(first_lost..).enumerate().collect::<Vec<_>>().into_iter().rev() {
        // What lies in a folder that is lost is lost with it.
        let lost = state_folder().join(format!("lost-{}-{index}", std::process::id()));
        match &change {
            Change::Create(path) => drop(fs::rename(path, lost)),
            Change::Rename(from, to) => drop(fs::rename(to, from)),
            Change::RemoveFolder(path) => drop(fs::create_dir(path)),
            Change::Remove(_) => {}
        }
        if let Some(before) = before {
            fs::rename(before, change.path()).ok();
        }
    }
    for Dirty { file, before } in state.files.values() {
        let now = file.metadata().map_or(0, |metadata| metadata.len());
        match below(3) {
            0 => {
                file.set_len(0).ok();
                std::os::unix::fs::FileExt::write_all_at(file, before, 0).ok();
            }
            1 => drop(file.set_len((now + before.len() as u64) / 2)),
            _ => {}
        }
    }
}
