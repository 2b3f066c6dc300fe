//! Signals that the program was started to ignore.

use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::null;

/// Whether a signal is ignored.
pub fn is_ignored(signal: c_int) -> bool {
    let mut found = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: without a new action, the call only writes the one that is in force.
    let is_known = unsafe { libc::sigaction(signal, null(), found.as_mut_ptr()) } == 0;
    // SAFETY: the call has succeeded, and so written it.
    is_known && unsafe { found.assume_init() }.sa_sigaction == libc::SIG_IGN
}
