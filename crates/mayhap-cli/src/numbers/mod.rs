//! Numbers as people write them and like to read them: one file a quantity.

mod count;
mod duration;
mod rate;
mod size;

pub use count::{count, grouped, plural, rounded};
pub use duration::{duration, duration_flag, human_duration};
pub use rate::{percent, rate, rate_flag};
pub use size::{bytes, size, size_flag};

use mayhap_store::quantity::{split_unit, whole};

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever is typed, there is an answer or an error.
    #[test]
    fn nonsense_is_refused_and_no_more() {
        let parts = [
            "", "1", "9e9", "e", "-", "+", ".", ",", "_", "%", "/", "é", "m", "MiB", "∞", " ", "\0",
        ];
        for a in parts {
            for b in parts {
                for c in parts {
                    let text = format!("{a}{b}{c}");
                    _ = (count(&text), rate(&text), size(&text), duration(&text));
                }
            }
        }
    }
}
