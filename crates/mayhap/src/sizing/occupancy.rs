//! Balls in bins: how full an array is after so many random probes, and how often a stranger
//! finds all of its own probes set.

/// The chance that `probes` uniform draws all hit set bits, in an array of `bins` bits into which
/// `balls` uniform draws were set.
///
/// The mean fill alone underrates this: x^k is convex, and in a 512-bit line the fill varies
/// enough to cost 1% of the rate. So the variance of the fill enters, to second order; what is
/// left out is below 0.1% of the result (a test compares with the exact distribution).
pub(super) fn all_set(bins: f64, balls: f64, probes: u32) -> f64 {
    if balls <= 0.0 {
        return 0.0;
    }
    let clear = (balls * (-1.0 / bins).ln_1p()).exp();
    let both_clear = if bins > 2.0 { (balls * (-2.0 / bins).ln_1p()).exp() } else { 0.0 };
    let fill = 1.0 - clear;
    let variance = (1.0 - 1.0 / bins) * both_clear + clear / bins - clear * clear;
    let k = f64::from(probes);
    let convexity = k * (k - 1.0) / 2.0 * variance.max(0.0);
    (fill.powf(k) + fill.powf(k - 2.0) * convexity).clamp(0.0, 1.0)
}

/// Averages `f(load)` over the loads of one bin when `balls` land in `bins` at random: the exact
/// binomial mixture, summed outwards from its peak until the terms no longer count.
pub(super) fn over_loads(balls: f64, bins: f64, mut f: impl FnMut(u64) -> f64) -> f64 {
    let mean = balls / bins;
    // One bin holds everything; and bins this full are as good as equal (their spread is below
    // half a percent, their lines set to the last bit).
    if bins <= 1.0 || mean > 65_536.0 {
        return f(mean as u64);
    }
    let odds = 1.0 / (bins - 1.0);
    let peak = ((balls + 1.0) / bins).floor().min(balls);
    let (mut sum, mut total) = (0.0, 0.0);
    let mut weight = 1.0;
    let mut load = peak;
    while load <= balls && weight > 1e-15 {
        sum += weight * f(load as u64);
        total += weight;
        weight *= (balls - load) / (load + 1.0) * odds;
        load += 1.0;
    }
    weight = 1.0;
    load = peak;
    while load > 0.0 && weight > 1e-15 {
        weight *= load / ((balls - load + 1.0) * odds);
        load -= 1.0;
        sum += weight * f(load as u64);
        total += weight;
    }
    sum / total
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact chance, from the distribution of the number of set bits ball by ball.
    fn exact(bins: usize, balls: usize, probes: u32) -> f64 {
        let mut occupied = vec![0.0; bins + 1];
        occupied[0] = 1.0;
        for _ in 0..balls {
            for set in (0..=bins).rev() {
                let stay = occupied[set] * set as f64 / bins as f64;
                let come = match set {
                    0 => 0.0,
                    _ => occupied[set - 1] * (bins - set + 1) as f64 / bins as f64,
                };
                occupied[set] = stay + come;
            }
        }
        let hit = |set: usize| (set as f64 / bins as f64).powi(probes as i32);
        occupied.iter().enumerate().map(|(set, chance)| chance * hit(set)).sum()
    }

    #[test]
    fn the_second_order_is_enough() {
        for (balls, probes) in [(52 * 6, 6), (30 * 6, 6), (90 * 6, 6), (66 * 5, 5), (40 * 9, 9)] {
            let (got, want) = (all_set(512.0, balls as f64, probes), exact(512, balls, probes));
            assert!((got / want - 1.0).abs() < 1e-3, "{balls} balls: {got} against {want}");
        }
    }

    #[test]
    fn the_mean_fill_alone_would_not_be_enough() {
        let mean_only = (1.0 - (1.0 - 1.0 / 512.0f64).powi(312)).powi(6);
        assert!(exact(512, 312, 6) / mean_only > 1.008);
    }

    #[test]
    fn loads_are_averaged_over_the_binomial() {
        let mean = over_loads(1000.0, 7.0, |load| load as f64);
        assert!((mean - 1000.0 / 7.0).abs() < 1e-9, "{mean}");
        let square = over_loads(1000.0, 7.0, |load| (load * load) as f64);
        let variance = square - mean * mean;
        assert!((variance - 1000.0 * 6.0 / 49.0).abs() < 1e-6, "{variance}");
        assert_eq!(over_loads(5.0, 1.0, |load| load as f64), 5.0);
        assert_eq!(over_loads(0.0, 9.0, |load| load as f64), 0.0);
    }
}
