//! How the allocator of glibc keeps freed memory. By default it keeps blocks up to the largest that was ever freed, so that a run
//! of all stages would hold what each of them had needed. Other allocators decide for themselves.
#![cfg_attr(not(all(target_os = "linux", target_env = "gnu")), expect(unused, reason = "there is nothing to set"))]

/// Blocks of at least this many bytes are returned as soon as they are freed. Those of a training are smaller: returning them made
/// it take a tenth more time.
const LARGE_BLOCK: i32 = 4 << 20;

/// As much as this stays at the end of the heap until [`return_freed`] is called.
const KEPT: i32 = 64 << 20;

/// Threads share one heap: what others keep is not returned, and no hot loop allocates.
const HEAPS: i32 = 1;

/// Sets what is returned; the process has one thread yet.
pub(super) fn return_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, value) in
        [(libc::M_MMAP_THRESHOLD, LARGE_BLOCK), (libc::M_TRIM_THRESHOLD, KEPT), (libc::M_ARENA_MAX, HEAPS)]
    {
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
