//! Every peer that is compiled in, against the oracle. Its wrong answers are counted and printed,
//! not hidden.

use fibula::engine::Config;
use fibula::{Address, Fib, Rib};
use fibula_io::generate::{NextHopModel, Size, internet};

fn wrong_answers<A: Address>(peer: &str, rib: &Rib<A>) -> usize {
    let fib = Fib::build_from(fibula_peers::engines(), peer, rib, Config::default()).unwrap();
    let oracle = Fib::build("oracle", rib).unwrap();
    let ends = rib.iter().flat_map(|route| [route.prefix.first(), route.prefix.last()]);
    let addresses: Vec<A> = ends.collect();
    let mut found = vec![fibula::NextHop::NONE; addresses.len()];
    fib.lookup_batch(&addresses, &mut found);
    let expected = addresses.iter().map(|&address| oracle.lookup_index(address));
    expected.zip(&found).filter(|(expected, found)| expected != *found).count()
}

#[test]
fn peers_answer_as_the_oracle_does() {
    let size = Size { ipv4: 20_000, ipv6: 10_000 };
    let tables = internet(size, NextHopModel::Near(100), 3).unwrap();
    for peer in fibula_peers::peers() {
        let name = peer.about.name;
        if peer.ipv4.is_some() {
            assert_eq!(wrong_answers(name, &tables.ipv4), 0, "{name}");
        }
        if peer.ipv6.is_some() {
            assert_eq!(wrong_answers(name, &tables.ipv6), 0, "{name}");
        }
    }
}
