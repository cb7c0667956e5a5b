//! `LiveTableSet`: tables come, change and go.

use fibula::table_set::live::{LiveTableSet, SetReader, Settings};
use fibula::table_set::{Mixed, TableId};
use fibula::{Address, Change, ErrorKind, NextHop, Prefix, Rib, Route};
use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

const READERS: usize = 3;
const VERSIONS: u32 = 300;
/// How many versions a table stays.
const LIFE: u32 = 7;

fn announce<A: Address>(prefix: Prefix<A>, next_hop: u32) -> Change<A> {
    Change::Announce(Route { prefix, next_hop: NextHop(next_hop) })
}

fn prefix(text: &str) -> Prefix<u32> {
    text.parse().unwrap()
}

/// Two addresses of one table, which change together. The next hop of the first is the version + 1.
const ADDRESSES: [u32; 2] = [0x0A00_0001, 0xC000_0201];

/// What all threads know: the table that was created by each version, in order.
type Known = Mutex<Vec<TableId>>;

/// Checks guards until the last version shows: each table answers exactly while it is there, and
/// all tables are of the same version.
fn read(mut reader: SetReader<u32>, clock: TableId, known: &Known) {
    let (mut mixed, mut last) = (Mixed::default(), 0);
    while last < VERSIONS {
        let known = known.lock().unwrap().clone();
        let ids: Vec<TableId> = known.iter().chain([&clock]).flat_map(|&id| [id; 2]).collect();
        let addresses = ADDRESSES.repeat(ids.len() / 2);
        let mut answers = vec![NextHop(7); ids.len()];

        let tables = reader.guard();
        tables.lookup_batch(&ids, &addresses, &mut answers, &mut mixed);
        let version = tables.lookup(clock, ADDRESSES[0]).unwrap().0 - 1;
        for ((&id, &address), &answer) in ids.iter().zip(&addresses).zip(&answers) {
            assert_eq!(tables.lookup(id, address).unwrap_or_default(), answer);
        }
        // The tables that are known are at least those of the versions before the one that shows.
        for (created, answers) in (1..).zip(answers.chunks(2)).take(known.len()) {
            let is_there = created <= version && version < created + LIFE;
            let expected = if is_there { [version + 1, created] } else { [0; 2] };
            assert_eq!(answers, expected.map(NextHop), "table of version {created} at {version}");
        }
        assert!(version >= last, "{last} and then {version}");
        last = version;
        reader.rest();
    }
}

#[test]
fn readers_see_published_sets_whole_and_ids_never_reach_a_successor() {
    let settings = Settings { most_retired: 2, ..Settings::default() };
    let mut live: LiveTableSet<u32> = LiveTableSet::new("best", settings).unwrap();
    let clock = live.create();
    let changing = prefix("10.0.0.0/8");
    live.change(clock, announce(changing, 1)).unwrap();
    live.publish().unwrap();
    let known = Known::default();
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            let reader = live.reader();
            let known = &known;
            scope.spawn(move || read(reader, clock, known));
        }
        for version in 1..=VERSIONS {
            let alive = |created: &u32| created + LIFE > version;
            let mut ids = known.lock().unwrap();
            if version > LIFE {
                assert!(live.remove(ids[(version - LIFE) as usize - 1]));
            }
            let new = live.create();
            assert!(new.number() < LIFE + 2, "{new:?}");
            ids.push(new);
            drop(ids);
            let ids = known.lock().unwrap().clone();
            let tables = (1..).zip(ids).filter(|(created, _)| alive(created)).map(|(_, id)| id);
            for id in tables.chain([clock]) {
                live.change(id, announce(changing, version + 1)).unwrap();
            }
            live.change(new, announce(prefix("192.0.2.0/24"), version)).unwrap();
            while let Err(error) = live.publish() {
                assert_eq!(error.kind(), ErrorKind::ReadersHeldUp);
            }
        }
    });
    assert_eq!(live.published().len(), LIFE as usize + 1);
}

/// Without threads: whatever is taken in and whoever holds what, guards show the last publication.
#[test]
fn whoever_holds_it_up_a_set_follows_its_tables() {
    let settings = Settings { attempts: 0, most_retired: 3, stuck_after: Duration::ZERO };
    let mut random = fastrand::Rng::with_seed(1);
    let mut live: LiveTableSet<u32> = LiveTableSet::new("best", settings).unwrap();
    let (mut slow, mut fresh) = (live.reader(), live.reader());
    let (mut ribs, mut removed) = (HashMap::<TableId, Rib<u32>>::new(), Vec::new());
    let mut published = ribs.clone();
    let (mut publications, mut held_up) = (0, 0);
    for _ in 0..4000 {
        let known: Vec<TableId> = ribs.keys().copied().collect();
        let any = (!known.is_empty()).then(|| known[random.usize(..known.len())]);
        match (random.u8(..20), any) {
            (0, _) => assert!(ribs.insert(live.create(), Rib::new()).is_none()),
            (1, Some(id)) if known.len() > 3 => {
                assert!(live.remove(id) && !live.remove(id) && ribs.remove(&id).is_some());
                assert_eq!(live.change(id, announce(Prefix::ALL, 1)).unwrap_err().kind(), ErrorKind::Usage);
                removed.push(id);
            }
            (2, Some(id)) => {
                let route = |at| Route { prefix: Prefix::containing(at << 28, 4), next_hop: NextHop(at + 1) };
                let rib: Rib<u32> = (0..random.u32(..9)).map(route).collect();
                live.set(id, rib.clone()).unwrap();
                ribs.insert(id, rib);
            }
            (3..14, Some(id)) => {
                let prefix = Prefix::containing(random.u32(..) & 0xF00F_0000, random.u8(..=32));
                let change = if random.bool() {
                    announce(prefix, random.u32(1..300))
                } else {
                    Change::Withdraw(prefix)
                };
                live.change(id, change).unwrap();
                ribs.get_mut(&id).unwrap().apply(change);
            }
            (14, _) => drop(slow.guard().len()),
            (15, _) => slow.rest(),
            (at, _) => match if at < 18 { live.publish() } else { live.try_publish() } {
                Ok(()) => {
                    (published, publications) = (ribs.clone(), publications + 1);
                    assert!(!live.is_pending());
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::ReadersHeldUp);
                    held_up += 1;
                }
            },
        }
        assert!(ribs.iter().all(|(&id, rib)| live.rib(id) == Some(rib)));
        let tables = fresh.guard();
        assert_eq!(tables.len(), published.len());
        for (&id, rib) in &published {
            let lookup = |address| tables.lookup(id, address).unwrap_or_default();
            for route in rib {
                for address in [route.prefix.first(), route.prefix.last()] {
                    assert_eq!(lookup(address), rib.longest_match(address).unwrap().next_hop);
                }
            }
            if let Some(fib) = tables.fib(id) {
                fib.validate(rib).unwrap();
            }
            assert_eq!(tables.fib(id).is_none(), rib.is_empty());
        }
        for &id in removed.iter().filter(|id| !published.contains_key(id)) {
            assert_eq!(tables.lookup(id, 0x0A00_0001_u32), None);
        }
        fresh.rest();
    }
    assert!(publications > 100 && held_up > 50, "{publications} {held_up}");
}

#[test]
fn a_table_that_exceeds_a_limit_is_undone_alone() {
    let mut live: LiveTableSet<u128> = LiveTableSet::new("mosaic6", Settings::default()).unwrap();
    let ids = [(); 3].map(|()| live.create());
    for next_hop in [1, 2] {
        for id in ids {
            live.change(id, announce(Prefix::ALL, next_hop)).unwrap();
        }
        live.publish().unwrap();
    }
    for (id, next_hop) in ids.into_iter().zip([3, u32::MAX, 4]) {
        live.change(id, announce(Prefix::ALL, next_hop)).unwrap();
    }
    let answers = |live: &LiveTableSet<u128>| ids.map(|id| live.published().lookup(id, 7_u128).unwrap().0);
    assert!(matches!(live.publish().unwrap_err().kind(), ErrorKind::Limit(_)));
    assert_eq!(answers(&live), [2; 3]);
    assert_eq!(live.rib(ids[1]).unwrap().max_next_hop(), NextHop(2));
    live.publish().unwrap();
    assert_eq!((answers(&live), live.is_pending()), ([3, 2, 4], false));
}
