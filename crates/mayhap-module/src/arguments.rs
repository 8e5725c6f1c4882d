//! The arguments of `loadmodule`: Mayhap's, and those of RedisBloom and valkey-bloom, so that a
//! server whose module is replaced starts with its existing configuration.

use crate::args::{integer, is};
use crate::{Cuckoo, Replies, Settings};

/// The parsed arguments.
#[derive(Debug)]
pub struct Arguments {
    /// The prefix of the commands, in lowercase.
    pub prefix: String,
    /// The settings.
    pub settings: Settings,
    /// The reply shapes.
    pub replies: Replies,
    /// The values of [`Cuckoo::ALL`].
    pub cuckoo: [i64; Cuckoo::ALL.len()],
    /// Lines for the server's log.
    pub notes: Vec<String>,
}

/// Aliases of the settings that RedisBloom has too: its load arguments, and valkey-bloom's.
const ALIASES: [(&str, &str); 6] = [
    ("ERROR_RATE", "bf-error-rate"),
    ("bloom-fp-rate", "bf-error-rate"),
    ("INITIAL_SIZE", "bf-initial-size"),
    ("bloom-capacity", "bf-initial-size"),
    ("EXPANSION", "bf-expansion-factor"),
    ("bloom-expansion", "bf-expansion-factor"),
];

/// valkey-bloom's that have no effect here, and why.
const IGNORED: [(&str, &str); 3] = [
    ("bloom-tightening-ratio", "layers are tightened as the rate of all of them demands"),
    ("bloom-use-random-seed", "every filter has a secret of its own"),
    ("bloom-defrag-enabled", "filters are moved whenever the server defragments"),
];

impl Arguments {
    /// Parse them, or return what is wrong.
    pub fn parse(words: &[&[u8]]) -> Result<Arguments, String> {
        let mut arguments = Arguments {
            prefix: "bf".to_owned(),
            settings: Settings::DEFAULT,
            replies: Replies::default(),
            cuckoo: Cuckoo::ALL.map(|cuckoo| cuckoo.usual),
            notes: Vec::new(),
        };
        // Packaging tools try modules with one empty argument.
        let words = if *words == [&b""[..]] { &[] } else { words };
        let mut rest = words.iter();
        while let Some(word) = rest.next() {
            let shown = String::from_utf8_lossy(word).into_owned();
            let value = rest.next().ok_or_else(|| format!("{shown} needs a value"))?;
            let known = arguments.set(word, value).map_err(|why| {
                format!("bad value for {shown}: {}: {why}", String::from_utf8_lossy(value))
            })?;
            if !known {
                return Err(format!(
                    "unknown argument {shown}: there are PREFIX, ERROR_RATE, INITIAL_SIZE, EXPANSION, MAX_FILTER_BYTES, COMPAT and REPLIES"
                ));
            }
        }
        Ok(arguments)
    }

    /// Whether there is such an argument, or what is wrong with its value.
    fn set(&mut self, word: &[u8], value: &[u8]) -> Result<bool, String> {
        // Configurations may be given with the module's name as prefix.
        let name = [&b"mayhap."[..], b"bf."].iter().find_map(|module| word.strip_prefix(*module));
        let name = name.unwrap_or(word);
        let alias = ALIASES.iter().find(|(alias, _)| is(name, alias)).map(|(_, name)| *name);
        let shared = alias.or(Settings::SHARED.into_iter().find(|shared| is(name, shared)));
        if let Some(shared) = shared {
            return self.settings.set(shared, value).map(|()| true);
        }
        let legacy = is(name, "CF_MAX_EXPANSIONS");
        let cuckoo =
            |cuckoo: &Cuckoo| is(name, cuckoo.name) || legacy && cuckoo.name == "cf-max-expansions";
        if let Some(at) = Cuckoo::ALL.iter().position(cuckoo) {
            self.cuckoo[at] = Cuckoo::ALL[at].parse(value)?;
            self.notes.extend(Cuckoo::ALL[at].note());
            return Ok(true);
        }
        if let Some((name, why)) = IGNORED.iter().find(|(ignored, _)| is(name, ignored)) {
            self.notes.push(format!("{name} has no effect: {why}"));
            return Ok(true);
        }
        if is(name, "PREFIX") {
            let letters =
                (1..=32).contains(&value.len()) && value.iter().all(u8::is_ascii_alphanumeric);
            self.prefix = letters
                .then(|| String::from_utf8_lossy(value).to_lowercase())
                .ok_or("it must be 1 to 32 letters and digits")?;
        } else if ["MAX_FILTER_BYTES", "max-filter-bytes", "bloom-memory-usage-limit"]
            .iter()
            .any(|known| is(name, known))
        {
            let got = integer(value).and_then(|got| u64::try_from(got).ok());
            self.settings.max_filter_bytes = got.ok_or("it must be a number of bytes")?;
        } else if is(name, "COMPAT") {
            self.settings.compat = match () {
                () if is(value, "yes") => true,
                () if is(value, "no") => false,
                () => return Err("it must be yes or no".to_owned()),
            };
        } else if is(name, "REPLIES") {
            let at = Replies::NAMES.iter().position(|known| is(value, known));
            self.replies = at.map(Replies::at).ok_or("it must be redisbloom or valkey-bloom")?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        let words: Vec<&[u8]> = line.split_whitespace().map(str::as_bytes).collect();
        Arguments::parse(&words)
    }

    #[test]
    fn those_of_every_family_are_taken() {
        for line in [
            "ERROR_RATE 0.02 INITIAL_SIZE 200 EXPANSION 3 MAX_FILTER_BYTES 1000",
            "bf-error-rate 0.02 bf-initial-size 200 bf-expansion-factor 3 max-filter-bytes 1000",
            "mayhap.bf-error-rate 0.02 mayhap.bf-initial-size 200 expansion 3 max_filter_bytes 1000",
            "bloom-fp-rate 0.02 bf.bloom-capacity 200 bloom-expansion 3 bloom-memory-usage-limit 1000",
        ] {
            let got = parse(line).unwrap();
            let want = Settings {
                error_rate: 0.02,
                initial_size: 200,
                expansion: Some(3),
                max_filter_bytes: 1000,
                compat: false,
            };
            assert_eq!((got.settings, got.notes.len()), (want, 0), "{line}");
        }
        let got = parse("PREFIX Mh COMPAT yes REPLIES valkey-bloom").unwrap();
        assert_eq!((got.prefix.as_str(), got.replies), ("mh", Replies::ValkeyBloom));
        assert_eq!(got.settings.expansion(), 2, "RedisBloom's default goes with its scheme");
        assert_eq!(parse("").unwrap().settings.expansion(), 4);
        assert!(Arguments::parse(&[b""]).is_ok());
    }

    #[test]
    fn what_others_have_and_we_do_not_is_a_line_in_the_log() {
        let got = parse("CF_MAX_EXPANSIONS 3 cf-bucket-size 4 bloom-tightening-ratio 0.5").unwrap();
        assert_eq!(got.notes.len(), 3);
        assert!(got.notes.iter().all(|note| note.contains("no effect")), "{:?}", got.notes);
        assert_eq!(got.cuckoo, [4, 1024, 20, 1, 3]);
        assert!(parse("cf-initial-size 2048").unwrap().notes.is_empty());
        assert!(parse("cf-bucket-size much").unwrap_err().contains("[1, 255]"));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (line, text) in [
            ("ERROR_RATE 2", "bad value for ERROR_RATE: 2"),
            ("INITIAL_SIZE 0", "[1, 1073741824]"),
            ("EXPANSION -1", "[0, 32768]"),
            ("COMPAT maybe", "yes or no"),
            ("PREFIX b.f", "letters"),
            ("PREFX MH", "unknown argument PREFX: there are PREFIX"),
            ("ERROR_RATE", "needs a value"),
            ("REPLIES redis", "valkey-bloom"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }
}
