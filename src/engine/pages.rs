//! Large memory that is read at random: zeros that cost nothing before they are touched, on pages
//! of 2 MiB where the system has them.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The size of a huge page on x86-64, and the alignment of whatever is at least as large.
const HUGE_PAGE: usize = 2 << 20;

/// A type whose values may be zeros in every byte.
///
/// # Safety
///
/// Zeros in every byte are a valid value, and dropping one does nothing.
pub unsafe trait Zeroed {}

// SAFETY: a number without invalid values.
unsafe impl Zeroed for i16 {}
// SAFETY: the same.
unsafe impl Zeroed for i32 {}

/// A slice of a fixed length.
///
/// A `Vec` of an aligned type is cleared when it is made, by one thread and on small pages. The
/// system clears these pages when they are first touched.
#[derive(Debug)]
pub struct Pages<T> {
    memory: NonNull<u8>,
    layout: Layout,
    values: NonNull<T>,
    length: usize,
}

// SAFETY: the memory belongs to this value alone.
unsafe impl<T: Send> Send for Pages<T> {}
// SAFETY: a shared reference gives shared references of values only.
unsafe impl<T: Sync> Sync for Pages<T> {}

impl<T: Zeroed> Pages<T> {
    /// `length` zeros, at least one.
    pub fn zeros(length: usize) -> Self {
        let size = length * size_of::<T>();
        assert!(size != 0 && size_of::<T>().is_multiple_of(align_of::<T>()));
        let alignment = if HUGE_PAGE <= size {
            HUGE_PAGE
        } else {
            align_of::<T>()
        };
        // The allocator clears memory of a greater alignment itself, so the rest is skipped here.
        let layout = Layout::array::<u128>((size + alignment).div_ceil(size_of::<u128>()))
            .unwrap_or_else(|_| panic!("{size} bytes are more than a process can have"));
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(memory) = NonNull::new(memory) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the memory has `alignment` bytes more than are used.
        let values = unsafe { memory.add(memory.align_offset(alignment)) };
        prefer_huge_pages(values, size);
        Self {
            memory,
            layout,
            values: values.cast(),
            length,
        }
    }
}

impl<T: Zeroed + Copy> Clone for Pages<T> {
    fn clone(&self) -> Self {
        let mut other = Self::zeros(self.length);
        other.copy_from_slice(self);
        other
    }
}

impl<T> Deref for Pages<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: `zeros` made as many valid values here.
        unsafe { NonNull::slice_from_raw_parts(self.values, self.length).as_ref() }
    }
}

impl<T> DerefMut for Pages<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed alone.
        unsafe { NonNull::slice_from_raw_parts(self.values, self.length).as_mut() }
    }
}

impl<T> Drop for Pages<T> {
    fn drop(&mut self) {
        // SAFETY: `zeros` allocated it with this layout, and `Zeroed` values need no drop.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// Asks for huge pages, of which a process needs few entries in the processor's table of pages. The
/// values stay as they are, and a system without huge pages ignores the request.
fn prefer_huge_pages(begin: NonNull<u8>, size: usize) {
    #[cfg(target_os = "linux")]
    if HUGE_PAGE <= size {
        use rustix::mm::{Advice, madvise};
        // SAFETY: whole pages of memory that was just allocated.
        let _: Result<(), _> = unsafe {
            madvise(
                begin.as_ptr().cast(),
                size & !(HUGE_PAGE - 1),
                Advice::LinuxHugepage,
            )
        };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (begin, size);
}

/// Asks the processor to load a value that will be read soon.
#[inline(always)]
pub fn prefetch<T>(values: &[T], index: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch has no effect that a program can see, whatever the address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().wrapping_add(index).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (values, index);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    #[repr(align(64))]
    struct Line([u64; 8]);

    // SAFETY: numbers without invalid values.
    unsafe impl Zeroed for Line {}

    #[test]
    fn pages_are_aligned_zeros_that_keep_what_is_written() {
        for length in [1, 3, 1 << 15, (1 << 15) + 1, 100_000] {
            let mut pages = Pages::<Line>::zeros(length);
            assert_eq!(pages.len(), length);
            let alignment = if length < 1 << 15 { 64 } else { HUGE_PAGE };
            assert!(pages.as_ptr().addr().is_multiple_of(alignment));
            assert!(pages.iter().all(|line| *line == Line([0; 8])));
            for (index, line) in pages.iter_mut().enumerate() {
                line.0 = [index as u64; 8];
            }
            assert!((0..length).all(|index| pages[index] == Line([index as u64; 8])));
        }
    }
}
