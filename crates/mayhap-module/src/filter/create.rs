//! What a new filter is to be like, and how the command that creates it on a replica is spelled.

use super::{Filter, Part};
use crate::{CommandError, Settings};
use mayhap::sizing::{BlockedShape, ClassicShape, Layer, QuotientShape, WindowedShape};
use mayhap::{AnyFilter, Blocked, Classic, Quotient, Scalable, Secret, Spec, Window, Windowed};
use mayhap_foreign::redisbloom::{Chain, Scaling};

/// Whether a filter grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Its capacity is multiplied by this.
    By(u32),
    /// It is full when it is full.
    Fixed,
    /// By what is usual for its kind: nobody said anything.
    Usual,
}

impl Scale {
    /// Of an expansion as commands and settings spell it: 0 is none.
    pub fn of(expansion: u32) -> Scale {
        if expansion == 0 { Scale::Fixed } else { Scale::By(expansion) }
    }

    /// The factor for a filter of this kind; `None` if it does not grow.
    fn factor(self, shape: Shape) -> Option<u32> {
        match self {
            Scale::By(expansion) => Some(expansion),
            Scale::Fixed => None,
            Scale::Usual if shape == Shape::Compat => Some(Settings::COMPAT_EXPANSION),
            Scale::Usual => Some(Settings::USUAL_EXPANSION),
        }
    }
}

/// The kind of a new filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Cache lines; the default.
    Blocked,
    /// The textbook's.
    Classic,
    /// Fingerprints, for items that are removed again.
    Quotient,
    /// Forgets.
    Windowed(Window),
    /// RedisBloom's own scheme.
    Compat,
}

/// All parameters of a new filter. Equal ones make equal filters everywhere.
#[derive(Clone, Copy, Debug)]
pub struct CreateSpec {
    /// The rate.
    pub fpr: f64,
    /// The items it is made for, or begins with.
    pub capacity: u64,
    /// Whether it grows.
    pub scale: Scale,
    /// The kind.
    pub shape: Shape,
    /// The secret it hashes under. RedisBloom's scheme has none.
    pub secret: Secret,
}

impl CreateSpec {
    /// As the settings have it.
    pub fn by(settings: &Settings, secret: Secret) -> CreateSpec {
        CreateSpec {
            fpr: settings.error_rate,
            capacity: settings.initial_size,
            scale: settings.expansion.map_or(Scale::Usual, Scale::of),
            shape: if settings.compat { Shape::Compat } else { Shape::Blocked },
            secret,
        }
    }

    fn spec(&self) -> Result<Spec, CommandError> {
        Ok(Spec::new(self.capacity, self.fpr)?.with_secret(self.secret))
    }

    /// The engine's growth factors begin at 2 and end at 1024.
    fn growth(expansion: u32) -> u32 {
        expansion.clamp(2, 1024)
    }

    /// What its capacity is multiplied by when it is full; `None` if it does not grow.
    pub fn factor(&self) -> Option<u32> {
        self.scale.factor(self.shape)
    }

    /// About the bytes it takes, in numbers that cannot overflow.
    pub fn bytes(&self) -> Result<f64, CommandError> {
        let (spec, capacity) = (self.spec()?, self.capacity);
        let bits = match (self.shape, self.factor()) {
            (Shape::Blocked, Some(_)) => Layer::first(capacity, self.fpr).shape.bits() as f64,
            (Shape::Blocked, None) => BlockedShape::for_fpr(capacity, spec.fpr()).bits() as f64,
            (Shape::Classic, _) => ClassicShape::for_fpr(capacity, self.fpr).bits as f64,
            (Shape::Quotient, factor) => {
                QuotientShape::for_growth(capacity, self.fpr, doublings(factor)).bits() as f64
            }
            (Shape::Windowed(window), _) => {
                // Checked here, because sizing believes what it is told.
                if !(1..=1024).contains(&window.generations()) {
                    return Err(CommandError::text("ERR GENERATIONS must be 1 to 1024"));
                }
                let sized = match window.ticks() {
                    Some(_) => WindowedShape::for_time,
                    None => WindowedShape::for_fpr,
                };
                sized(capacity, self.fpr, window.generations()).bits() as f64
            }
            (Shape::Compat, _) => {
                let bits_per_entry = (self.fpr / 2.0).ln().abs() / std::f64::consts::LN_2.powi(2);
                capacity as f64 * bits_per_entry
            }
        };
        Ok(bits / 8.0)
    }

    /// The filter, if it fits into `room_bytes`.
    pub fn make(&self, room_bytes: u64) -> Result<Filter, CommandError> {
        if self.bytes()? > room_bytes as f64 {
            return Err(CommandError::NO_MEMORY);
        }
        let spec = self.spec()?;
        let native: AnyFilter = match (self.shape, self.factor()) {
            (Shape::Blocked, Some(expansion)) => {
                Scalable::new(spec)?.with_growth(CreateSpec::growth(expansion))?.into()
            }
            (Shape::Blocked, None) => Blocked::new(spec)?.into(),
            (Shape::Classic, _) => Classic::new(spec)?.into(),
            (Shape::Quotient, factor) => {
                let mut filter = Quotient::with_growth(spec, doublings(factor))?;
                filter.set_auto_grow(factor.is_some());
                filter.into()
            }
            (Shape::Windowed(window), _) => Windowed::new(spec, window)?.into(),
            (Shape::Compat, factor) => {
                let scaling = factor.map_or(Scaling::Fixed, Scaling::By);
                return Ok(Filter::new(Part::Compat(Chain::reserve(
                    self.capacity,
                    self.fpr,
                    scaling,
                )?)));
            }
        };
        Ok(Filter::new(Part::Native(native)))
    }

    /// The words after the key of the `RESERVE` that makes the same filter anywhere, whatever is
    /// set there.
    pub fn words(&self) -> Vec<Vec<u8>> {
        // Rust spells a double so that reading it gives the same double.
        let mut words = vec![self.fpr.to_string().into(), self.capacity.to_string().into()];
        let mut say = |word: &str| words.push(word.as_bytes().to_vec());
        match self.factor() {
            Some(_) if self.shape == Shape::Classic => {}
            Some(_) if matches!(self.shape, Shape::Windowed(_)) => {}
            Some(expansion) => {
                say("EXPANSION");
                say(&expansion.to_string());
            }
            None => say("NONSCALING"),
        }
        match self.shape {
            Shape::Compat => {
                say("COMPAT");
                return words;
            }
            Shape::Blocked => ["KIND", "blocked"].into_iter().for_each(&mut say),
            Shape::Classic => ["KIND", "classic"].into_iter().for_each(&mut say),
            Shape::Quotient => ["KIND", "quotient"].into_iter().for_each(&mut say),
            Shape::Windowed(window) => {
                ["KIND", "windowed"].into_iter().for_each(&mut say);
                match window.ticks() {
                    Some(ms) => {
                        say("WINDOW");
                        say(&format!("{}.{:03}", ms / 1000, ms % 1000));
                    }
                    None => {
                        say("LAST");
                        say(&self.capacity.to_string());
                    }
                }
                say("GENERATIONS");
                say(&window.generations().to_string());
            }
        }
        say("SECRET");
        say(&self.secret.to_hex());
        words
    }
}

/// How often a quotient filter that grows is expected to double: with sixteen times the items it still
/// has the rate it was asked for. Each costs a bit per item.
fn doublings(factor: Option<u32>) -> u32 {
    if factor.is_some() { 4 } else { 0 }
}
