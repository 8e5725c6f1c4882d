//! Many keys, a piece at a time: so few that their hashes and answers stay in the nearest cache between
//! being made and being used.

use mayhap::scheme::Scheme;
use std::convert::Infallible;

/// Keys hashed before the first of them is looked for. Measured flat from 256 to 4,096.
const CHUNK: usize = 1024;

/// Hash the keys and take their hashes in: `answers` is cleared and filled by what `take` gives of each
/// piece, and ends with the first piece that fails.
pub(crate) fn try_each<K, H, E>(
    keys: &[K],
    answers: &mut Vec<bool>,
    hash: impl Fn(&[K], &mut Vec<H>),
    mut take: impl FnMut(&[H], &mut Vec<bool>) -> Result<(), E>,
) -> Result<(), E> {
    let (mut hashes, mut found) = (Vec::new(), Vec::new());
    answers.clear();
    for keys in keys.chunks(CHUNK) {
        hash(keys, &mut hashes);
        let taken = take(&hashes, &mut found);
        answers.extend_from_slice(&found);
        taken?;
    }
    Ok(())
}

/// The same where nothing can fail.
pub(crate) fn each<K, H>(
    keys: &[K],
    answers: &mut Vec<bool>,
    hash: impl Fn(&[K], &mut Vec<H>),
    mut take: impl FnMut(&[H], &mut Vec<bool>),
) {
    let Ok(()) = try_each(keys, answers, hash, |hashes, found| {
        take(hashes, found);
        Ok::<_, Infallible>(())
    });
}

/// Gather keys for `ask`: `answers` is cleared and filled by what it gives of each piece.
pub(crate) fn of_slices<'k>(
    keys: impl IntoIterator<Item = &'k [u8]>,
    answers: &mut Vec<bool>,
    mut ask: impl FnMut(&[&'k [u8]], &mut Vec<bool>),
) {
    let (mut piece, mut found) = (Vec::with_capacity(CHUNK), Vec::new());
    let mut keys = keys.into_iter();
    answers.clear();
    loop {
        piece.clear();
        piece.extend(keys.by_ref().take(CHUNK));
        if piece.is_empty() {
            return;
        }
        ask(&piece, &mut found);
        answers.extend_from_slice(&found);
    }
}

/// Hash keys one by one: `hashes` is cleared and filled.
#[inline]
pub(crate) fn hash_each<S: Scheme>(
    scheme: &S,
) -> impl Fn(&[&[u8]], &mut Vec<S::Hash>) + use<'_, S> {
    |keys, hashes| {
        hashes.clear();
        hashes.extend(keys.iter().map(|key| scheme.hash_bytes(key)));
    }
}
