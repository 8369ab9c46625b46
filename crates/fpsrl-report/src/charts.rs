//! Charts that do not move: lines and points over two axes, as SVG that the page's style draws.

use std::fmt::Write;

use fpsrl_base::text::number;
use fpsrl_explain::minus;
use fpsrl_explain::svg::{Axis, escape, line, place};

const WIDTH: f64 = 340.0;
const HEIGHT: f64 = 196.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 332.0;
const TOP: f64 = 22.0;
const BASE: f64 = 156.0;

/// How a series is drawn. Each can be told from the others without colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// A solid line.
    Solid,
    /// A dashed line.
    Dashed,
    /// A dotted line.
    Dotted,
    /// Small filled points.
    Points,
    /// Rings.
    Rings,
    /// Crosses.
    Crosses,
}

/// Numbers that are drawn alike.
pub(super) struct Series {
    pub(super) name: String,
    pub(super) mark: Mark,
    pub(super) points: Vec<(f64, f64)>,
}

/// A chart of several series.
pub(super) struct Chart<'a> {
    /// What a screen reader says.
    pub(super) title: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    /// Stretches of the x axis that are shaded.
    pub(super) shaded: Vec<[f64; 2]>,
    pub(super) series: Vec<Series>,
    /// Ranges of the axes; from the points where there is none.
    pub(super) x_range: Option<[f64; 2]>,
    pub(super) y_range: Option<[f64; 2]>,
    /// Whether the y axis is logarithmic.
    pub(super) logarithmic: bool,
}

impl Mark {
    fn class(self) -> &'static str {
        match self {
            Mark::Solid => "line solid-line",
            Mark::Dashed => "line dashed-line",
            Mark::Dotted => "line dotted-line",
            Mark::Points => "points",
            Mark::Rings => "rings",
            Mark::Crosses => "crosses",
        }
    }

    fn path(self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        let inside = points.iter().filter(|(x, y)| x.is_finite() && y.is_finite());
        match self {
            Mark::Solid | Mark::Dashed | Mark::Dotted => return line(points.iter().copied()),
            // A line of no length with round ends is a point.
            Mark::Points => inside.for_each(|(x, y)| {
                let _ = write!(path, "M{} {}h0", place(*x), place(*y));
            }),
            Mark::Rings => inside.for_each(|(x, y)| {
                let _ = write!(path, "M{} {}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0 -5 0", place(x - 2.5), place(*y));
            }),
            Mark::Crosses => inside.for_each(|(x, y)| {
                let _ = write!(path, "M{} {}l6 6m0 -6l-6 6", place(x - 3.0), place(y - 3.0));
            }),
        }
        path
    }
}

impl Chart<'_> {
    /// The chart with its legend.
    pub(super) fn svg(&self) -> String {
        self.picture() + &self.legend()
    }

    /// The chart by itself.
    pub(super) fn picture(&self) -> String {
        let lifted = |value: f64| if self.logarithmic { value.max(1e-300).log10() } else { value };
        let all = || self.series.iter().flat_map(|series| &series.points);
        let x_range = self.x_range.unwrap_or_else(|| range(all().map(|(x, _)| *x)));
        let y_range = match self.y_range {
            Some(given) => given,
            None => {
                let [low, high] = range(all().map(|(_, y)| lifted(*y)));
                let margin = 0.06 * (high - low);
                [low - margin, high + margin]
            }
        };
        let (x, y) = (Axis::new(x_range, [LEFT, RIGHT]), Axis::new(y_range, [BASE, TOP]));
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escape(self.title)
        );
        for [from, to] in &self.shaded {
            let (from, to) = (x.within(*from), x.within(*to));
            let width = (to - from).max(2.0);
            let _ = write!(
                svg,
                "<rect class=\"shaded\" x=\"{}\" y=\"{TOP}\" width=\"{}\" height=\"{}\"/>",
                place(from),
                place(width),
                BASE - TOP
            );
        }
        for tick in y.ticks(5) {
            if self.logarithmic && tick.fract() != 0.0 {
                continue;
            }
            let label = if self.logarithmic { format!("1e{tick}") } else { number(tick) };
            let at = place(y.at(tick));
            let _ = write!(
                svg,
                "<path class=\"grid\" d=\"M{LEFT} {at}H{RIGHT}\"/><text class=\"end\" x=\"{}\" y=\"{}\">{}</text>",
                LEFT - 6.0,
                place(y.at(tick) + 3.5),
                minus(&label)
            );
        }
        for tick in x.ticks(6) {
            // At the edge, a number leans inwards.
            let near_the_end = x.at(tick) > RIGHT - 10.0;
            let (anchor, lean) = if near_the_end { ("end", RIGHT + 7.0) } else { ("middle", x.at(tick)) };
            let _ = write!(
                svg,
                "<path class=\"axis\" d=\"M{} {BASE}v4\"/><text class=\"{anchor}\" x=\"{}\" y=\"{}\">{}</text>",
                place(x.at(tick)),
                place(lean),
                BASE + 16.0,
                minus(&number(tick)),
            );
        }
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{LEFT} {BASE}H{RIGHT}\"/><text class=\"end label\" x=\"{RIGHT}\" \
             y=\"{}\">{}</text>\
             <text class=\"label\" x=\"{}\" y=\"{}\">{}</text>",
            HEIGHT - 6.0,
            escape(self.x),
            2.0,
            TOP - 10.0,
            escape(self.y)
        );
        for (index, series) in self.series.iter().enumerate() {
            let points: Vec<(f64, f64)> = series
                .points
                .iter()
                .filter(|(at, _)| at.is_finite())
                .map(|(at, value)| (x.within(*at), y.within(lifted(*value))))
                .collect();
            let _ = write!(
                svg,
                "<path class=\"series-{} {}\" d=\"{}\"/>",
                index % 6,
                series.mark.class(),
                series.mark.path(&points)
            );
        }
        svg.push_str("</svg>");
        svg
    }

    /// What the lines and points are; empty where there is nothing to tell apart.
    pub(super) fn legend(&self) -> String {
        if self.series.len() < 2 {
            return String::new();
        }
        let mut list = String::from("<ul class=\"legend\">");
        for (index, series) in self.series.iter().enumerate() {
            let sample = match series.mark {
                Mark::Solid | Mark::Dashed | Mark::Dotted => vec![(1.0, 6.0), (25.0, 6.0)],
                _ => vec![(13.0, 6.0)],
            };
            let _ = write!(
                list,
                "<li><svg viewBox=\"0 0 26 12\" aria-hidden=\"true\"><path class=\"series-{} {}\" \
                 d=\"{}\"/></svg><bdi>{}</bdi></li>",
                index % 6,
                series.mark.class(),
                series.mark.path(&sample),
                escape(&series.name)
            );
        }
        list.push_str("</ul>");
        list
    }
}

/// The range of finite numbers; never empty.
pub(super) fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.filter(|value| value.is_finite()) {
        low = low.min(value);
        high = high.max(value);
    }
    match (low.is_finite(), high > low) {
        (true, true) => [low, high],
        (true, false) => [low - 0.5 * low.abs().max(1e-9), low + 0.5 * low.abs().max(1e-9)],
        _ => [0.0, 1.0],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(points: Vec<(f64, f64)>) -> String {
        let series = vec![
            Series { name: "a<b".into(), mark: Mark::Solid, points: points.clone() },
            Series { name: "c".into(), mark: Mark::Rings, points },
        ];
        let chart = Chart {
            title: "\"t\"",
            x: "x",
            y: "y",
            shaded: vec![[0.0, 0.5]],
            series,
            x_range: None,
            y_range: None,
            logarithmic: false,
        };
        chart.svg()
    }

    #[test]
    fn charts_of_any_numbers_have_only_numbers_in_them() {
        for points in [
            vec![],
            vec![(0.0, 1.0)],
            vec![(0.0, f64::NAN), (f64::INFINITY, 2.0), (1.0, -1e300), (2.0, 1e300)],
            vec![(0.0, -3.0), (1.0, 4.0)],
        ] {
            let svg = chart(points);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(svg.contains("a&lt;b") && svg.contains("&quot;t&quot;"));
        }
    }
}
