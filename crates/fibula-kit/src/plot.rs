//! [`Chart`]: values drawn as SVG that takes its colours from the page.

use crate::rows::{distinct, groups};
use crate::template::{get, shown};
use crate::{Error, Row};
use plotters::prelude::*;
use serde_json::Value;

/// The size of a plot, in pixels; pages scale it.
const SIZE: (u32, u32) = (720, 360);

/// The colour of axes and text, which the page's own text colour replaces.
const INK: RGBColor = RGBColor(1, 1, 1);
/// As the plots' text has it, and what replaces it.
const INK_TEXT: (&str, &str) = ("#010101", "currentColor");

/// The colours of series: told apart by people who see few colours, on light and on dark.
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(140, 140, 140),
    RGBColor(148, 103, 189),
];

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line for each series, over positions in order.
    Lines,
    /// Groups of bars: a group for each position, a bar for each series.
    Bars,
}

/// A line or a set of bars.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// A value for each position, where there is one.
    pub values: Vec<Option<f64>>,
    /// Whether it has the colour of the series before, but fainter.
    pub is_faint: bool,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// How.
    pub kind: Kind,
    /// What the positions are.
    pub x: String,
    /// What the values are.
    pub y: String,
    /// The positions, in order.
    pub positions: Vec<String>,
    /// The lines or bars.
    pub series: Vec<Series>,
}

/// What the drawing library reports.
type DrawingError<'t> = Box<dyn std::error::Error + Send + Sync + 't>;

impl Chart {
    /// Returns the chart of rows: the key `x` has the positions. There is a series for each value
    /// of the key `by` and each of the keys `ys` that any of its rows has. Those after the first
    /// are faint and have the key in their names.
    #[must_use]
    pub fn of(kind: Kind, rows: &[&Row], by: &str, x: &str, ys: &[&str]) -> Self {
        let text =
            |row: &Row, key: &str| get(row, key).and_then(|value| shown(value, 1.0)).unwrap_or_default();
        let positions = distinct(rows.iter().map(|row| text(row, x)));
        let mut series: Vec<Series> = Vec::new();
        for rows in groups(rows.to_vec(), &[by.to_owned()]) {
            let before = series.len();
            for y in ys.iter().filter(|y| rows.iter().any(|row| get(row, y).is_some())) {
                let at = |position: &String| rows.iter().find(|row| text(row, x) == *position);
                let values = positions.iter().map(|position| get(at(position)?, y).and_then(Value::as_f64));
                let mut name = text(rows[0], by);
                if *y != ys[0] {
                    name.extend([", ", &y.replace('_', " ")]);
                }
                series.push(Series { name, values: values.collect(), is_faint: series.len() > before });
            }
        }
        let title = |key: &str| key.replace('_', " ");
        Self { kind, x: title(x), y: title(ys.first().unwrap_or(&"")), positions, series }
    }

    /// Draws the chart.
    ///
    /// # Errors
    /// If the drawing library fails.
    pub fn svg(&self) -> Result<String, Error> {
        let mut text = String::new();
        self.draw(&mut text).map_err(|error| Error::new(format!("a plot cannot be drawn: {error}")))?;
        Ok(text.replace(INK_TEXT.0, INK_TEXT.1))
    }

    fn draw<'t>(&self, text: &'t mut String) -> Result<(), DrawingError<'t>> {
        let Self { kind, x, y, positions, series } = self;
        let most =
            series.iter().flat_map(|series| series.values.iter().flatten()).copied().fold(0.0, f64::max);
        // Above the points is room for the names of the series.
        let top = most.max(f64::MIN_POSITIVE) * (1.1 + 0.07 * series.len() as f64);
        let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(8)
            .x_label_area_size(44)
            .y_label_area_size(72)
            .build_cartesian_2d(-0.5..positions.len() as f64 - 0.5, 0.0..top)?;
        let label = |at: &f64| {
            let whole = at.round();
            let is_position = (at - whole).abs() < 1e-6 && whole >= 0.0;
            let position = if is_position { positions.get(whole as usize) } else { None };
            position.cloned().unwrap_or_default()
        };
        let style = ("sans-serif", 13).into_font().color(&INK);
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.15))
            .axis_style(INK)
            .label_style(style.clone())
            .axis_desc_style(style.clone())
            .x_labels(positions.len() * 2)
            .x_label_formatter(&label)
            .x_desc(x.as_str())
            .y_desc(y.as_str())
            .draw()?;
        let mut colours = COLOURS.iter().cycle();
        let mut last = &COLOURS[0];
        for (number, Series { name, values, is_faint }) in series.iter().enumerate() {
            if !(*is_faint && number > 0) {
                last = colours.next().unwrap_or(last);
            }
            let places = (0..).zip(values).filter_map(|(at, value)| Some((f64::from(at), (*value)?)));
            let colour = last.mix(if *is_faint { 0.7 } else { 1.0 });
            let drawn = if *kind == Kind::Lines {
                let marks: Vec<(f64, f64)> = places.collect();
                chart.draw_series(marks.iter().map(|&at| Circle::new(at, 4, colour.stroke_width(2))))?;
                let width = if *is_faint { 1 } else { 2 };
                chart.draw_series(LineSeries::new(marks, colour.stroke_width(width)))?
            } else {
                let width = 0.8 / series.len() as f64;
                let left = -0.4 + width * number as f64;
                let bar = |(at, value): (f64, f64)| {
                    Rectangle::new([(at + left, 0.0), (at + left + width * 0.9, value)], colour.filled())
                };
                chart.draw_series(places.map(bar))?
            };
            drawn
                .label(name.as_str())
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], colour.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperRight)
            .label_font(style)
            .border_style(TRANSPARENT)
            .draw()?;
        area.present()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_names_its_series_and_takes_the_pages_colours() {
        let rows = [
            r#"{"series": "D18R", "threads": 1, "mlps": 200, "paper": 117}"#,
            r#"{"series": "D18R", "threads": 2, "mlps": 390}"#,
            r#"{"series": "IXP", "threads": 1, "paper": 30}"#,
        ];
        let rows = rows.map(|row| serde_json::from_str::<Row>(row).unwrap());
        for kind in [Kind::Lines, Kind::Bars] {
            let chart =
                Chart::of(kind, &rows.iter().collect::<Vec<_>>(), "series", "threads", &["mlps", "paper"]);
            let series: Vec<_> = chart.series.iter().map(|series| (&*series.name, series.is_faint)).collect();
            assert_eq!(series, [("D18R", false), ("D18R, paper", true), ("IXP, paper", false)]);
            assert_eq!(chart.series[1].values, [Some(117.0), None]);
            let svg = chart.svg().unwrap();
            for text in ["D18R", "D18R, paper", "IXP, paper", "threads", "mlps", "currentColor"] {
                assert!(svg.contains(text), "{text}: {svg}");
            }
            assert!(!svg.contains(INK_TEXT.0));
        }
    }
}
