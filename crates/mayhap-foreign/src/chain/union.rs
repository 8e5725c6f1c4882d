//! One chain takes in another.

use super::{Chain, GrowthRule, Layer};
use crate::ForeignError;

impl<R: GrowthRule> Chain<R> {
    /// Take in everything the other chain holds. Both must hash alike, and filters must be alike as far
    /// as both have them, as those of chains made by the same command are; what the other has more is
    /// appended.
    pub fn union<C: AsRef<[u8]>>(&mut self, other: &Chain<R, C>) -> Result<(), ForeignError> {
        self.rule.check_hashes_as(&other.rule)?;
        for (ours, theirs) in self.layers.iter().zip(&other.layers) {
            R::check_laid_out_as(&ours.info, &theirs.info)?;
        }
        // Memory first: a refusal must leave everything as it was.
        let more = other.layers.iter().skip(self.layers.len());
        let more = more.map(|theirs| theirs.copied(&self.rule)).collect::<Result<Vec<_>, _>>()?;
        for (ours, theirs) in self.layers.iter_mut().zip(&other.layers) {
            ours.union(theirs)?;
        }
        self.layers.extend(more);
        Ok(())
    }
}

impl<R: GrowthRule> Layer<R> {
    fn union<C: AsRef<[u8]>>(&mut self, other: &Layer<R, C>) -> Result<(), ForeignError> {
        self.filter.union(&other.filter)?;
        // How many keys of both are the same only the bits can tell, nearly.
        let (ours, theirs) = (self.items(), other.items());
        let both = self.filter.estimate().clamp(ours.max(theirs), ours.saturating_add(theirs));
        self.info = R::with_items(&self.info, both);
        Ok(())
    }
}
