//! A program for `callgrind`, or for an emulator that counts: the batch lookups of every engine, in
//! a call whose instructions are counted. Run as a test it checks the answers of all engines. With
//! an engine, a family and an instruction set as arguments it checks that one alone.

use fibula::engine::{Entry, WidthBits};
use fibula::parts::arch::Level;
use fibula::{Address, Fib, NextHop, NextHopSlice, Prefix, Rib};
use fibula_engines::all;

/// The instruction sets that the counter supports; only those of the processor are used.
const LEVELS: [&str; 3] = ["scalar", "avx2", "neon"];

/// The number of addresses each engine looks up: whole batches of every engine.
const ADDRESSES: usize = 8192;

/// The number of routes, and of distinct next hops among them.
const ROUTES: usize = 3000;
const NEXT_HOPS: u32 = 100;

fn main() {
    // A run of all tests may pass options of the usual harness.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let ipv4 = made::<u32>(&[16, 19, 20, 22, 22, 23, 24, 24, 24, 24]);
    let ipv6 = made::<u128>(&[29, 32, 32, 36, 40, 44, 48, 48, 48, 48]);
    for entry in all() {
        for level in LEVELS.into_iter().filter_map(Level::named) {
            count(entry, level, &ipv4, &wanted);
            count(entry, level, &ipv6, &wanted);
        }
    }
}

/// Prints a line for each counted call, in order: the engine, the family, the instruction set, and
/// the number of lookups.
fn count<A: Address>(entry: &Entry, level: Level, (rib, addresses): &(Rib<A>, Vec<A>), wanted: &[String]) {
    let name = entry.about.name;
    let words = [name, &A::FAMILY.to_string(), level.name()];
    if !entry.does(A::FAMILY) || wanted.iter().zip(words).any(|(wanted, word)| wanted != word) {
        return;
    }
    let mut fib = fibula_engines::build(name, rib).unwrap();
    fib.set_isa(level);
    // An engine with one width answers in that.
    let (mut narrow, mut wide) = (vec![0_u8; addresses.len()], vec![0_u32; addresses.len()]);
    let is_narrow = fib.width() == WidthBits::U8;
    let next_hops: NextHopSlice<'_> =
        if is_narrow { (&mut narrow[..]).into() } else { (&mut wide[..]).into() };
    mark();
    lookups_counted(&fib, addresses, next_hops);
    mark();
    for ((&address, narrow), wide) in addresses.iter().zip(narrow).zip(wide) {
        let next_hop = NextHop(if is_narrow { narrow.into() } else { wide });
        let expected = rib.longest_match(address).map_or(NextHop::NONE, |route| route.next_hop);
        assert_eq!(next_hop, expected, "{name}, {level}: {}", address.to_ip());
    }
    println!("{} {}", words.join(" "), addresses.len());
}

/// Makes a system call that nothing else here makes. Between two of them an emulator counts, which
/// knows no names of functions.
fn mark() {
    #[cfg(unix)]
    let _ = std::os::unix::process::parent_id();
}

/// The call whose instructions are counted.
#[inline(never)]
fn lookups_counted<A: Address>(fib: &Fib<A>, addresses: &[A], next_hops: NextHopSlice<'_>) {
    fib.lookup_batch_into(addresses, next_hops);
}

/// Returns routes of these lengths in a few blocks, and addresses in them.
fn made<A: Address>(lengths: &[u8]) -> (Rib<A>, Vec<A>) {
    const BLOCKS: u64 = 40;
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut rib = Rib::new();
    while rib.len() < ROUTES {
        let block = (0x2A00 + random() % BLOCKS) << 48;
        let len = lengths[random() as usize % lengths.len()];
        let prefix = Prefix::containing(A::from_bits(block | random() >> 16, 0, 64), len);
        rib.insert(prefix, NextHop(1 + random() as u32 % NEXT_HOPS));
    }
    let routes: Vec<Prefix<A>> = rib.iter().map(|route| route.prefix).collect();
    let within = |prefix: Prefix<A>, random: u64| {
        let host = A::from_bits(random, 0, 64);
        prefix.first() | (host & !Prefix::containing(A::MAX, prefix.len()).first())
    };
    let addresses = (0..ADDRESSES).map(|_| {
        let prefix = routes[random() as usize % routes.len()];
        within(prefix, random())
    });
    (rib, addresses.collect())
}
