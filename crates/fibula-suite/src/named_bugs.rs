//! Bugs that other implementations had, each by name.

use crate::Subject;
use crate::checked::{Checked, last_prefix, prefix};
use crate::tables::{Random, hosts, random_nested};
use fibula::engine::WidthBits;
use fibula::{Address, Applied, Change, NextHop, Prefix, Rib, Route};

/// /0 added first, last and again, beside a route that ends the space.
pub fn default_route_first_last_and_again<A: Address>(engine: &Subject) {
    let ends: [Prefix<A>; 3] = [last_prefix(A::BITS), last_prefix(16), prefix(0, 8)];
    for order in 0..2 {
        let mut table = Checked::new(engine, None, Rib::new());
        if order == 0 {
            table.announce(Prefix::ALL, 9);
        }
        for (end, hop) in ends.into_iter().zip(1..) {
            table.announce(end, hop);
            table.check();
        }
        table.announce(Prefix::ALL, 9);
        table.check();
        table.announce(Prefix::ALL, 8);
        table.check();
        table.withdraw(Prefix::ALL);
        table.check();
        table.announce(Prefix::ALL, 9);
        table.check();
    }
}

/// A cover between a shorter and longer ones is withdrawn: its own addresses fall back to the
/// shorter one.
pub fn middle_cover_deleted<A: Address>(engine: &Subject) {
    for middle in [9, 16, 17, 20, 24, 25, 28, A::BITS - 2] {
        let bits = 0x0A0A_0A0A_0A0A_0A0A;
        let mut table: Checked<A> = Checked::new(engine, None, Rib::new());
        table.announce(prefix(bits, 8), 1);
        table.announce(prefix(bits, middle), 2);
        table.announce(prefix(bits, middle + 1), 3);
        table.announce(prefix(bits, A::BITS), 4);
        table.check();
        table.withdraw(prefix(bits, middle));
        table.check();
        table.announce(prefix(bits, middle), 2);
        table.withdraw(prefix(bits, middle + 1));
        table.check();
    }
}

/// Add parent, add children, delete parent, delete children: nothing is left and no byte is lost.
pub fn parent_and_children_come_and_go<A: Address>(engine: &Subject) {
    let mut table: Checked<A> = Checked::new(engine, None, Rib::new());
    for round in 0..3_u64 {
        let bits = 0x2001_0DB8_0000_0000 + (round << 45);
        for parent_len in [12, 19, 23, 27] {
            let parent = prefix(bits, parent_len);
            let children: Vec<Prefix<A>> = (0..A::BITS - parent_len)
                .step_by(3)
                .map(|more| Prefix::containing(parent.last(), parent_len + 1 + more))
                .collect();
            table.announce(parent, 1);
            for (&child, hop) in children.iter().zip(2..) {
                table.announce(child, hop);
            }
            table.check();
            table.withdraw(parent);
            table.check();
            for &child in &children {
                table.withdraw(child);
            }
            assert!(table.rib.is_empty());
            table.check_at(&[A::ZERO, parent.first(), parent.last(), A::MAX]);
        }
    }
    table.check_no_leak();
}

/// A child with its parent's next hop is a route of its own: it stays when the parent changes or is
/// withdrawn.
pub fn child_with_its_parents_next_hop<A: Address>(engine: &Subject) {
    for len in [16, 17, 24, 25, A::BITS] {
        let (parent, child) = (prefix(0xC0A8_0101_0101_0101, 10), prefix(0xC0A8_0101_0101_0101, len));
        let mut table: Checked<A> = Checked::new(engine, None, Rib::new());
        table.announce(parent, 1);
        table.announce(child, 1);
        table.check();
        table.announce(parent, 2);
        table.check();
        table.announce(parent, 1);
        table.withdraw(parent);
        table.check();
        table.announce(parent, 1);
        table.withdraw(child);
        table.check();
    }
}

/// /31 and /32, /127 and /128: side by side, at both ends and in the middle.
pub fn point_to_point_and_host_routes<A: Address>(engine: &Subject) {
    let mut table: Checked<A> = Checked::new(engine, None, Rib::new());
    for at in [A::ZERO, A::MAX, A::from_bits(0x2001_0DB8_1234_5678, 0, 64)] {
        for (len, hop) in (A::BITS - 3..=A::BITS).zip(1..) {
            table.announce(Prefix::containing(at, len), hop);
            table.check();
        }
        table.withdraw(Prefix::containing(at, A::BITS - 1));
        table.check();
    }
    table.withdraw(Prefix::host(A::MAX));
    table.withdraw(Prefix::host(A::ZERO));
    table.check();
}

/// A vector load for the last address or the last entry must not read past the end.
pub fn last_address_in_every_lane<A: Address>(engine: &Subject) {
    let mut rib: Rib<A> = random_nested(31, 50, 9);
    rib.insert(last_prefix(A::BITS), NextHop(3));
    rib.insert(last_prefix(A::BITS - 7), NextHop(4));
    let mut table = Checked::new(engine, None, rib);
    table.check_at(&[A::MAX; 1300]);
    let almost = A::MAX.previous().unwrap();
    table.check_at(&(0..1300).map(|i| if i % 3 == 0 { almost } else { A::MAX }).collect::<Vec<A>>());
}

/// More blocks than 8 or 16 bits can name, made by the build and by updates, freed and used again.
pub fn block_indices_past_65535<A: Address>(engine: &Subject) {
    const BLOCKS: u64 = 66_000;
    let long = |i: u64| prefix::<A>((i << 40) | 0x55_u64 << 32 | 0x5555, if A::BITS == 32 { 29 } else { 61 });
    let rib: Rib<A> =
        (0..BLOCKS).map(|i| Route { prefix: long(i * 3), next_hop: NextHop((i % 5) as u32 + 1) }).collect();
    let mut table = Checked::new(engine, None, rib);
    let some = [0, 254, 255, 256, 257, 65_534, 65_535, 65_536, BLOCKS - 1].map(|i| long(i * 3));
    let around = |prefix: Prefix<A>| [prefix.first().previous().unwrap(), prefix.first(), prefix.last()];
    let at: Vec<A> = some.into_iter().flat_map(around).collect();
    table.check_at(&at);
    let withdrawals: Vec<Change<A>> = some.into_iter().map(Change::Withdraw).collect();
    table.apply(&withdrawals);
    table.check_at(&at);
    let announcements = some.into_iter().map(|p| Change::Announce(Route { prefix: p, next_hop: NextHop(6) }));
    table.apply(&announcements.collect::<Vec<_>>());
    table.check_at(&at);
}

/// Indices past 255 and past 65,535 come back whole.
pub fn next_hops_past_255_and_65535<A: Address>(engine: &Subject) {
    for count in [255, 256, 65_535, 65_536, 70_000] {
        let rib: Rib<A> = hosts(count, count);
        let mut table = Checked::new(engine, None, rib);
        assert_eq!(table.fib.width(), engine.width_for(NextHop(count)), "{engine}");
        let mut random = Random(41);
        let routes: Vec<Route<A>> = table.rib.iter().collect();
        let mut at: Vec<A> =
            (0..500).map(|_| routes[random.below(routes.len() as u64) as usize].prefix.first()).collect();
        let greatest = routes.iter().max_by_key(|route| route.next_hop).unwrap();
        at.push(greatest.prefix.first());
        table.check_at(&at);
    }
}

/// The 256th and the 65,536th next hop arrive by update: the engine is rebuilt at the greater
/// width.
pub fn next_hops_outgrow_their_width<A: Address>(engine: &Subject) {
    let mut table: Checked<A> = Checked::new(engine, None, random_nested(51, 200, 250));
    table.announce(prefix(1 << 60, 20), 255);
    assert_eq!(table.fib.width(), engine.width_for(NextHop(255)));
    for hop in [256, 65_535, 65_536] {
        table.announce(prefix(u64::from(hop) << 45, 22), hop);
        assert_eq!(table.fib.width(), engine.width_for(NextHop(hop)));
        table.check();
    }
}

/// Withdrawing what is not there changes nothing, whatever lies around it.
pub fn deleting_what_is_absent<A: Address>(engine: &Subject) {
    let mut table: Checked<A> = Checked::new(engine, None, random_nested(61, 100, 9));
    let before = table.rib.clone();
    for len in 0..=A::BITS {
        for at in [A::ZERO, A::MAX, A::from_bits(0x5555_5555_5555, 0, 48)] {
            let absent = Prefix::containing(at, len);
            if before.get(absent).is_none() {
                table.withdraw(absent);
            }
        }
    }
    assert_eq!(table.rib, before);
    assert!(matches!(table.fib.apply(&before, &[]), Ok(Applied::InPlace(_) | Applied::Rebuilt)));
    table.check();
}

/// An update that does not fit is refused whole, and the old table answers.
pub fn refused_update_leaves_the_table<A: Address>(engine: &Subject) {
    let mut table: Checked<A> = Checked::new(engine, Some(WidthBits::U8), random_nested(71, 300, 255));
    let before = table.rib.clone();
    let most = table.fib.width().max().0.min(table.fib.entry().about.next_hops_max);
    let error = table
        .try_apply(&[
            Change::Announce(Route { prefix: prefix(3 << 60, 18), next_hop: NextHop(17) }),
            Change::Announce(Route { prefix: prefix(5 << 60, 25), next_hop: NextHop(most + 1) }),
            Change::Withdraw(before.iter().next().unwrap().prefix),
        ])
        .unwrap_err();
    let most = u64::from(most);
    assert_eq!(error.limit().map(|limit| (limit.had, limit.max)), Some((most + 1, most)));
    assert_eq!(table.rib, before);
    table.check();
    table.announce(prefix(3 << 60, 18), 17);
    table.check();
}

/// A v4-mapped address is an IPv6 address like any other, answered by IPv6 routes alone.
pub fn v4_mapped_addresses_are_ipv6<A: Address>(engine: &Subject) {
    let mut table: Checked<A> = Checked::new(engine, None, Rib::new());
    table.announce(prefix(0x2000_0000_0000_0000, 3), 1);
    let Some(mapped) = A::from_ip("::ffff:10.1.2.3".parse().unwrap()) else {
        // IPv4 tables cannot even be asked.
        return;
    };
    assert_eq!(table.fib.lookup_index(mapped), NextHop::NONE);
    table.announce(Prefix::containing(mapped, 96), 2);
    table.announce(Prefix::containing(mapped, 120), 3);
    table.check();
    assert_eq!(table.fib.lookup_index(mapped), NextHop(3));
}

/// A /8 (or /32) over hundreds of longer routes changes again and again.
pub fn many_routes_under_one_short_prefix<A: Address>(engine: &Subject) {
    let mut random = Random(81);
    let short: Prefix<A> = prefix(0x0A00_0000_0000_0000, 8);
    let mut table: Checked<A> = Checked::new(engine, None, Rib::new());
    let below: Vec<Change<A>> = (0..400)
        .map(|i| {
            let address = short.first() | (random.address::<A>() & !A::mask(8));
            let len = 9 + random.below(u64::from(A::BITS) - 8) as u8;
            Change::Announce(Route { prefix: Prefix::containing(address, len), next_hop: NextHop(i % 9 + 1) })
        })
        .collect();
    table.apply(&below);
    for hop in [10, 3, 11] {
        table.announce(short, hop);
        table.check();
    }
    table.withdraw(short);
    table.check();
    table.announce(Prefix::ALL, 12);
    table.check();
}
