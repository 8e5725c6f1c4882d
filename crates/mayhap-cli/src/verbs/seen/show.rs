//! BatchAnswers about lists, for people and for programs.

use super::bulk::Totals;
use crate::exit::Exit;
use crate::globals::Globals;
use crate::numbers::{bytes, grouped, percent};
use crate::print;
use mayhap_seen::{Explanation, ListStats, Policy, Seconds, StoreStats};
use serde_json::json;

/// Why an id is hidden.
pub fn explanation(why: &Explanation, globals: &Globals) -> anyhow::Result<Exit> {
    let (value, text) = match *why {
        Explanation::NotSeen => (json!({"seen": false}), "not seen\n".to_owned()),
        Explanation::Offered { until } => (
            json!({"seen": true, "offered_until": until}),
            format!("offered, not yet confirmed; it comes back at {}\n", date(until)),
        ),
        Explanation::Seen { slice, since, before, false_positive_rate } => {
            let value = json!({"seen": true, "slice": slice, "since": since, "before": before, "chance": false_positive_rate});
            let place = if slice == 0 {
                "the newest slice".to_owned()
            } else {
                format!("slice {slice}, 0 being the newest")
            };
            let time = match (since, before) {
                (Some(since), Some(before)) => {
                    format!(", marked between {} and {}", date(since), date(before))
                }
                _ => ", and this layout keeps no times".to_owned(),
            };
            let odds =
                if false_positive_rate > 0.0 { 1.0 / false_positive_rate } else { f64::INFINITY };
            let odds = if odds < 1e15 {
                format!("1 in {}", grouped(odds as u64))
            } else {
                "none to speak of".to_owned()
            };
            (value, format!("seen: in {place}{time}; chance of a mistake: {odds}\n"))
        }
    };
    if globals.json {
        print::json(&value)?;
    } else if !globals.quiet {
        print::out(&text)?;
    }
    Ok(Exit::of(*why != Explanation::NotSeen))
}

/// One list in numbers.
pub fn list(stats: Option<ListStats>, globals: &Globals) -> anyhow::Result<Exit> {
    let Some(stats) = stats else {
        if globals.json {
            print::json(&json!(null))?;
        } else if !globals.quiet {
            print::out("no list\n")?;
        }
        return Ok(Exit::No);
    };
    let ListStats {
        ids, slices, offered, bytes: size, false_positive_rate, oldest, expires, ..
    } = stats;
    if globals.json {
        print::json(&json!({
            "ids": ids, "slices": slices, "offered": offered, "bytes": size, "chance": false_positive_rate,
            "oldest": oldest, "expires": expires,
        }))?;
    } else {
        let when = |time: Option<Seconds>| time.map_or("unknown".to_owned(), date);
        print::out(&format!(
            "ids      {}\nslices   {slices}\noffered  {}\nbytes    {}\nchance   {}\noldest   {}\nexpires  {}\n",
            grouped(ids),
            grouped(offered),
            bytes(size),
            percent(false_positive_rate),
            when(oldest),
            when(expires),
        ))?;
    }
    Ok(Exit::Yes)
}

/// A store in numbers.
pub fn store(stats: &StoreStats, policy: &Policy, globals: &Globals) -> anyhow::Result<Exit> {
    let StoreStats { owners, ids, offered, bytes: size, largest_bytes, unreadable, foreign } =
        *stats;
    if globals.json {
        print::json(&json!({
            "owners": owners, "ids": ids, "offered": offered, "bytes": size,
            "largest_bytes": largest_bytes, "unreadable": unreadable, "foreign": foreign,
            "policy": policy.to_string(),
        }))?;
    } else {
        let each = size.checked_div(owners).unwrap_or(0);
        print::out(&format!(
            "owners   {}\nids      {}\noffered  {}\nbytes    {}, {} an owner, {} at most\npolicy   {policy}\n",
            grouped(owners),
            grouped(ids),
            grouped(offered),
            bytes(size),
            bytes(each),
            bytes(largest_bytes),
        ))?;
    }
    passed_over(foreign, globals);
    if unreadable == 0 {
        return Ok(Exit::Yes);
    }
    let lists = if unreadable == 1 {
        "1 list".to_owned()
    } else {
        format!("{} lists", grouped(unreadable))
    };
    print::error(
        &format!("{lists} cannot be read and counted above only as missing"),
        Some("`mayhap seen export` names them, and `mayhap seen forget` removes one"),
    );
    Ok(Exit::Error)
}

/// Keys that are no lists, which may be meant to be there.
pub fn passed_over(foreign: u64, globals: &Globals) {
    if foreign > 0 && !globals.quiet {
        let keys = if foreign == 1 {
            "1 key is not a seen list and was".to_owned()
        } else {
            format!("{} keys are not seen lists and were", grouped(foreign))
        };
        print::warning(
            &format!("{keys} passed over"),
            Some("a prefix of their own (prefix=… in the store's URL) keeps lists apart"),
        );
    }
}

/// Ids of one call that the policy did not keep.
pub fn expired(ids: u64, policy: &Policy) {
    if ids > 0 {
        let (slices, each) = (policy.slices(), policy.ids());
        let most = grouped(u64::from(slices) * u64::from(each));
        let ids = if ids == 1 {
            "1 of these ids was".to_owned()
        } else {
            format!("{} of these ids were", grouped(ids))
        };
        print::warning(
            &format!(
                "{ids} let go again: the policy keeps {most} at most (slices={slices} of ids={each})"
            ),
            Some("`mayhap seen policy` shows and changes it"),
        );
    }
}

/// What a bulk load did.
pub fn totals(totals: &Totals, globals: &Globals) -> anyhow::Result<()> {
    let Totals { lines, new, expired: gone, policy } = totals;
    if globals.json {
        return print::json(&json!({"lines": lines, "new": new, "let_go": gone}));
    }
    if globals.quiet {
        return Ok(());
    }
    print::out(&format!("{new}\n"))?;
    expired(*gone, policy);
    Ok(())
}

/// A moment as `2026-11-16 03:20:00 UTC`.
fn date(moment: Seconds) -> String {
    let (days, seconds) = (moment / 86_400, moment % 86_400);
    // Years that begin in March, so that the leap day is the last of its year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_as_calendars_have_them() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_800_000_000), "2027-01-15 08:00:00 UTC");
        assert_eq!(date(4_107_542_399), "2100-02-28 23:59:59 UTC");
    }
}
