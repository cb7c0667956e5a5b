//! [`Chart`]: values drawn as SVG that takes its colours from the page.

use crate::Error;
use plotters::prelude::*;

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
        let series = |name: &str, values: [Option<f64>; 2], is_faint| Series {
            name: name.into(),
            values: values.into(),
            is_faint,
        };
        for kind in [Kind::Lines, Kind::Bars] {
            let chart = Chart {
                kind,
                x: "threads".into(),
                y: "Mlps".into(),
                positions: ["1", "2"].map(String::from).into(),
                series: vec![
                    series("D18R", [Some(200.0), Some(390.0)], false),
                    series("D18R, paper", [Some(117.0), None], true),
                    series("D16R", [Some(150.0), None], false),
                ],
            };
            let svg = chart.svg().unwrap();
            for text in ["D18R", "D18R, paper", "D16R", "threads", "Mlps", "currentColor"] {
                assert!(svg.contains(text), "{text}: {svg}");
            }
            assert!(!svg.contains(INK_TEXT.0));
        }
    }
}
