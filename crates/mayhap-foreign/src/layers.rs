//! Several filters asked as one: the links of a chain, the row groups of a column.

use mayhap::Classic;
use mayhap::scheme::Scheme;

/// Whether any of the filters contains a hash: the first is asked for all of them, each further one for
/// those that none before it had. `answers` is cleared and filled, one answer a hash.
pub(crate) fn any_contains<'f, S: Scheme + 'f, B: AsRef<[u8]> + 'f>(
    filters: impl IntoIterator<Item = &'f Classic<S, B>>,
    hashes: &[S::Hash],
    answers: &mut Vec<bool>,
) {
    let mut filters = filters.into_iter();
    match filters.next() {
        Some(first) => first.contains_batch(hashes, answers),
        None => {
            answers.clear();
            answers.resize(hashes.len(), false);
        }
    }
    let Some(second) = filters.next() else { return };
    let mut open: Vec<usize> = (0..hashes.len()).filter(|i| !answers[*i]).collect();
    let (mut asked, mut found) = (Vec::new(), Vec::new());
    for filter in std::iter::once(second).chain(filters) {
        asked.clear();
        asked.extend(open.iter().map(|i| hashes[*i]));
        filter.contains_batch(&asked, &mut found);
        let mut hits = found.iter();
        open.retain(|i| {
            answers[*i] = hits.next() == Some(&true);
            !answers[*i]
        });
    }
}

/// The share of bits that are set, over all filters.
pub(crate) fn fill<'f, S: Scheme + 'f, B: AsRef<[u8]> + 'f>(
    filters: impl IntoIterator<Item = &'f Classic<S, B>>,
) -> f64 {
    let (set, all) = filters.into_iter().fold((0.0, 0.0), |(set, all), filter| {
        let bits = filter.shape().bits as f64;
        (set + filter.fill() * bits, all + bits)
    });
    set / all
}

/// How often any of the filters is wrong about a stranger.
pub(crate) fn fpr_now<'f, S: Scheme + 'f, B: AsRef<[u8]> + 'f>(
    filters: impl IntoIterator<Item = &'f Classic<S, B>>,
) -> f64 {
    // By logarithms: rates far below 1e-16 still add up.
    let right = filters.into_iter().map(|filter| (-filter.fpr_now()).ln_1p());
    // Not below zero, nor −0: an empty sum is −0.
    (-right.sum::<f64>().exp_m1()).max(0.0) + 0.0
}
