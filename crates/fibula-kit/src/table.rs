//! The Markdown writer of tables.

/// Writes a Markdown table. Columns of numbers are aligned to the right.
///
/// ```
/// let rows = [vec!["radix".into(), "8.5".into()], vec!["lulea".into(), String::new()]];
/// let table = fibula_kit::table(&["engine", "Mlps"], &rows);
/// assert_eq!(table, "| engine | Mlps |\n| --- | ---: |\n| radix | 8.5 |\n| lulea | |\n");
/// ```
#[must_use]
pub fn table<H: AsRef<str>>(header: &[H], rows: &[Vec<String>]) -> String {
    fn line<'c>(cells: impl Iterator<Item = &'c str>) -> String {
        let cells = cells.map(|cell| if cell.is_empty() { " |".into() } else { format!(" {cell} |") });
        format!("|{}\n", cells.collect::<String>())
    }
    let is_number = |column: usize| {
        let mut cells =
            rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty()).peekable();
        cells.peek().is_some() && cells.all(|cell| cell.parse::<f64>().is_ok())
    };
    let rule = (0..header.len()).map(|column| if is_number(column) { "---:" } else { "---" });
    let mut table = line(header.iter().map(AsRef::as_ref)) + &line(rule);
    table.extend(rows.iter().map(|row| line(row.iter().map(String::as_str))));
    table
}
