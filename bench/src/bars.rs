//! Bar charts as SVG, in light and dark colours, whichever the reader's system prefers.

use std::fmt::Write;

const WIDTH: f64 = 720.0;
/// Where names end and bars begin.
const LEFT: f64 = 240.0;
/// The longest bar; a number stands behind it.
const LONGEST: f64 = 380.0;
const BAR: f64 = 16.0;
const STEP: f64 = 23.0;
const HEADING: f64 = 34.0;

const STYLE: &str = "<style>\
text{font:13px system-ui,sans-serif;fill:#1f2328}.h{font-weight:600}.n{fill:#59636e}\
.ours{fill:#c2410c}.other{fill:#afb8c1}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.n{fill:#9198a1}.ours{fill:#fb923c}.other{fill:#57606a}}\
</style>\n";

/// One bar.
pub struct Bar {
    pub name: String,
    pub value: f64,
    pub ours: bool,
}

/// Bars of one unit under a heading.
pub struct Group {
    pub heading: String,
    pub unit: &'static str,
    pub bars: Vec<Bar>,
}

/// The groups below one another as an SVG document; `about` is read out to those who cannot see it.
pub fn svg(about: &str, groups: &[Group]) -> String {
    let bars: usize = groups.iter().map(|group| group.bars.len()).sum();
    let height = HEADING * groups.len() as f64 + STEP * bars as f64 + 8.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\n\
         <title>{}</title>\n{STYLE}",
        escaped(about)
    );
    let mut y = 0.0;
    for Group { heading, unit, bars } in groups {
        y += HEADING;
        _ = writeln!(
            svg,
            "<text class=\"h\" x=\"0\" y=\"{}\">{}</text>",
            y - 12.0,
            escaped(heading)
        );
        let longest = bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
        for Bar { name, value, ours } in bars {
            let (width, class) = (value / longest * LONGEST, if *ours { "ours" } else { "other" });
            let text = y + 13.0;
            _ = writeln!(
                svg,
                "<text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{}</text>\
                 <rect class=\"{class}\" x=\"{LEFT}\" y=\"{y}\" width=\"{:.1}\" height=\"{BAR}\" rx=\"2\"/>\
                 <text class=\"n\" x=\"{:.1}\" y=\"{text}\">{} {unit}</text>",
                LEFT - 10.0,
                escaped(name),
                width.max(1.0),
                LEFT + width.max(1.0) + 8.0,
                rounded(*value)
            );
            y += STEP;
        }
    }
    svg + "</svg>\n"
}

/// Three digits at most, thousands with a comma.
fn rounded(value: f64) -> String {
    match value {
        1000.0.. => format!("{},{:03}", value as u64 / 1000, value as u64 % 1000),
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}").trim_end_matches(".0").to_owned(),
        _ => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        let bar = |value, ours| Bar { name: "a & b".into(), value, ours };
        let group = Group {
            heading: "Time".into(),
            unit: "s",
            bars: vec![bar(1.5, true), bar(30.0, false)],
        };
        let svg = svg("two", &[group]);
        assert!(svg.contains("class=\"ours\" x=\"240\" y=\"34\" width=\"19.0\""), "{svg}");
        assert!(
            svg.contains("width=\"380.0\"") && svg.contains("a &amp; b") && svg.contains(">30 s<")
        );
    }

    #[test]
    fn numbers_have_three_digits() {
        let shown = [1190.0, 934.0, 35.0, 13.26, 1.56, 2.0].map(rounded);
        assert_eq!(shown, ["1,190", "934", "35", "13.3", "1.56", "2"]);
    }
}
