//! Writes the numbers and tables of the studies' pages.

/// Writes a number: whole from 100 on, else with three significant digits.
pub(super) fn short(value: f64) -> String {
    if value.fract() == 0.0 || value >= 100.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else if value >= 0.01 {
        format!("{value:.2}")
    } else {
        format!("{value:.1e}")
    }
}

/// Writes a number, or a dash where there is none.
pub(super) fn maybe(value: Option<f64>) -> String {
    value.map_or("-".into(), short)
}

/// Returns the last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}

/// Writes a table.
pub(super) fn table_of(header: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut table = line(header);
    let rule: Vec<String> = header.iter().map(|_| "---".to_owned()).collect();
    table.push_str(&line(&rule));
    rows.for_each(|row| table.push_str(&line(&row)));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 3.0, 0.0012, 0.5, 12.34, 1234.5].map(short),
            ["0", "3", "1.2e-3", "0.50", "12.3", "1234"]
        );
        assert_eq!(maybe(None), "-");
    }

    #[test]
    fn tables_have_a_rule() {
        let header = ["engine", "Mlps"].map(String::from);
        let row = ["radix", "8"].map(String::from).to_vec();
        assert_eq!(table_of(&header, [row].into_iter()), "| engine | Mlps |\n| --- | --- |\n| radix | 8 |\n");
        assert_eq!(base_name("folder/t.tsv"), "t.tsv");
    }
}
