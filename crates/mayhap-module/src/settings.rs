//! What an operator may set.

/// What filters are made like when a command does not say. Set by arguments when the module is
/// loaded, and by `CONFIG SET mayhap.<name>`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// `bf-error-rate`: the rate of filters that `BF.ADD` and its like create.
    pub error_rate: f64,
    /// `bf-initial-size`: their capacity.
    pub initial_size: u64,
    /// `bf-expansion-factor`: what their total capacity is multiplied by when they are full.
    pub expansion: u32,
    /// `max-filter-bytes`: the most bytes of one filter; 0 for as much as the server has.
    pub max_filter_bytes: u64,
    /// `compat`: whether new filters are RedisBloom's own scheme.
    pub compat: bool,
}

impl Settings {
    /// As they are when nobody sets anything.
    pub const DEFAULT: Settings = Settings {
        error_rate: 0.01,
        initial_size: 100,
        expansion: 4,
        max_filter_bytes: 0,
        compat: false,
    };
    /// The largest capacity a command may ask for, as in RedisBloom.
    pub const MAX_CAPACITY: u64 = 1 << 30;
    /// The largest expansion a command may ask for, as in RedisBloom.
    pub const MAX_EXPANSION: u32 = 32768;
}

impl Default for Settings {
    fn default() -> Settings {
        Settings::DEFAULT
    }
}
