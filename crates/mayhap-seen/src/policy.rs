//! What a list remembers, and for how long: validated once, here.

use std::fmt;
use std::str::FromStr;

/// Whole seconds: a duration, or a time since 1970.
pub type Seconds = u64;

const DAY: Seconds = 86_400;

/// How much of each owner's past is kept.
///
/// A list is a row of slices, the newest first. New ids go into the newest; when it is full (or,
/// for windows of time, when its period is over) a new one begins, and if there are too many the
/// oldest is dropped. The whole list expires when nothing new came for the idle time.
///
/// The rate is the false-positive rate of a full list: the chance to take an unseen id for a seen
/// one, over *all* slices together. A list that is not full has a proportionally lower rate.
///
/// ```
/// use mayhap_seen::Policy;
/// let policy: Policy = "slices=5,ids=1000,rate=0.001,idle=5d".parse()?;
/// assert_eq!(policy, Policy::default());
/// let ninety_days: Policy = "slices=4,every=30d,ids=2000".parse()?;
/// assert_eq!(ninety_days.every(), Some(30 * 86_400));
/// assert!("slices=0".parse::<Policy>().is_err());
/// # Ok::<(), mayhap_seen::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policy {
    slices: u32,
    ids: u32,
    rate: f64,
    every: Option<Seconds>,
    idle: Option<Seconds>,
    exact: u32,
    owner_bytes: usize,
}

impl Default for Policy {
    /// Five slices of a thousand ids, a false-positive rate of 0.1%, five idle days.
    fn default() -> Policy {
        Policy {
            slices: 5,
            ids: 1000,
            rate: 0.001,
            every: None,
            idle: Some(5 * DAY),
            exact: 24,
            owner_bytes: 1,
        }
    }
}

/// Maximum slices of a policy.
pub const MAX_SLICES: u32 = 64;
/// Maximum ids of a slice.
pub const MAX_IDS: u32 = 1_000_000;
const MIN_RATE: f64 = 1e-9;
/// Durations beyond this (about 30,000 years) are mistakes, and would overflow sums.
const MAX_SECONDS: Seconds = 1 << 40;

impl Policy {
    /// Slices by count: at most `slices` of them, of `ids` ids each, at this false-positive rate.
    pub fn by_count(slices: u32, ids: u32, rate: f64) -> Result<Policy, PolicyError> {
        Policy { slices, ids, rate, ..Policy::default() }.checked()
    }

    /// Slices by time: one for each period of `every` seconds, the last `slices` periods kept.
    ///
    /// An id lives for `slices − 1` to `slices` periods. `ids` is how many are expected in a
    /// period; where more come the period takes further, ever more exact slices, so the rate
    /// holds. The idle time is the whole window.
    pub fn by_time(
        slices: u32,
        every: Seconds,
        ids: u32,
        rate: f64,
    ) -> Result<Policy, PolicyError> {
        let idle = Some(every.saturating_mul(slices.into()));
        Policy { slices, ids, rate, every: Some(every), idle, ..Policy::default() }.checked()
    }

    /// Expire a list this long after its last new id; `None` is never.
    pub fn with_idle(self, idle: Option<Seconds>) -> Result<Policy, PolicyError> {
        Policy { idle, ..self }.checked()
    }

    /// Keep up to this many ids of a slice as whole 64-bit hashes.
    ///
    /// The chance of an error is then about 10⁻¹⁸ for owners who have seen little, at 8 bytes an
    /// id. With 0 every id is short from the beginning: 20 ids cost about 70 bytes instead of 180.
    pub fn with_exact(self, exact: u32) -> Result<Policy, PolicyError> {
        Policy { exact, ..self }.checked()
    }

    /// Reject owners with fewer bytes: an empty name is a caller's bug, not a user.
    pub fn with_owner_bytes(self, at_least: usize) -> Policy {
        Policy { owner_bytes: at_least, ..self }
    }

    /// Maximum slices (periods, for windows of time).
    pub fn slices(&self) -> u32 {
        self.slices
    }

    /// The capacity of a slice, in ids.
    pub fn ids(&self) -> u32 {
        self.ids
    }

    /// The false-positive rate of a full list.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The period of a slice, for windows of time.
    pub fn every(&self) -> Option<Seconds> {
        self.every
    }

    /// How long after its last new id a list expires.
    pub fn idle(&self) -> Option<Seconds> {
        self.idle
    }

    /// How many ids of a slice are kept as whole hashes.
    pub fn exact(&self) -> u32 {
        self.exact
    }

    /// Minimum bytes of an owner's name.
    pub fn owner_bytes(&self) -> usize {
        self.owner_bytes
    }

    /// Fingerprints of a slice are in `0..range`: an absent id collides with one of `slices × ids`
    /// of them at exactly the policy's rate.
    pub(crate) fn range(&self) -> u64 {
        let all = f64::from(self.slices) * f64::from(self.ids);
        (all / self.rate).ceil() as u64
    }

    fn checked(self) -> Result<Policy, PolicyError> {
        let refuse = |what, got: String, allowed| Err(PolicyError { what, got, allowed });
        if !(1..=MAX_SLICES).contains(&self.slices) {
            return refuse("slices", self.slices.to_string(), "1 to 64");
        }
        if !(1..=MAX_IDS).contains(&self.ids) {
            return refuse("ids", self.ids.to_string(), "1 to 1000000");
        }
        // Not `<`: a NaN must be rejected too.
        if !(MIN_RATE..=0.5).contains(&self.rate) {
            return refuse("rate", self.rate.to_string(), "1e-9 to 0.5");
        }
        if let Some(every) = self.every.filter(|every| !(1..=MAX_SECONDS).contains(every)) {
            return refuse("every", every.to_string(), "1s to 2^40 s");
        }
        if let Some(idle) = self.idle.filter(|idle| !(1..=64 * MAX_SECONDS).contains(idle)) {
            return refuse("idle", idle.to_string(), "1s to 2^46 s, or never");
        }
        if self.exact > 1000 {
            return refuse("exact", self.exact.to_string(), "0 to 1000");
        }
        Ok(self)
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    /// Fields that are not given have their defaults.
    fn from_str(text: &str) -> Result<Policy, PolicyError> {
        text.parse::<PolicyFields>()?.apply(&Policy::default())
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields().into_iter().filter(|(_, value)| value.as_str() != NO_PERIOD);
        let fields: Vec<String> = fields.map(|(name, value)| format!("{name}={value}")).collect();
        f.write_str(&fields.join(","))
    }
}

/// How `every` is written for slices by count.
const NO_PERIOD: &str = "none";

impl Policy {
    /// Each field's name and value, as text.
    pub fn fields(&self) -> [(&'static str, String); 7] {
        [
            ("slices", self.slices.to_string()),
            ("ids", self.ids.to_string()),
            ("rate", self.rate.to_string()),
            (
                "every",
                self.every.map_or(NO_PERIOD.to_owned(), |every| HumanSeconds(every).to_string()),
            ),
            ("idle", self.idle.map_or("never".to_owned(), |idle| HumanSeconds(idle).to_string())),
            ("exact", self.exact.to_string()),
            ("owner", self.owner_bytes.to_string()),
        ]
    }

    /// The default idle time: five days, or the whole window.
    fn default_idle(&self) -> Option<Seconds> {
        match self.every {
            Some(every) => Some(every.saturating_mul(self.slices.into())),
            None => Policy::default().idle,
        }
    }
}

/// Some fields of a policy: those that a caller requires, or those to change.
///
/// ```
/// use mayhap_seen::{Policy, PolicyFields};
/// let wider: PolicyFields = "ids=2000".parse()?;
/// let policy: Policy = "slices=3,idle=9d".parse()?;
/// assert_eq!(wider.apply(&policy)?, "slices=3,ids=2000,idle=9d".parse()?);
/// # Ok::<(), mayhap_seen::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PolicyFields {
    slices: Option<u32>,
    ids: Option<u32>,
    rate: Option<f64>,
    every: Option<Option<Seconds>>,
    idle: Option<Option<Seconds>>,
    exact: Option<u32>,
    owner_bytes: Option<usize>,
}

impl PolicyFields {
    /// The policy with these fields changed; the others stay as they are.
    ///
    /// An idle time that is the default stays the default: that of a window of time follows the
    /// window, unless it is named.
    pub fn apply(&self, base: &Policy) -> Result<Policy, PolicyError> {
        let mut policy = Policy {
            slices: self.slices.unwrap_or(base.slices),
            ids: self.ids.unwrap_or(base.ids),
            rate: self.rate.unwrap_or(base.rate),
            every: self.every.unwrap_or(base.every),
            idle: self.idle.unwrap_or(base.idle),
            exact: self.exact.unwrap_or(base.exact),
            owner_bytes: self.owner_bytes.unwrap_or(base.owner_bytes),
        };
        if self.idle.is_none() && base.idle == base.default_idle() {
            policy.idle = policy.default_idle();
        }
        policy.checked()
    }

    /// Whether no field is given.
    pub fn is_empty(&self) -> bool {
        *self == PolicyFields::default()
    }

    /// The policy to use where `stored` is kept with the lists; an error if these fields require
    /// another. The minimum length of an owner's name may differ per caller.
    #[cfg(any(feature = "embedded", feature = "redis"))]
    pub(crate) fn agree(&self, stored: &Policy) -> Result<Policy, crate::SeenError> {
        let refused = |error: PolicyError| crate::SeenError::Refused { what: error.to_string() };
        let asked = self.apply(stored).map_err(refused)?;
        if asked.with_owner_bytes(stored.owner_bytes) == *stored {
            return Ok(asked);
        }
        Err(crate::SeenError::Policy { stored: Box::new(*stored), asked: Box::new(asked) })
    }
}

impl From<Policy> for PolicyFields {
    fn from(policy: Policy) -> PolicyFields {
        PolicyFields {
            slices: Some(policy.slices),
            ids: Some(policy.ids),
            rate: Some(policy.rate),
            every: Some(policy.every),
            idle: Some(policy.idle),
            exact: Some(policy.exact),
            owner_bytes: Some(policy.owner_bytes),
        }
    }
}

impl FromStr for PolicyFields {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<PolicyFields, PolicyError> {
        let mut fields = PolicyFields::default();
        for part in text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            match name {
                "slices" => fields.slices = Some(whole("slices", value, "1 to 64")?),
                "ids" => fields.ids = Some(whole("ids", value, "1 to 1000000")?),
                "exact" => fields.exact = Some(whole("exact", value, "0 to 1000")?),
                "owner" => fields.owner_bytes = Some(whole("owner", value, "a number of bytes")?),
                "rate" => fields.rate = Some(rate(value)?),
                "every" if value == NO_PERIOD => fields.every = Some(None),
                "every" => fields.every = Some(Some(seconds("every", value)?)),
                "idle" if value == "never" => fields.idle = Some(None),
                "idle" => fields.idle = Some(Some(seconds("idle", value)?)),
                _ => {
                    let allowed = "slices, ids, rate, idle, every, exact, owner";
                    return Err(PolicyError { what: "policy", got: part.to_owned(), allowed });
                }
            }
        }
        Ok(fields)
    }
}

/// A duration in its largest whole unit.
pub(crate) struct HumanSeconds(pub Seconds);

impl fmt::Display for HumanSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(DAY, "d"), (3600, "h"), (60, "m")];
        let unit = units.into_iter().find(|(unit, _)| self.0 > 0 && self.0.is_multiple_of(*unit));
        let (unit, name) = unit.unwrap_or((1, "s"));
        write!(f, "{}{name}", self.0 / unit)
    }
}

fn whole<T: FromStr>(
    what: &'static str,
    value: &str,
    allowed: &'static str,
) -> Result<T, PolicyError> {
    value.parse().map_err(|_| PolicyError { what, got: value.to_owned(), allowed })
}

/// A rate such as `0.001`, `0.1%` or `1/1000`.
fn rate(value: &str) -> Result<f64, PolicyError> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let parsed = match (value.strip_suffix('%'), value.split_once('/')) {
        (Some(percent), _) => number(percent).map(|percent| percent / 100.0),
        (None, Some((part, of))) => number(part).zip(number(of)).map(|(part, of)| part / of),
        (None, None) => number(value),
    };
    let allowed = "1e-9 to 0.5, as 0.001, 0.1% or 1/1000";
    parsed.ok_or_else(|| PolicyError { what: "rate", got: value.to_owned(), allowed })
}

/// A duration such as `90s`, `30m`, `12h`, `5d`, `2w`; a bare number is seconds.
pub fn seconds(what: &'static str, value: &str) -> Result<Seconds, PolicyError> {
    let (number, unit) = match value.find(|c: char| !c.is_ascii_digit()) {
        Some(at) => value.split_at(at),
        None => (value, "s"),
    };
    let unit = match unit {
        "s" => Some(1),
        "m" => Some(60),
        "h" => Some(3600),
        "d" => Some(DAY),
        "w" => Some(7 * DAY),
        _ => None,
    };
    let product =
        number.parse().ok().zip(unit).and_then(|(n, unit): (u64, u64)| n.checked_mul(unit));
    let allowed = "a number and s, m, h, d or w, such as 90s or 5d";
    product.ok_or_else(|| PolicyError { what, got: value.to_owned(), allowed })
}

/// An invalid field of a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError {
    /// The field.
    pub what: &'static str,
    /// What was given.
    pub got: String,
    /// What is allowed.
    pub allowed: &'static str,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PolicyError { what, got, allowed } = self;
        write!(f, "{what} of {got:?}: allowed is {allowed}")
    }
}

impl std::error::Error for PolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_what_it_prints() {
        for text in ["", "slices=3,every=30d,ids=500,rate=0.1%", "idle=never,exact=0,owner=0,ids=7"]
        {
            let policy: Policy = text.parse().unwrap();
            assert_eq!(policy.to_string().parse(), Ok(policy), "{text}");
        }
        let said = Policy::default().to_string();
        assert_eq!(said, "slices=5,ids=1000,rate=0.001,idle=5d,exact=24,owner=1");
    }

    #[test]
    fn fields_that_are_not_named_stay() {
        let changed = |policy: &str, fields: &str| {
            let fields: PolicyFields = fields.parse().unwrap();
            fields.apply(&policy.parse().unwrap()).unwrap().to_string()
        };
        let base = "slices=3,ids=500,rate=0.01,idle=9d,exact=7,owner=4";
        assert_eq!(changed(base, ""), base);
        assert_eq!(changed(base, "ids=2000"), base.replace("ids=500", "ids=2000"));
        assert_eq!(
            changed(base, "idle=never exact=0"),
            base.replace("9d,exact=7", "never,exact=0")
        );
        // An idle time that follows the window continues to follow it.
        let window = changed("slices=4,every=30d", "slices=8");
        assert_eq!(window, "slices=8,ids=1000,rate=0.001,every=30d,idle=240d,exact=24,owner=1");
        assert_eq!(
            changed(&window, "every=none").parse(),
            Ok("slices=8".parse::<Policy>().unwrap())
        );
        assert_eq!(
            changed("", "every=1d"),
            "slices=5,ids=1000,rate=0.001,every=1d,idle=5d,exact=24,owner=1"
        );
        assert!("ids=0".parse::<PolicyFields>().unwrap().apply(&Policy::default()).is_err());
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        for (text, said) in [
            ("slices=0", "slices of \"0\": allowed is 1 to 64"),
            ("ids=x", "ids of \"x\": allowed is 1 to 1000000"),
            ("rate=NaN", "rate of \"NaN\": allowed is 1e-9 to 0.5"),
            ("rate=1/0", "rate of \"inf\": allowed is 1e-9 to 0.5"),
            (
                "idle=5y",
                "idle of \"5y\": allowed is a number and s, m, h, d or w, such as 90s or 5d",
            ),
            ("every=0", "every of \"0\": allowed is 1s to 2^40 s"),
            (
                "idle=99999999999999999999w",
                "idle of \"99999999999999999999w\": allowed is a number and s, m, h, d or w, such as 90s or 5d",
            ),
            (
                "slice=5",
                "policy of \"slice=5\": allowed is slices, ids, rate, idle, every, exact, owner",
            ),
        ] {
            assert_eq!(text.parse::<Policy>().unwrap_err().to_string(), said);
        }
    }

    #[test]
    fn a_window_of_time_lives_as_long_as_its_periods() {
        let policy: Policy = "slices=3,every=30d".parse().unwrap();
        assert_eq!(policy.idle(), Some(90 * DAY));
        assert_eq!(Policy::by_time(3, 30 * DAY, 1000, 0.001), Ok(policy));
    }

    #[test]
    fn a_full_list_has_the_rate_asked_for() {
        assert_eq!(Policy::default().range(), 5_000_000);
    }
}
