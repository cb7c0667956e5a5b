//! Draws the points of a finding as SVG that takes its colours from the page.

use crate::finding::distinct;
use crate::{Error, Finding, Plot, Point};
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

/// A line or set of bars: its name, and its values by position.
type Series<'p> = (String, Vec<Option<f64>>, &'p RGBColor);

/// Draws the points of one unit. `None` where nothing is to be drawn.
pub(crate) fn svg(finding: &Finding, unit: &str) -> Result<Option<String>, Error> {
    let points: Vec<&Point> = finding.points.iter().filter(|point| point.unit == unit).collect();
    let positions = distinct(points.iter().map(|point| point.at.as_str()));
    let names = distinct(points.iter().map(|point| point.series.as_str()));
    if finding.plot == Plot::None || positions.len() < 2 {
        return Ok(None);
    }
    let mut series: Vec<Series<'_>> = Vec::new();
    for (name, colour) in names.iter().zip(COLOURS.iter().cycle()) {
        let of = |value: fn(&Point) -> Option<f64>| -> Vec<Option<f64>> {
            let at =
                |position: &&str| points.iter().find(|point| point.series == *name && point.at == **position);
            positions.iter().map(|position| at(position).and_then(|point| value(point))).collect()
        };
        let (ours, paper) = (of(|point| point.ours), of(|point| point.paper));
        if ours.iter().any(Option::is_some) {
            series.push(((*name).to_owned(), ours, colour));
        }
        if paper.iter().any(Option::is_some) {
            series.push((format!("{name}, paper"), paper, colour));
        }
    }
    let mut text = String::new();
    draw(&mut text, finding.plot, (finding.axis, unit), &positions, &series).map_err(Error::plot)?;
    Ok(Some(text.replace(INK_TEXT.0, INK_TEXT.1)))
}

/// What the drawing library reports.
type DrawingError<'t> = Box<dyn std::error::Error + Send + Sync + 't>;

fn draw<'t>(
    text: &'t mut String,
    plot: Plot,
    (axis, unit): (&str, &str),
    positions: &[&str],
    series: &[Series<'_>],
) -> Result<(), DrawingError<'t>> {
    let most = series.iter().flat_map(|(_, values, _)| values.iter().flatten()).copied().fold(0.0, f64::max);
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
        position.map_or_else(String::new, |name| (*name).to_owned())
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
        .x_desc(axis)
        .y_desc(unit)
        .draw()?;
    for (number, (name, values, colour)) in series.iter().enumerate() {
        let is_paper = name.ends_with(", paper");
        let places = (0..).zip(values).filter_map(|(at, value)| Some((f64::from(at), (*value)?)));
        let colour = if is_paper { colour.mix(0.7) } else { colour.mix(1.0) };
        let drawn = if plot == Plot::Lines {
            let marks: Vec<(f64, f64)> = places.collect();
            chart.draw_series(marks.iter().map(|&at| Circle::new(at, 4, colour.stroke_width(2))))?;
            let width = if is_paper { 1 } else { 2 };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_names_its_series_and_takes_the_pages_colours() {
        let points = vec![
            Point::new("D18R", 1, "Mlps", 200.0).beside(117.0),
            Point::new("D18R", 2, "Mlps", 390.0),
            Point::new("D16R", 1, "Mlps", 150.0),
        ];
        let mut finding = Finding::new("threads", Plot::Lines, points);
        for plot in [Plot::Lines, Plot::Bars] {
            finding.plot = plot;
            let svg = svg(&finding, "Mlps").unwrap().unwrap();
            for text in ["D18R", "D18R, paper", "D16R", "threads", "Mlps", "currentColor"] {
                assert!(svg.contains(text), "{text}: {svg}");
            }
            assert!(!svg.contains(INK_TEXT.0));
        }
        assert_eq!(svg(&finding, "ms").unwrap(), None, "no point has this unit");
    }
}
