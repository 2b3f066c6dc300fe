//! Features mapped in plain code, which the fast backends are tested against.

#[inline(always)]
pub fn map(indices: &[u16], offsets: &[u32], map: &[u32], mapped: &mut [u32]) {
    for ((mapped, &index), &offset) in mapped.iter_mut().zip(indices).zip(offsets) {
        *mapped = map[offset as usize + usize::from(index)];
    }
}
