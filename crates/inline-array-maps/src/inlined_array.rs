//! Arrays from closures that are always compiled next to their caller.
//!
//! In Rust 1.95, [`core::array::from_fn`] and `array::map` call their closure through a function
//! that is not `#[inline]`. With more than one codegen unit, which is cargo's default, rustc puts
//! all those functions into a unit of their own. A closure too large for LLVM to import from there
//! stays a call for each element, with its result passed through memory; whether it does changes
//! with unrelated code, as units are merged by size. Closures are copied into each unit that uses
//! them, so that calling one directly is enough.

use core::mem::{ManuallyDrop, MaybeUninit, transmute_copy};
use core::ptr;

/// `[f(0), f(1), .., f(N - 1)]`, as [`core::array::from_fn`] makes it.
///
/// If `f` panics, what it has returned before is not dropped.
#[inline(always)]
#[must_use]
pub fn array_from_fn<T, const N: usize>(mut f: impl FnMut(usize) -> T) -> [T; N] {
    let mut array = [const { MaybeUninit::uninit() }; N];
    for (i, element) in array.iter_mut().enumerate() {
        element.write(f(i));
    }
    // SAFETY: the loop has written every element, and `[MaybeUninit<T>; N]` has the layout of
    // `[T; N]`.
    unsafe { transmute_copy::<_, [T; N]>(&array) }
}

/// `f` of each element in turn, as `array.map(f)` makes it.
///
/// If `f` panics, neither what it has returned before nor the elements it has not seen are dropped.
#[inline(always)]
#[must_use]
pub fn array_map<T, U, const N: usize>(array: [T; N], mut f: impl FnMut(T) -> U) -> [U; N] {
    let array = ManuallyDrop::new(array);
    array_from_fn(|i| {
        // SAFETY: the reference is valid for reads. `array_from_fn` passes each index once and
        // `array` drops no element, so that this is the only owner of the element.
        f(unsafe { ptr::read(&array[i]) })
    })
}

#[cfg(test)]
mod tests {
    use alloc::rc::Rc;
    use alloc::string::{String, ToString};
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn from_fn_calls_in_order() {
        let mut calls = Vec::new();
        let array: [String; 5] = array_from_fn(|i| {
            calls.push(i);
            i.to_string()
        });
        assert_eq!(array, ["0", "1", "2", "3", "4"]);
        assert_eq!(calls, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn map_calls_in_order() {
        let mut calls = Vec::new();
        let array = array_map([3_u8, 1, 2], |x| {
            calls.push(x);
            vec![x; usize::from(x)]
        });
        assert_eq!(array, [vec![3, 3, 3], vec![1], vec![2, 2]]);
        assert_eq!(calls, [3, 1, 2]);
    }

    /// An element dropped twice, or never, changes the count.
    #[test]
    fn map_moves_each_element_once() {
        let owner = Rc::new(());
        let array: [Rc<()>; 3] = array_from_fn(|_| Rc::clone(&owner));
        assert_eq!(Rc::strong_count(&owner), 4);
        let kept = array_map(array, |element| (element, 1));
        assert_eq!(Rc::strong_count(&owner), 4);
        let dropped = array_map(kept, |(element, one)| {
            drop(element);
            one
        });
        assert_eq!(Rc::strong_count(&owner), 1);
        assert_eq!(dropped, [1, 1, 1]);
    }

    #[test]
    fn empty_arrays_call_nothing() {
        let array: [String; 0] = array_from_fn(|_| unreachable!());
        let array: [u8; 0] = array_map(array, |_| unreachable!());
        assert!(array.is_empty());
    }

    #[test]
    fn elements_without_size_are_counted() {
        let mut calls = 0;
        let array: [(); 7] = array_from_fn(|_| calls += 1);
        let _: [(); 7] = array_map(array, |()| calls += 1);
        assert_eq!(calls, 14);
    }
}
