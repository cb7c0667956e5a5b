use super::layout::{Mosaic6Table, MosaicTable};
use super::{CHAIN, ENDS, LEAVES, NUMBER, POINTS};
use fibula::engine::Pages;
use fibula::{Change, NextHop, Prefix, Rib, Route};

fn rib<A: fibula::Address>(routes: &[(&str, u32)]) -> Rib<A> {
    let route =
        |&(prefix, hop): &(&str, u32)| Route { prefix: prefix.parse().unwrap(), next_hop: NextHop(hop) };
    routes.iter().map(route).collect()
}

#[test]
fn the_worked_example_of_the_page() {
    let table =
        MosaicTable::<u8>::compile(&rib(&[("10.0.0.0/8", 1), ("10.0.1.0/24", 2)]), Pages::Small).unwrap();
    let first = (10 << 10) as usize;
    assert_eq!(table.root[first] & (POINTS | LEAVES), POINTS | LEAVES);
    assert_eq!(table.leaves.get(table.root[first] & NUMBER)[..3], [1, 2, 1]);
    assert!(table.root[first + 1..first + 1024].iter().all(|&entry| entry == 1));
    assert_eq!((table.root[first - 1], table.root[first + 1024]), (0, 0));
    assert_eq!((table.nodes.len(), table.leaves.len(), table.ends.len()), (0, 1, 0));
    let longer = rib(&[("10.0.0.0/8", 1), ("10.0.1.0/24", 2), ("10.0.1.0/25", 3)]);
    let mut table = table;
    table.follow(&longer, ["10.0.1.0/25".parse().unwrap()]).unwrap();
    let [before, with_ends, after, ..] = table.nodes.get(table.root[first] & NUMBER);
    assert_eq!((before, with_ends & ENDS, after), (1, ENDS, 1));
    let ends = table.ends.get(with_ends & NUMBER);
    assert!(ends[..128] == [3; 128] && ends[128..] == [2; 128]);
}

#[test]
fn a_lone_path_is_chains_and_parts_where_another_begins() {
    let lone = rib(&[("2001:db8::/32", 1), ("2001:db8:0:1::/64", 2)]);
    let mut table = Mosaic6Table::<u16>::compile(&lone, Pages::Small).unwrap();
    let entry = table.root[0x2001];
    assert_eq!(entry & (POINTS | CHAIN), POINTS | CHAIN);
    // To the /32 and, since there the other answer is different, a second one to the /64.
    let [value, len, other, below] = table.chains.get(entry & NUMBER);
    assert_eq!((value, len, other), (0x0DB8, 16, 0));
    assert_eq!(table.chains.get(below & NUMBER), [1, 32, 1, 2]);
    assert_eq!((table.chains.len(), table.nodes.len(), table.leaves.len()), (2, 0, 0));
    // A second path from inside the first, and back.
    let mut two = lone.clone();
    let change = Change::Announce(Route { prefix: "2001:db8:7::/48".parse().unwrap(), next_hop: NextHop(3) });
    let prefix = change.prefix();
    two.apply(change);
    table.follow(&two, [prefix]).unwrap();
    table.contradiction(&two).unwrap();
    assert!(table.nodes.len() == 1, "the paths part at one place");
    table.follow(&lone, [prefix]).unwrap();
    table.contradiction(&lone).unwrap();
    assert_eq!((table.chains.len(), table.nodes.len()), (2, 0));
}

#[test]
fn spoilt_structures_are_noticed() {
    let rib = rib(&[("10.0.0.0/8", 1), ("10.0.1.0/28", 2), ("10.1.1.0/24", 2)]);
    let spoilt = |spoil: fn(&mut MosaicTable<u8>)| {
        let mut table = MosaicTable::compile(&rib, Pages::Small).unwrap();
        table.contradiction(&rib).unwrap();
        spoil(&mut table);
        table.contradiction(&rib).unwrap_err()
    };
    assert!(spoilt(|table| table.root[5] = 1).contains("expected 0, found 0x1"));
    assert!(spoilt(|table| table.root[10 << 10] = POINTS | 0x77).contains("points to"));
    let twice = spoilt(|table| table.leaves.retain(0, 1));
    assert!(twice.contains("references"), "{twice}");
    let twice = spoilt(|table| table.ends.retain(0, 1));
    assert!(twice.contains("references"), "{twice}");
}

#[test]
fn a_version_is_patched_into_the_next() {
    let mut rib: Rib<u32> = rib(&[("10.0.0.0/8", 1)]);
    let mut table = MosaicTable::<u8>::compile(&rib, Pages::Small).unwrap();
    let before: Vec<Vec<u8>> = table.parts().iter().map(|part| part.to_vec()).collect();
    let first = table.version;
    let prefix: Prefix<u32> = "10.0.1.0/25".parse().unwrap();
    rib.insert(prefix, NextHop(2));
    let touched = table.follow(&rib, [prefix]).unwrap();
    let patch = table.patch(touched);
    assert!(patch.bytes() < 1000, "one entry and the leaves: {}", patch.bytes());
    let mut after = before;
    for (part, length) in after.iter_mut().zip(patch.lengths()) {
        part.resize(length, 0);
    }
    for piece in patch.onto(first).unwrap() {
        after[piece.part][piece.at..piece.at + piece.bytes.len()].copy_from_slice(&piece.bytes);
    }
    assert!(after.iter().zip(table.parts()).all(|(after, part)| after == part));
    assert!(patch.onto(table.version).is_err());
}
