//! Line charts as SVG, drawn by hand: two logarithmic axes and a few lines.

use std::fmt::Write;

const WIDTH: f64 = 930.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 420.0;
const COLOURS: [&str; 16] = [
    "#c2410c", "#1d4ed8", "#047857", "#7c3aed", "#b91c1c", "#0e7490", "#a16207", "#be185d",
    "#4d7c0f", "#525252", "#f59e0b", "#60a5fa", "#34d399", "#c084fc", "#fb7185", "#94a3b8",
];

/// A logarithmic axis with the values to mark on it.
pub struct Axis {
    pub label: &'static str,
    pub marks: Vec<(f64, String)>,
}

impl Axis {
    /// How far along the axis a value lies, 0 to 1.
    fn place(&self, value: f64) -> f64 {
        let (first, last) = (self.marks[0].0.ln(), self.marks[self.marks.len() - 1].0.ln());
        ((value.ln() - first) / (last - first)).clamp(-0.02, 1.02)
    }
}

/// One line; a point is x, y and the error of y.
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64, f64)>,
    /// Drawn thick: ours.
    pub strong: bool,
}

/// A chart of lines.
pub struct Chart {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    pub series: Vec<Series>,
}

impl Chart {
    /// The picture as an SVG document.
    pub fn svg(&self) -> String {
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#222\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"28\" font-size=\"16\" font-weight=\"600\">{}</text>\n",
            escape(&self.title)
        );
        self.axes(&mut svg);
        let labels = self.label_places();
        for (i, series) in self.series.iter().enumerate() {
            self.line(&mut svg, series, COLOURS[i % COLOURS.len()], labels[i]);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        let along = LEFT + self.x.place(x) * (RIGHT - LEFT);
        (along, BOTTOM - self.y.place(y) * (BOTTOM - TOP))
    }

    fn axes(&self, svg: &mut String) {
        for (value, name) in &self.y.marks {
            let (_, y) = self.at(self.x.marks[0].0, *value);
            _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#ddd\"/>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>",
                LEFT - 8.0,
                y + 4.0
            );
        }
        for (value, name) in &self.x.marks {
            let (x, _) = self.at(*value, self.y.marks[0].0);
            _ = writeln!(
                svg,
                "<path d=\"M{x:.1} {BOTTOM}V{TOP}\" stroke=\"#eee\"/>\
                 <text x=\"{x:.1}\" y=\"{}\" text-anchor=\"middle\">{name}</text>",
                BOTTOM + 18.0
            );
        }
        _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(18 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + RIGHT) / 2.0,
            BOTTOM + 42.0,
            escape(self.x.label),
            (TOP + BOTTOM) / 2.0,
            escape(self.y.label)
        );
    }

    fn line(&self, svg: &mut String, series: &Series, colour: &str, label: f64) {
        let thick = if series.strong { 3 } else { 1 };
        let mut path = String::new();
        for (i, (x, y, error)) in series.points.iter().enumerate() {
            let (px, py) = self.at(*x, *y);
            _ = write!(path, "{}{px:.1} {py:.1}", if i == 0 { 'M' } else { 'L' });
            _ = writeln!(
                svg,
                "<circle cx=\"{px:.1}\" cy=\"{py:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
            );
            if *error > 0.0 {
                let ((_, low), (_, high)) = (self.at(*x, y - error), self.at(*x, y + error));
                _ = writeln!(svg, "<path d=\"M{px:.1} {low:.1}V{high:.1}\" stroke=\"{colour}\"/>");
            }
        }
        _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{thick}\"/>\
             <text x=\"{}\" y=\"{label:.1}\" fill=\"{colour}\"{}>{}</text>",
            RIGHT + 12.0,
            if series.strong { " font-weight=\"600\"" } else { "" },
            escape(&series.name)
        );
    }

    /// Heights of the names at the lines' ends, moved apart where they would overlap.
    fn label_places(&self) -> Vec<f64> {
        let end = |series: &Series| series.points.last().map_or(TOP, |p| self.at(p.0, p.1).1 + 4.0);
        let mut order: Vec<(usize, f64)> = self.series.iter().map(end).enumerate().collect();
        order.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut places = vec![0.0; order.len()];
        let mut free = TOP - 20.0;
        for (i, wanted) in order {
            places[i] = wanted.max(free);
            free = places[i] + 16.0;
        }
        places
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
