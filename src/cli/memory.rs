//! The end of the program when memory runs out, and what glibc keeps of freed memory.
//! By default it keeps blocks up to the largest that was ever freed, so that a run of all stages
//! would hold what each of them had needed. Other allocators decide for themselves.
#![cfg_attr(
    not(all(target_os = "linux", target_env = "gnu")),
    expect(unused, reason = "there is nothing to set")
)]

use super::output::IS_JSON;
use crate::exit_code;
use rustix::stdio::{stderr, stdout};
use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Arguments;
use std::hint::black_box;
use std::io::{Cursor, Write};
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The allocator of the system, but the program ends where it has no memory, with a message and the
/// code of a full disk. Room is taken everywhere, in libraries too, and no work can continue
/// without it. Files are left as by a kill.
pub struct Allocator;

// SAFETY: the system's allocator does it all, and a call that fails does not return.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        given(unsafe { System.realloc(block, layout, size) }, size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline]
fn given(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() {
        end_without_memory(size)
    } else {
        block
    }
}

/// Whether there is a block of this size, for which the program would end without one.
pub(super) fn has_room(size: u64) -> bool {
    let Some(layout) = usize::try_from(size)
        .ok()
        .and_then(|size| Layout::array::<u8>(size.max(1)).ok())
    else {
        return false;
    };
    // SAFETY: the size is not 0.
    let block = black_box(unsafe { System.alloc(layout) });
    if block.is_null() {
        return false;
    }
    // SAFETY: it is the block of this layout, and nobody else has it.
    unsafe { System.dealloc(block, layout) };
    true
}

/// Ends the program, without any room to say so. Files that have no name yet are swept by the next
/// command.
#[cold]
fn end_without_memory(size: usize) -> ! {
    static IS_ENDING: AtomicBool = AtomicBool::new(false);
    const REMEDY: &str = "lower --threads or --memory, or let the program have more";
    while IS_ENDING.swap(true, Ordering::Relaxed) {
        // The thread that was first ends all.
        std::thread::sleep(Duration::from_secs(1));
    }
    let (what, code) = ("there is not enough memory", exit_code::TRY_AGAIN);
    write(
        stderr(),
        format_args!("error: {what} for another {size} bytes\n{REMEDY}\n"),
    );
    if IS_JSON.load(Ordering::Relaxed) {
        let message = format_args!("{what} for another {size} bytes");
        write(
            stdout(),
            format_args!(
                "{{\"error\":{{\"causes\":[],\"code\":{code},\"message\":\"{message}\",\"remedy\":\"{REMEDY}\"}}}}\n"
            ),
        );
    }
    // SAFETY: it only ends the process, and runs nothing that could need memory.
    unsafe { libc::_exit(code.into()) }
}

fn write(stream: BorrowedFd<'_>, text: Arguments<'_>) {
    let mut bytes = Cursor::new([0; 512]);
    // A longer text is cut, and a closed stream has no reader.
    bytes.write_fmt(text).unwrap_or_default();
    let end = bytes.position() as usize;
    rustix::io::write(stream, &bytes.get_ref()[..end]).unwrap_or_default();
}

/// Blocks of at least this many bytes are returned as soon as they are freed. Those of a training
/// are smaller: returning them made it take a tenth more time.
const LARGE_BLOCK: i32 = 4 << 20;

/// As much as this stays at the end of the heap until [`return_freed`] is called.
const KEPT: i32 = 64 << 20;

/// Threads share one heap: what others keep is not returned, and no hot loop allocates.
const HEAPS: i32 = 1;

/// Sets what is returned; the process has one thread yet.
pub(super) fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in [
        (libc::M_MMAP_THRESHOLD, LARGE_BLOCK),
        (libc::M_TRIM_THRESHOLD, KEPT),
        (libc::M_ARENA_MAX, HEAPS),
    ] {
        // SAFETY: `mallopt` takes any two numbers, and no other thread allocates meanwhile.
        unsafe { libc::mallopt(parameter, value) };
    }
}

/// Returns all that is free.
pub(super) fn return_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `malloc_trim` gives back free memory only, whichever threads allocate meanwhile.
    unsafe {
        libc::malloc_trim(0);
    }
}
