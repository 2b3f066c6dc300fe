//! Faults by call: a library that the test loads before the C library (LD_PRELOAD). It counts every
//! call that changes a file under a folder, over all threads and processes, and spoils one of them.
//! So every writer is seen, those of other crates too, and the program has no code for it.
//!
//! | variable | meaning |
//! |---|---|
//! | RENMA_FAULT_ROOT | the folder |
//! | RENMA_FAULT_STATE | another folder of the same file system, for the counter and for what a power cut brings back |
//! | RENMA_FAULT_AT | the call to spoil, counted from 1; 0 only counts |
//! | RENMA_FAULT_KIND | `eio`, `enospc`, `eintr`, `short`, `kill`; `power`: the process group is killed, and a part of what was not synced is lost; or `unsyncable`: from the call on, folders cannot be synced |
//! | RENMA_FAULT_SEED | chooses what a power cut loses |
//!
//! At its end the program writes what a power cut would lose then to `unsynced` in the folder of
//! the state.
//!
//! A power cut loses the latest changes of names, from any one on that no sync of the folder has
//! followed, and of each file that was not synced everything since, a half, or nothing.

#[path = "power.rs"]
mod power;

use power::Change;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

const AT_FDCWD: c_int = -100;
const AT_REMOVEDIR: c_int = 0x200;
const O_CREAT: c_int = 0o100;
const O_TRUNC: c_int = 0o1000;
const EINTR: c_int = 4;
const EIO: c_int = 5;
const EINVAL: c_int = 22;
const ENOSPC: c_int = 28;
const SIGKILL: c_int = 9;

unsafe extern "C" {
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn mmap(address: *mut c_void, size: usize, access: c_int, flags: c_int, file: c_int, offset: i64) -> *mut c_void;
    fn __errno_location() -> *mut c_int;
    fn kill(process: c_int, signal: c_int) -> c_int;
}

/// The C library's function of this name.
macro_rules! real {
    ($name:ident: $type:ty) => {{
        static FOUND: AtomicUsize = AtomicUsize::new(0);
        if FOUND.load(Ordering::Relaxed) == 0 {
            let next = usize::MAX as *mut c_void;
            FOUND.store(dlsym(next, concat!(stringify!($name), "\0").as_ptr().cast()) as usize, Ordering::Relaxed);
        }
        transmute::<usize, $type>(FOUND.load(Ordering::Relaxed))
    }};
}

/// What the environment asks for.
struct Plan {
    root: PathBuf,
    at: u64,
    kind: String,
    counter: &'static AtomicU64,
}

static PLAN: OnceLock<Option<Plan>> = OnceLock::new();

fn plan() -> Option<&'static Plan> {
    PLAN.get_or_init(|| {
        let text = |name: &str| std::env::var(format!("RENMA_FAULT_{name}")).ok();
        let counter = std::fs::File::options().read(true).write(true).open(format!("{}/counter", text("STATE")?)).ok()?;
        // SAFETY: the file has eight bytes, and its mapping stays.
        let counter = unsafe {
            let file = std::os::fd::AsRawFd::as_raw_fd(&counter);
            &*mmap(std::ptr::null_mut(), 8, 3, 1, file, 0).cast::<AtomicU64>()
        };
        Some(Plan { root: text("ROOT")?.into(), at: text("AT")?.parse().ok()?, kind: text("KIND")?, counter })
    })
    .as_ref()
}

/// What a call is, as far as faults differ.
#[derive(Clone, Copy, PartialEq)]
enum Call {
    /// Takes room, and may be interrupted.
    Data,
    /// Takes room: names.
    Name,
    /// Frees room, or takes none.
    Other,
}

/// What becomes of a call.
#[derive(PartialEq)]
enum Fate {
    Passes,
    Fails(c_int),
    IsShort,
}

/// Counts a call on a path, and spoils it if it is the one.
fn fate(call: Call, name: &str, path: &Path) -> Fate {
    let Some(plan) = plan().filter(|plan| path.starts_with(&plan.root) && !power::is_cut()) else { return Fate::Passes };
    let count = plan.counter.fetch_add(1, Ordering::SeqCst) + 1;
    let is_chosen = match plan.kind.as_str() {
        "unsyncable" => plan.at <= count && name == "fsync" && path.is_dir(),
        _ => plan.at == count,
    };
    if plan.at == 0 || !is_chosen {
        return Fate::Passes;
    }
    if let Ok(state) = std::env::var("RENMA_FAULT_STATE") {
        std::fs::write(format!("{state}/spoilt"), format!("{name} {}", path.display())).ok();
    }
    match (plan.kind.as_str(), call) {
        ("unsyncable", _) => Fate::Fails(EINVAL),
        ("eio", _) => Fate::Fails(EIO),
        ("enospc", Call::Data | Call::Name) => Fate::Fails(ENOSPC),
        ("eintr", Call::Data) => Fate::Fails(EINTR),
        ("short", Call::Data) => Fate::IsShort,
        ("kill" | "power", _) => {
            if plan.kind == "power" {
                power::cut(count);
            }
            // SAFETY: the test has put the processes into a group of their own.
            unsafe { kill(0, SIGKILL) };
            loop {
                std::thread::park();
            }
        }
        _ => Fate::Passes,
    }
}

/// Called when the program ends by itself.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = {
    extern "C" fn at_end() {
        let Ok(state) = std::env::var("RENMA_FAULT_STATE") else { return };
        let lines: String = power::unsynced().iter().map(|path| format!("{}\n", path.display())).collect();
        if let Ok(mut file) = std::fs::File::options().append(true).create(true).open(format!("{state}/unsynced")) {
            std::io::Write::write_all(&mut file, lines.as_bytes()).ok();
        }
    }
    at_end
};

fn fails(error: c_int) -> c_int {
    // SAFETY: the thread's own number.
    unsafe { *__errno_location() = error };
    -1
}

/// The path of an argument, without `.` and `..`.
unsafe fn absolute(folder: c_int, path: *const c_char) -> PathBuf {
    // SAFETY: as the C library takes it.
    let path = Path::new(std::ffi::OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    let base = if path.is_absolute() {
        PathBuf::new()
    } else if folder == AT_FDCWD {
        std::env::current_dir().unwrap_or_default()
    } else {
        path_of(folder)
    };
    let mut plain = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}

fn path_of(file: c_int) -> PathBuf {
    std::fs::read_link(format!("/proc/self/fd/{file}")).unwrap_or_default()
}

/// A call that changes names: its result, recorded for a power cut if it succeeds.
fn changing(name: &str, call: Call, change: Change, act: impl FnOnce() -> c_int) -> c_int {
    match fate(call, name, change.path()) {
        Fate::Fails(error) => fails(error),
        _ => power::recorded(plan().map(|plan| &*plan.root), change, act),
    }
}

/// A call that changes the content of a file.
fn writing(name: &str, file: c_int, size: usize, act: impl FnOnce(usize) -> isize) -> isize {
    let path = path_of(file);
    let fate = fate(Call::Data, name, &path);
    if let Fate::Fails(error) = fate {
        return fails(error) as isize;
    }
    if plan().is_some_and(|plan| plan.kind == "power" && path.starts_with(&plan.root)) {
        power::dirty(file);
    }
    act(if fate == Fate::IsShort { size.div_ceil(2) } else { size })
}

fn syncing(name: &str, file: c_int, act: impl FnOnce() -> c_int) -> c_int {
    let path = path_of(file);
    match fate(Call::Data, name, &path) {
        Fate::Fails(error) => fails(error),
        _ => {
            let result = act();
            if result == 0 {
                power::synced(file, &path);
            }
            result
        }
    }
}

unsafe fn opening(name: &str, folder: c_int, path: *const c_char, flags: c_int, act: impl FnOnce() -> c_int) -> c_int {
    if flags & (O_CREAT | O_TRUNC) == 0 {
        return act();
    }
    // SAFETY: as the C library takes it.
    let path = unsafe { absolute(folder, path) };
    if !path.exists() {
        return changing(name, Call::Data, Change::Create(path), act);
    }
    if flags & O_TRUNC == 0 {
        return act();
    }
    match fate(Call::Data, name, &path) {
        Fate::Fails(error) => fails(error),
        _ => {
            power::truncated(&path);
            act()
        }
    }
}

macro_rules! openers {
    ($($name:ident, $at:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
            unsafe { opening("open", AT_FDCWD, path, flags, || {
                real!($name: unsafe extern "C" fn(*const c_char, c_int, c_uint) -> c_int)(path, flags, mode)
            }) }
        }
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $at(folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
            unsafe { opening("open", folder, path, flags, || {
                real!($at: unsafe extern "C" fn(c_int, *const c_char, c_int, c_uint) -> c_int)(folder, path, flags, mode)
            }) }
        }
    )*};
}
openers! { open, openat; open64, openat64; }

#[unsafe(no_mangle)]
unsafe extern "C" fn write(file: c_int, bytes: *const c_void, size: usize) -> isize {
    writing("write", file, size, |size| unsafe {
        real!(write: unsafe extern "C" fn(c_int, *const c_void, usize) -> isize)(file, bytes, size)
    })
}

macro_rules! positioned {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(file: c_int, bytes: *const c_void, size: usize, place: i64) -> isize {
            writing("pwrite", file, size, |size| unsafe {
                real!($name: unsafe extern "C" fn(c_int, *const c_void, usize, i64) -> isize)(file, bytes, size, place)
            })
        }
    )*};
}
positioned! { pwrite pwrite64 }

/// A piece of `writev`.
#[repr(C)]
struct Piece {
    bytes: *const c_void,
    size: usize,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn writev(file: c_int, pieces: *const Piece, count: c_int) -> isize {
    // A short write takes half of the pieces.
    writing("writev", file, count as usize, |count| unsafe {
        real!(writev: unsafe extern "C" fn(c_int, *const Piece, c_int) -> isize)(file, pieces, count as c_int)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn copy_file_range(
    from: c_int, from_place: *mut i64, file: c_int, place: *mut i64, size: usize, flags: c_uint,
) -> isize {
    type Copy = unsafe extern "C" fn(c_int, *mut i64, c_int, *mut i64, usize, c_uint) -> isize;
    writing("copy_file_range", file, size, |size| unsafe {
        real!(copy_file_range: Copy)(from, from_place, file, place, size, flags)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sendfile64(file: c_int, from: c_int, place: *mut i64, size: usize) -> isize {
    type Send = unsafe extern "C" fn(c_int, c_int, *mut i64, usize) -> isize;
    writing("sendfile", file, size, |size| unsafe { real!(sendfile64: Send)(file, from, place, size) })
}

macro_rules! sizing {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(file: c_int, size: i64) -> c_int {
            writing("ftruncate", file, 0, |_| unsafe {
                real!($name: unsafe extern "C" fn(c_int, i64) -> c_int)(file, size) as isize
            }) as c_int
        }
    )*};
}
sizing! { ftruncate ftruncate64 }

macro_rules! syncers {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(file: c_int) -> c_int {
            syncing(stringify!($name), file, || unsafe { real!($name: unsafe extern "C" fn(c_int) -> c_int)(file) })
        }
    )*};
}
syncers! { fsync fdatasync }

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let change = unsafe { Change::Rename(absolute(AT_FDCWD, from), absolute(AT_FDCWD, to)) };
    changing("rename", Call::Name, change, || unsafe {
        real!(rename: unsafe extern "C" fn(*const c_char, *const c_char) -> c_int)(from, to)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn renameat(old: c_int, from: *const c_char, new: c_int, to: *const c_char) -> c_int {
    let change = unsafe { Change::Rename(absolute(old, from), absolute(new, to)) };
    type Rename = unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char) -> c_int;
    changing("rename", Call::Name, change, || unsafe { real!(renameat: Rename)(old, from, new, to) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn renameat2(old: c_int, from: *const c_char, new: c_int, to: *const c_char, flags: c_uint) -> c_int {
    let change = unsafe { Change::Rename(absolute(old, from), absolute(new, to)) };
    type Rename = unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char, c_uint) -> c_int;
    changing("rename", Call::Name, change, || unsafe { real!(renameat2: Rename)(old, from, new, to, flags) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn link(from: *const c_char, to: *const c_char) -> c_int {
    changing("link", Call::Name, Change::Create(unsafe { absolute(AT_FDCWD, to) }), || unsafe {
        real!(link: unsafe extern "C" fn(*const c_char, *const c_char) -> c_int)(from, to)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn linkat(old: c_int, from: *const c_char, new: c_int, to: *const c_char, flags: c_int) -> c_int {
    type Link = unsafe extern "C" fn(c_int, *const c_char, c_int, *const c_char, c_int) -> c_int;
    changing("link", Call::Name, Change::Create(unsafe { absolute(new, to) }), || unsafe {
        real!(linkat: Link)(old, from, new, to, flags)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    changing("unlink", Call::Other, Change::Remove(unsafe { absolute(AT_FDCWD, path) }), || unsafe {
        real!(unlink: unsafe extern "C" fn(*const c_char) -> c_int)(path)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    let removed = unsafe { absolute(folder, path) };
    let change = if flags & AT_REMOVEDIR == 0 { Change::Remove(removed) } else { Change::RemoveFolder(removed) };
    changing("unlink", Call::Other, change, || unsafe {
        real!(unlinkat: unsafe extern "C" fn(c_int, *const c_char, c_int) -> c_int)(folder, path, flags)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    changing("rmdir", Call::Other, Change::RemoveFolder(unsafe { absolute(AT_FDCWD, path) }), || unsafe {
        real!(rmdir: unsafe extern "C" fn(*const c_char) -> c_int)(path)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(path: *const c_char, mode: c_uint) -> c_int {
    changing("mkdir", Call::Name, Change::Create(unsafe { absolute(AT_FDCWD, path) }), || unsafe {
        real!(mkdir: unsafe extern "C" fn(*const c_char, c_uint) -> c_int)(path, mode)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn chmod(path: *const c_char, mode: c_uint) -> c_int {
    match fate(Call::Other, "chmod", &unsafe { absolute(AT_FDCWD, path) }) {
        Fate::Fails(error) => fails(error),
        _ => unsafe { real!(chmod: unsafe extern "C" fn(*const c_char, c_uint) -> c_int)(path, mode) },
    }
}
