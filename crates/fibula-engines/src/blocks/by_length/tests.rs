//! Where entries are stored, and that `validate` finds entries that do not belong.

use super::*;
use crate::blocks::bloom::Aim;
use crate::blocks::expanded::Entries;
use crate::blocks::probing::Drawn;
use fibula::NextHop;

type Table = ByLength<u128, u8, Drawn, 4>;

fn rib() -> Rib<u128> {
    let routes = [
        ("::/0", 5),
        ("2001:db8::/32", 1),
        ("2001:db8::/47", 2),
        ("2001:db8:1::/48", 3),
        ("2001:db8:2:3:4::/80", 4),
    ];
    let route =
        |(prefix, hop): (&str, u32)| Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(hop) };
    routes.into_iter().map(route).collect()
}

fn table() -> Table {
    ByLength::build(&rib(), &[32, 48, 64], Drawn, Aim::Percent(10), Pages::Small).unwrap()
}

#[test]
fn every_route_stands_at_its_level() {
    let table = table();
    table.validate(&rib()).unwrap();
    let entries = |at: usize| {
        let mut entries: Vec<_> = table.levels[at].pair.iter().collect();
        entries.sort_unstable_by_key(|&(key, _)| key);
        entries
    };
    let entry = |next_hop, len| Expanded { next_hop, len, longer: false };
    assert_eq!(entries(0), [(0x2001_0DB8, entry(1, 32))]);
    assert_eq!(entries(1), [(0x2001_0DB8_0000, entry(2, 47)), (0x2001_0DB8_0001, entry(3, 48))]);
    let mark = Expanded { longer: true, ..Expanded::default() };
    assert_eq!(entries(2), [(0x2001_0DB8_0002_0003, mark)]);
    assert_eq!((table.default, table.estimated()), (5, 1 + 2 + 1));
}

#[test]
fn what_is_not_the_tables_is_found() {
    let complaint = |spoil: &dyn Fn(&mut Table)| {
        let mut table = table();
        spoil(&mut table);
        table.validate(&rib()).unwrap_err()
    };
    let stray = Expanded { next_hop: 9, len: 48, longer: false };
    assert!(complaint(&|table| table.default = 9).starts_with("default route to 9"));
    assert_eq!(complaint(&|table| table.levels[0].routes = 2), "/32: (2, 1) counted, expected (1, 1)");
    assert_eq!(
        complaint(&|table| {
            table.levels[1].pair.set_entry(7, stray);
        }),
        "/48: 3 entries, expected 2"
    );
    assert!(
        complaint(&|table| {
            table.levels[1].pair.set_entry(0x2001_0DB8_0001, stray);
        })
        .starts_with("/48: 2001:db8:1::/48 leads to")
    );
    assert_eq!(
        complaint(&|table| {
            table.levels[2].pair.set_entry(0x2001_0DB8_0002_0003, Expanded::default());
        }),
        "/64: 0 entries, expected 1"
    );
    assert!(!complaint(&|table| table.longer = Patricia::plant([], Pages::Small).unwrap()).is_empty());
}
