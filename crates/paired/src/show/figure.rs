//! Figures in SVG: ratios with their intervals on a scale, samples over time, and curves by threads and by sizes.
//!
//! The page and the figures of docs/results.md are drawn by the same functions. Positions are in per cent of the `svg` around
//! them, so that it fits any width and no text is stretched; colours are variables of the style sheet.

use std::collections::BTreeSet;

use horrorshow::{Raw, RenderOnce, Template, html};
use indexmap::IndexSet;

use crate::run::sample::{Run, Side};
use crate::show::curves::{Cost, Costs, SpeedUp, SpeedUps, costs, speed_ups};
use crate::show::machine::known_as;
use crate::show::report::digits;
use crate::show::section::{FEW, LOADED, Line, OUTDATED, Record, marks as marks_of};
use crate::stats::ratio::{Verdict, median};
use crate::stats::row::{Row, calm_rounds};

/// The style sheet of figures, with their colours as variables. Readers who cannot tell red from green can tell blue from orange,
/// on a light and on a dark background.
pub(crate) const COLOURS: &str = "
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --soft: #59636e; --rule: #d9dee3; --gain: #0a5bd0; --loss: #b3470b }
@media (prefers-color-scheme: dark) {
  :root { --paper: #0d1117; --ink: #e6edf3; --soft: #9aa4af; --rule: #2f363e; --gain: #6cb2ff; --loss: #f2a15f }
}
svg { font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; font-variant-numeric: tabular-nums; fill: var(--ink) }
svg .soft { fill: var(--soft) }
svg line { stroke: var(--rule) }
svg .one line, svg line.one { stroke: var(--soft) }
svg .faster line { stroke: var(--gain); stroke-width: 2.5 } svg .faster { fill: var(--gain) }
svg .slower line { stroke: var(--loss); stroke-width: 2.5 } svg .slower { fill: var(--loss) }
svg .same line { stroke: var(--soft); stroke-width: 2.5 } svg .same { fill: var(--soft) }
svg .control line { stroke: var(--soft) }
svg .control circle { fill: var(--paper); stroke: var(--soft); stroke-width: 1.2 }
svg .out { opacity: .35 }
";

/// A logarithmic scale of ratios: a half lies as far from 1 as a double.
pub(crate) struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// Returns a scale that includes 1 and each interval of the rows and of their controls, with room for a dot at either end.
    pub(crate) fn of<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Self {
        // At least 5 % on either side, so that the noise of a quiet machine does not look like an effect.
        let (mut low, mut high) = (0.95f64.ln(), 1.05f64.ln());
        for row in rows {
            let figures = [row.ratio, row.aa_ratio].into_iter();
            for ratio in figures.chain(row.ci95).chain(row.aa_ci95) {
                low = low.min(ratio.ln());
                high = high.max(ratio.ln());
            }
        }
        let room = 0.06 * (high - low);
        Self {
            low: low - room,
            high: high + room,
        }
    }

    /// Returns the place of `ratio`, as a share of the width.
    fn place(&self, ratio: f64) -> f64 {
        (ratio.ln() - self.low) / (self.high - self.low)
    }

    /// Returns round ratios, 1 among them, with their labels, from the left.
    fn ticks(&self) -> Vec<(f64, String)> {
        const STEPS: [(f64, usize); 9] = [
            (0.01, 2),
            (0.02, 2),
            (0.05, 2),
            (0.1, 1),
            (0.2, 1),
            (0.5, 1),
            (1.0, 0),
            (5.0, 0),
            (25.0, 0),
        ];
        const MOST: usize = 7;
        // The least distance, at which labels do not overlap on a phone.
        const APART: f64 = 0.1;
        let (low, high) = (self.low.exp(), self.high.exp());
        let count = |step: f64| (high / step).floor() - (low / step).ceil() + 1.0;
        let (step, decimals) = (STEPS.into_iter())
            .find(|(step, _)| count(*step) <= MOST as f64)
            .unwrap_or(STEPS[STEPS.len() - 1]);
        let mut ticks = vec![1.0];
        let steps = |number: usize| number as f64 * step;
        let first = (low / step).ceil() as usize;
        let last = (high / step).floor() as usize;
        let mut keep = |ratio: f64| {
            let apart = |tick: &f64| (self.place(*tick) - self.place(ratio)).abs() >= APART;
            if ratio > 0.0 && ticks.iter().all(apart) {
                ticks.push(ratio);
            }
        };
        // Outwards from 1: where ticks are too close, those near 1 are kept.
        (first..=last)
            .rev()
            .map(steps)
            .filter(|ratio| *ratio < 1.0)
            .for_each(&mut keep);
        (first..=last)
            .map(steps)
            .filter(|ratio| *ratio > 1.0)
            .for_each(&mut keep);
        ticks.sort_by(f64::total_cmp);
        let label = |tick| (tick, format!("{tick:.decimals$}"));
        ticks.into_iter().map(label).collect()
    }
}

/// Markup, whose texts are escaped.
pub(crate) type Markup = Raw<String>;

/// Renders a template as markup.
pub(crate) fn markup(template: impl RenderOnce) -> Markup {
    Raw(template
        .into_string()
        .expect("no template of a figure or a page fails"))
}

fn percent(share: f64) -> String {
    format!("{:.2}%", 100.0 * share)
}

/// Draws the labels of a scale, with the base of the text at `y`, in pixels.
pub(crate) fn axis(scale: &Scale, y: u32) -> Markup {
    markup(html! {
        @ for (tick, label) in scale.ticks() {
            text(class="soft", x=percent(scale.place(tick)), y=y, text-anchor="middle") : label;
        }
    })
}

/// Draws one row: above, the ratio and its interval; below, smaller, those of the control.
pub(crate) fn strip(row: &Row, scale: &Scale) -> Markup {
    let x = |ratio| percent(scale.place(ratio));
    let interval =
        |[low, high]: [f64; 2], y: &str| markup(html! { line(x1=x(low), x2=x(high), y1=y, y2=y); });
    markup(html! {
        @ for (tick, _) in scale.ticks() {
            line(class ?= (tick == 1.0).then_some("one"), x1=x(tick), x2=x(tick), y1="0", y2="100%");
        }
        g(class="control") {
            : interval(row.aa_ci95, "75%");
            circle(cx=x(row.aa_ratio), cy="75%", r="2.5");
        }
        g(class=class(row.verdict)) {
            : interval(row.ci95, "35%");
            circle(cx=x(row.ratio), cy="35%", r="4.5");
        }
    })
}

/// Returns the class of a verdict in the style sheet.
pub(crate) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::NoChange => "same",
    }
}

/// Draws the samples of one row as dots, from left to right in the order in which they were taken; longer runs are higher.
///
/// The horizontal line is the baseline's median, vertical lines are restarts of the processes. Rounds that were left out are
/// faint.
pub(crate) fn samples(runs: &[Run], verdict: Verdict) -> Markup {
    let time = |run: &Run| (run.wall_ns.max(1) as f64).ln();
    let baseline = runs.iter().filter(|run| run.side != Side::Candidate);
    let mut baseline: Vec<f64> = baseline.map(time).collect();
    if baseline.is_empty() {
        return markup("");
    }
    let usual = median(&mut baseline);
    let times = runs.iter().map(time);
    let low = times.clone().fold(usual, f64::min);
    let high = times.fold(usual, f64::max);
    // A margin of half a per cent or more, so that less noise than that does not fill the height.
    let room = (0.12 * (high - low)).max(0.005);
    let place = |time: f64| percent(1.0 - (time - low + room) / (high - low + 2.0 * room));
    let calm = calm_rounds(runs);
    let when = |index: usize| percent((index as f64 + 0.5) / runs.len() as f64);
    let restarts = (1..runs.len()).filter(|index| runs[*index].seed != runs[index - 1].seed);
    let dots = |candidate: bool| {
        let runs = runs.iter().enumerate();
        let runs = runs.filter(move |(_, run)| (run.side == Side::Candidate) == candidate);
        let left_out = |run: &Run| !calm.contains_key(&(run.seed, run.round));
        markup(html! {
            @ for (index, run) in runs {
                circle(class ?= left_out(run).then_some("out"), cx=when(index), cy=place(time(run)), r="1.8");
            }
        })
    };
    let change = |time: f64| {
        let change = 100.0 * ((time - usual).exp() - 1.0);
        format!("{change:+.0} %").replace('-', "\u{2212}")
    };
    let before = |index: usize| percent(index as f64 / runs.len() as f64);
    markup(html! {
        @ for index in restarts {
            line(x1=before(index), x2=before(index), y1="0", y2="100%");
        }
        line(class="one", x1="0", x2="100%", y1=place(usual), y2=place(usual));
        g(class="control") : dots(false);
        g(class=class(verdict)) : dots(true);
        text(class="soft", x="100%", dx="4", y=place(high), dy="4") : change(high);
        text(class="soft", x="100%", dx="4", y=place(low), dy="4") : change(low);
    })
}

/// Returns the CPUs of the lines, each with a letter, or with none where there is only one CPU.
pub(crate) fn marks<'a>(lines: &[Line<'a>]) -> Vec<(String, &'a str)> {
    let cpus: IndexSet<&str> = (lines.iter())
        .map(|line| &*line.record.machine.cpu)
        .collect();
    let one = cpus.len() == 1;
    let mark = |(index, cpu)| match char::from_digit(index as u32 + 10, 36) {
        Some(letter) if !one => (letter.to_ascii_uppercase().to_string(), cpu),
        _ => (String::new(), cpu),
    };
    cpus.into_iter().enumerate().map(mark).collect()
}

/// Draws the rows of a section as an SVG file of its own, with `title` as its text for screen readers.
pub fn svg(title: &str, lines: &[Line<'_>]) -> String {
    const WIDTH: u32 = 700;
    const LEFT: u32 = 130;
    const PLOT: u32 = 390;
    const ROW: u32 = 22;
    const HEADING: u32 = 28;
    const AXIS: u32 = 24;
    let scale = Scale::of(lines.iter().map(|line| line.row));
    let marks = marks(lines);
    let workloads: BTreeSet<&str> = lines.iter().map(|line| &*line.row.workload).collect();
    let meanings: Vec<_> = meanings(lines).collect();
    let foot = 2 * AXIS + 10 + 18 * (1 + marks.len() + meanings.len()) as u32;
    let height = workloads.len() as u32 * HEADING + lines.len() as u32 * ROW + foot;
    let mut y = AXIS;
    let groups = lines.chunk_by(|a, b| a.row.workload == b.row.workload);
    let letter = |cpu: &str| {
        let mark = marks.iter().find(|(_, marked)| *marked == cpu);
        mark.map(|(mark, _)| format!(" {mark}"))
    };
    let body = markup(html! {
        svg(x=LEFT, width=PLOT, height=AXIS) : axis(&scale, 16);
        @ for group in groups {
            text(class="workload", x="0", y={ y += HEADING; y - 7 }) : &group[0].row.workload;
            @ for line in group {
                text(class="soft", x="12", y=y + 12) {
                    : &line.row.isa;
                    : letter(&line.record.machine.cpu);
                }
                svg(x=LEFT, y=y, width=PLOT, height=ROW) : strip(line.row, &scale);
                text(class=class(line.row.verdict), x=LEFT + PLOT + 14, y=y + 12) {
                    tspan(class="ratio") : format!("{:.3}{}", line.row.ratio, line.marks());
                    tspan(class="soft", dx="7") : format!("{:.3} to {:.3}", line.row.ci95[0], line.row.ci95[1]);
                }
                |_row| y += ROW;
            }
        }
        svg(x=LEFT, y=y, width=PLOT, height=AXIS) : axis(&scale, 16);
        text(class="soft", x="0", y={ y += AXIS + 20; y }) :
            "Time with / without and its 95 % interval; the hollow dot is the baseline against itself.";
        @ for (mark, cpu) in &marks {
            text(class="soft", x="0", y={ y += 18; y }) {
                : mark;
                @ if !mark.is_empty() { : ": "; }
                : known_as(cpu);
            }
        }
        @ for meaning in &meanings {
            text(class="soft", x="0", y={ y += 18; y }) : meaning;
        }
    });
    file(title, [WIDTH, height], &body)
}

/// Returns the marks that the lines have, with their meanings.
fn meanings<'a>(lines: &'a [Line<'a>]) -> impl Iterator<Item = String> {
    let of = [
        (OUTDATED, "of an earlier text of the patches"),
        (LOADED, "the machine was loaded"),
        (FEW, "of fewer than five inputs"),
    ];
    let is_there = |mark: &str| lines.iter().any(|line| line.marks().contains(mark));
    let there = of.into_iter().filter(move |(mark, _)| is_there(mark));
    there.map(|(mark, meaning)| format!("{mark} {meaning}"))
}

/// Writes a figure of a width and a height, in pixels, as an SVG file of its own.
fn file(title: &str, size: [u32; 2], body: &Markup) -> String {
    let own = "svg { background: var(--paper) } .workload, .ratio { font-weight: 600 }";
    let styled = markup(html! {
        style : Raw([COLOURS, own].concat());
        : body;
    });
    drawing(title, size, &styled).0 + "\n"
}

/// Writes a figure of a width and a height, in pixels, with `title` as its text for screen readers.
fn drawing(title: &str, [width, height]: [u32; 2], body: &Markup) -> Markup {
    let view = format!("-10 0 {} {height}", width + 20);
    markup(html! {
        svg(xmlns="http://www.w3.org/2000/svg", viewBox=view, width=width + 20, height=height, role="img") {
            title : title;
            : body;
        }
    })
}

/// A chart of one curve for the baseline and one for the candidate, on logarithmic axes.
struct Chart {
    title: String,
    under: String,
    /// The labels of the horizontal axis, each with its place, from the left.
    across: Vec<(f64, String)>,
    /// The labels of the vertical axis, each with its place, from below.
    up: Vec<(f64, String)>,
    /// Tells whether the diagonal is drawn, as the best that there can be.
    diagonal: bool,
    /// The points of the baseline and of the candidate, from the left.
    curves: [Vec<[f64; 2]>; 2],
}

impl Chart {
    /// Returns the chart of one workload's speed-ups.
    fn of_threads(curve: &SpeedUps<'_>, record: &Record) -> Self {
        let numbers = curve.points.iter().map(|point| point.threads as f64);
        let ticks: Vec<_> = [1.0]
            .into_iter()
            .chain(numbers)
            .map(|at| (at, at.to_string()))
            .collect();
        let side = |of: fn(&SpeedUp<'_>) -> f64| {
            let points = curve
                .points
                .iter()
                .map(|point| [point.threads as f64, of(point)]);
            [[1.0, 1.0]].into_iter().chain(points).collect()
        };
        Self {
            title: curve.one.row.workload.clone(),
            under: under(
                &curve.one.row.isa,
                record,
                [curve.one]
                    .into_iter()
                    .chain(curve.points.iter().map(|point| point.line)),
            ),
            across: ticks.clone(),
            up: ticks,
            diagonal: true,
            curves: [side(|point| point.baseline), side(|point| point.candidate)],
        }
    }

    /// Returns the chart of one family's cost of an element.
    fn of_sizes(costs: &Costs<'_>, record: &Record) -> Self {
        let place = |cost: &Cost<'_>| f64::from(cost.log_size).exp2();
        let side = |at: usize| -> Vec<_> {
            let points = costs.points.iter().map(|cost| [place(cost), cost.ns[at]]);
            points.collect()
        };
        let times = costs.points.iter().flat_map(|cost| cost.ns);
        // A scale up to twice the least time at least, so that noise does not look like a bend.
        let [low, high] = range(times);
        let ends = [low, high.max(2.0 * low)];
        let label = |cost: &Cost<'_>| (place(cost), format!("2^{}", cost.log_size));
        Self {
            title: costs.family.clone(),
            under: under(costs.isa, record, costs.points.iter().map(|cost| cost.line)),
            across: costs.points.iter().map(label).collect(),
            up: ends.map(|ns| (ns, digits(ns, 3) + " ns")).into(),
            diagonal: false,
            curves: [side(0), side(1)],
        }
    }

    fn draw(&self) -> Markup {
        const WIDTH: f64 = 240.0;
        const HEIGHT: f64 = 150.0;
        const LEFT: f64 = 60.0;
        const TOP: f64 = 36.0;
        let points = || self.curves.iter().flatten();
        let [left, right] = range(self.across.iter().map(|(at, _)| *at));
        let heights = self.up.iter().map(|(at, _)| *at);
        let [low, high] = range(heights.chain(points().map(|[_, height]| *height)));
        let x = |at: f64| {
            format!(
                "{:.1}",
                LEFT + WIDTH * (at / left).ln() / (right / left).ln()
            )
        };
        let y = |at: f64| format!("{:.1}", TOP + HEIGHT * (high / at).ln() / (high / low).ln());
        let curve = |points: &[[f64; 2]], radius: &str| {
            markup(html! {
                @ for ends in points.windows(2) {
                    line(x1=x(ends[0][0]), x2=x(ends[1][0]), y1=y(ends[0][1]), y2=y(ends[1][1]));
                }
                @ for [across, up] in points { circle(cx=x(*across), cy=y(*up), r=radius); }
            })
        };
        // Labels on both lines of a long axis would touch.
        let step = self.across.len().div_ceil(5);
        markup(html! {
            text(class="workload", x="0", y="14") : &self.title;
            text(class="soft", x="0", y="28") : &self.under;
            @ for (number, (at, label)) in self.across.iter().enumerate() {
                line(x1=x(*at), x2=x(*at), y1=y(low), y2=y(high));
                @ if number % step == 0 {
                    text(class="soft", x=x(*at), y=TOP + HEIGHT + 16.0, text-anchor="middle") : label;
                }
            }
            @ for (at, label) in &self.up {
                line(x1=x(left), x2=x(right), y1=y(*at), y2=y(*at));
                text(class="soft", x=LEFT - 8.0, y=y(*at), dy="4", text-anchor="end") : label;
            }
            @ if self.diagonal { line(class="one", x1=x(left), x2=x(right), y1=y(left), y2=y(right)); }
            g(class="control") : curve(&self.curves[0], "3.5");
            g(class="faster") : curve(&self.curves[1], "3");
        })
    }
}

/// Returns the text under the title of a chart of these rows: the instruction set and the CPU, with the marks of the rows.
fn under<'l>(
    isa: &str,
    record: &Record,
    lines: impl IntoIterator<Item = Line<'l>> + Clone,
) -> String {
    let cpu = known_as(&record.machine.cpu);
    format!("{isa}, {cpu} {}", marks_of(lines))
        .trim_end()
        .to_owned()
}

/// Returns the least and the greatest of positive values, apart from each other.
fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] = values.fold([f64::MAX, 0.0], |[low, high], value| {
        [f64::min(low, value), f64::max(high, value)]
    });
    [low, high.max(low * 1.05)]
}

/// Draws the curves of records as an SVG file of its own, if there are any.
pub fn curves_svg(title: &str, records: &[Record]) -> Option<String> {
    board(records).map(|(size, body)| file(title, size, &body))
}

/// Draws the curves of records for a page, if there are any.
pub(crate) fn curves(title: &str, records: &[Record]) -> Option<Markup> {
    board(records).map(|(size, body)| drawing(title, size, &body))
}

/// Draws a chart for each workload on several threads and for each family of several sizes. Returns the width and the height of all, in
/// pixels, with them.
fn board(records: &[Record]) -> Option<([u32; 2], Markup)> {
    const ACROSS: u32 = 2;
    const WIDTH: u32 = 350;
    const HEIGHT: u32 = 230;
    let mut charts = Vec::new();
    for record in records {
        let speed_ups = speed_ups(record);
        charts.extend((speed_ups.iter()).map(|curve| Chart::of_threads(curve, record)));
        charts.extend((costs(record).iter()).map(|costs| Chart::of_sizes(costs, record)));
    }
    let rows = (charts.len() as u32).div_ceil(ACROSS);
    let body = markup(html! {
        @ for (at, chart) in (0..).zip(&charts) {
            svg(x=at % ACROSS * WIDTH, y=at / ACROSS * HEIGHT, width=WIDTH, height=HEIGHT) : chart.draw();
        }
        text(class="soft", x="0", y=rows * HEIGHT + 14) :
            "Speed-up by threads, whose diagonal is their number, and time of an element by rows:";
        text(class="soft", x="0", y=rows * HEIGHT + 32) : "with patches (full dots) and without (hollow dots).";
    });
    (!charts.is_empty()).then_some(([ACROSS * WIDTH, rows * HEIGHT + 42], body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::show::section::lines;
    use crate::testing::{self, runs};

    fn row(ratio: f64, ci95: [f64; 2]) -> Row {
        Row {
            ratio,
            ci95,
            ..Row::new(&runs(0.8)).unwrap()
        }
    }

    /// Returns the values of the attribute `name` in `drawn`, in order.
    fn attributes<'a>(drawn: &'a str, name: &str) -> Vec<&'a str> {
        let (_, values) = drawn.split_once(name).unwrap_or_default();
        let values = values.split(name);
        values.map(|rest| rest.split('"').nth(1).unwrap()).collect()
    }

    #[test]
    fn a_half_lies_as_far_from_1_as_a_double() {
        let scale = Scale::of(&[row(0.5, [0.4, 2.5])]);
        assert!((scale.place(1.0) - 0.5).abs() < 1e-12);
        assert!((scale.place(0.5) + scale.place(2.0) - 1.0).abs() < 1e-12);
        // The interval, and a 112th part of room for 6 % at either side.
        assert!((scale.place(0.4) - 0.06 / 1.12).abs() < 1e-12);
        assert!((scale.place(2.5) - 1.06 / 1.12).abs() < 1e-12);
    }

    #[test]
    fn noise_is_not_stretched_into_an_effect() {
        let scale = Scale::of(&[Row {
            aa_ratio: 1.0,
            aa_ci95: [1.0, 1.0],
            ..row(0.999, [0.998, 1.001])
        }]);
        assert!(scale.place(1.001) - scale.place(0.998) < 0.05);
    }

    #[test]
    fn ticks_are_round_and_apart() {
        let labels = |low: f64, high: f64| -> Vec<String> {
            let scale = Scale::of(&[row(1.0, [low, high])]);
            scale.ticks().into_iter().map(|(_, label)| label).collect()
        };
        assert_eq!(labels(0.3, 1.1), ["0.4", "0.6", "0.8", "1.0"]);
        assert_eq!(labels(0.99, 1.01), ["0.96", "0.98", "1.00", "1.02", "1.04"]);
        assert_eq!(labels(0.05, 1.0), ["0.2", "0.4", "0.6", "1.0"]);
        for (low, high) in [(1e-4, 1.0), (0.9, 300.0), (0.7, 0.9), (1e-3, 1e3)] {
            let scale = Scale::of(&[row(1.0, [low, high])]);
            let ticks: Vec<f64> = scale.ticks().iter().map(|(tick, _)| *tick).collect();
            assert!(ticks.contains(&1.0), "{ticks:?}");
            let apart = |pair: &[f64]| scale.place(pair[1]) - scale.place(pair[0]);
            assert!(
                ticks.windows(2).all(|pair| apart(pair) > 0.099),
                "{ticks:?}"
            );
            let inside = |tick: &f64| (0.0..=1.0).contains(&scale.place(*tick));
            assert!(ticks.iter().all(inside), "{ticks:?}");
        }
    }

    #[test]
    fn a_known_row_is_drawn_where_it_belongs() {
        // ln 0.5 and ln 2 with 6 % of room: 1 is in the middle, 0.5 at 6/112.
        let row = Row {
            aa_ratio: 1.0,
            aa_ci95: [1.0, 2.0],
            ..row(0.5, [0.5, 1.0])
        };
        let drawn = strip(&row, &Scale::of([&row])).0;
        assert_eq!(attributes(&drawn, "cx="), ["50.00%", "5.36%"]);
        let (_, control) = drawn.split_once("<g class=\"control\">").unwrap();
        let (control, effect) = control.split_once("<g class=\"faster\">").unwrap();
        for (part, from, to) in [(control, "50.00%", "94.64%"), (effect, "5.36%", "50.00%")] {
            assert_eq!(attributes(part, "x1="), [from]);
            assert_eq!(attributes(part, "x2="), [to]);
        }
    }

    #[test]
    fn samples_are_drawn_in_their_order_and_left_out_ones_faint() {
        let mut runs = runs(0.8);
        runs.truncate(8);
        for (run, time) in runs.iter_mut().zip([100, 50, 50, 100, 100, 50, 50, 100]) {
            (run.wall_ns, run.cpu_ns) = (1000 * time, 1000 * time);
        }
        runs[7].seed = 1;
        runs[6].cpu_ns = 1;
        let drawn = samples(&runs, Verdict::Faster).0;
        let (control, candidate) = drawn.split_once("<g class=\"faster\">").unwrap();
        assert_eq!(
            attributes(control, "cx="),
            ["6.25%", "43.75%", "56.25%", "93.75%"]
        );
        assert_eq!(
            attributes(candidate, "cx="),
            ["18.75%", "31.25%", "68.75%", "81.25%"]
        );
        // All of one height: 12/124 from the top, and from the bottom.
        assert_eq!(attributes(control, "cy="), ["9.68%"; 4]);
        assert_eq!(attributes(candidate, "cy="), ["90.32%"; 4]);
        assert!(drawn.contains(">+0 %<") && drawn.contains(">\u{2212}50 %<"));
        // The disturbed run's seed and round were left out: three runs, since the last has another seed.
        assert_eq!(drawn.matches("class=\"out\"").count(), 3);
        assert!(attributes(control, "x1=").contains(&"87.50%"));
    }

    #[test]
    fn curves_are_drawn_where_they_belong() {
        let row = |workload: &str, baseline, candidate| Row {
            workload: workload.into(),
            baseline,
            candidate,
            ..row(0.8, [0.7, 0.9])
        };
        let drawn = |rows: &[Row]| {
            let drawn = curves_svg("x", &[record(rows.to_vec())]).unwrap();
            let (_, drawn) = drawn.split_once("<g class=\"control\">").unwrap();
            let (baseline, candidate) = drawn.split_once("<g class=\"faster\">").unwrap();
            let own = |side: &str, name| -> Vec<String> {
                attributes(side, name)
                    .into_iter()
                    .map(str::to_owned)
                    .collect()
            };
            let across = ["60.0", "180.0", "300.0"];
            [baseline, candidate].map(|side| {
                assert_eq!(own(side, "cx="), across);
                own(side, "cy=")
            })
        };
        let [baseline, candidate] = drawn(&[
            row("lde/x", 16.0, 8.0),
            row("lde/x/2-threads", 8.0, 4.0),
            row("lde/x/4-threads", 8.0, 2.0),
        ]);
        assert_eq!(baseline, ["186.0", "111.0", "111.0"]);
        assert_eq!(candidate, ["186.0", "111.0", "36.0"]);
        // 4, 2 and 1 ns an element; the candidate's 1, 1 and 1.
        let [baseline, candidate] = drawn(&[
            row("lde/x/2^20", 1.048576 * 4.0, 1.048576),
            row("lde/x/2^22", 4.194304 * 2.0, 4.194304),
            row("lde/x/2^24", 16.777216, 16.777216),
        ]);
        assert_eq!(baseline, ["36.0", "111.0", "186.0"]);
        assert_eq!(candidate, ["186.0", "186.0", "186.0"]);
        let alone = vec![row("lde/x", 16.0, 8.0)];
        assert_eq!(curves_svg("x", &[record(alone)]), None);
    }

    fn record(rows: Vec<Row>) -> Record {
        testing::record("A & <b>", rows, Vec::new())
    }

    #[test]
    fn names_in_a_figure_of_its_own_are_text() {
        let record = record(vec![Row {
            workload: "x<script>".into(),
            ..row(0.8, [0.7, 0.9])
        }]);
        let drawn = svg("<title> & more", &lines(std::slice::from_ref(&record)));
        for text in [
            ">&lt;title&gt; &amp; more<",
            ">A &amp; &lt;b&gt;<",
            ">x&lt;script&gt;<",
        ] {
            assert!(drawn.contains(text), "{text}");
        }
        assert!(drawn.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-10 0 "));
    }

    #[test]
    fn a_figure_says_what_is_old_or_of_a_loaded_machine() {
        let mut record = record(vec![row(0.8, [0.7, 0.9])]);
        let drawn = |record: &Record| svg("x", &lines(std::slice::from_ref(record)));
        assert!(
            !drawn(&record).contains([OUTDATED, LOADED].map(|mark| mark.chars().next().unwrap()))
        );
        record.outdated = true;
        assert!(drawn(&record).contains(">0.800\u{2020}<"));
        assert!(drawn(&record).contains(">\u{2020} of an earlier text of the patches<"));
        record.loaded.insert(record.rows[0].workload.clone(), 1.2);
        assert!(drawn(&record).contains(">0.800\u{2020}\u{2021}<"));
        assert!(drawn(&record).contains(">\u{2021} the machine was loaded<"));
    }
}
