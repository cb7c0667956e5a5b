//! A table in a file: what would otherwise come from a daemon, for tests and trials.

use super::{Feed, Mark, Queue, Session};
use crate::Error;
use crate::config;
use crate::message::{Event, Leg, Target};
use crate::routes::MAIN;
use fibula::{IpPrefix, NextHop};
use fibula_io::Source;
use fibula_io::table::{ReadOptions, read};
use nix::net::if_::if_nametoindex;
use std::time::Instant;

/// The only session.
const SESSION: Session = Session { feed: Feed::Table, number: 1 };

/// The metric of static routes, and their protocol as `rtm_protocol` says it.
const METRIC: u32 = 20;
const STATIC: u8 = 4;

/// Reads a table in any format that fibula reads, and tells all of its routes. Routes of the `n`-th
/// next hop lead to the `n`-th leg, from the first one on again where there are more.
///
/// # Errors
/// If the file cannot be read, an interface does not exist, or there is no leg. Nothing was told
/// then.
pub fn tell<C>(table: &config::Table, queue: &Queue<C>) -> Result<(), Error> {
    let leg = |leg: &config::Leg| {
        let index = if_nametoindex(leg.interface.as_str());
        let interface = index.map_err(|error| Error::io(format!("interface {}", leg.interface), error))?;
        Ok(Leg { interface, gateway: Some(leg.gateway), weight: 1 })
    };
    let legs: Vec<Leg> = table.legs.iter().map(leg).collect::<Result<_, Error>>()?;
    if legs.is_empty() {
        let text = format!("{}: the routes need at least one of `table.legs`", table.file.display());
        return Err(fibula::Error::new(fibula::ErrorKind::Usage, text).into());
    }
    let tables = read(&Source::File(table.file.clone()), &ReadOptions::default())?.tables;
    let event = |prefix: IpPrefix, next_hop: NextHop| {
        let leg = legs[(next_hop.0.max(1) as usize - 1) % legs.len()];
        let target = Some(Target::Legs([leg].into()));
        Event::Route { table: MAIN, prefix, metric: METRIC, protocol: STATIC, target }
    };
    let ipv4 = tables.ipv4.iter().map(|route| event(route.prefix.into(), route.next_hop));
    let ipv6 = tables.ipv6.iter().map(|route| event(route.prefix.into(), route.next_hop));
    queue.fill(|batch| batch.marks.push(Mark::Begun(SESSION)));
    queue.add(SESSION, Instant::now(), 0, ipv4.chain(ipv6));
    queue.fill(|batch| batch.marks.push(Mark::Complete(SESSION)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn config(file: &std::path::Path, interfaces: &[&str]) -> config::Table {
        let leg = |(interface, last): (&&str, u8)| config::Leg {
            interface: (*interface).into(),
            gateway: [192, 0, 2, last].into(),
        };
        config::Table { file: file.into(), legs: interfaces.iter().zip(1..).map(leg).collect() }
    }

    #[test]
    fn next_hops_take_the_legs_in_turn() {
        let file = std::env::temp_dir().join(format!("fibula-feed-{}.txt", std::process::id()));
        std::fs::write(&file, "10.0.0.0/8 1\n10.1.0.0/16 2\n2001:db8::/32 3\n").unwrap();
        let queue = Queue::<()>::default();
        tell(&config(&file, &["lo", "lo"]), &queue).unwrap();
        let batch = queue.take(None, Duration::ZERO);
        let gateway = |prefix: &str| {
            let is_of = |key: &super::super::RouteKey| key.prefix.to_string() == prefix;
            let update = batch.routes.iter().find(|(key, _)| is_of(key)).unwrap().1;
            match &update.target {
                Some(Target::Legs(legs)) => legs[0].gateway.unwrap().to_string(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            ["10.0.0.0/8", "10.1.0.0/16", "2001:db8::/32"].map(gateway),
            ["192.0.2.1", "192.0.2.2", "192.0.2.1"]
        );
        assert_eq!(batch.marks, [Mark::Begun(SESSION), Mark::Complete(SESSION)]);
        for (interfaces, wrong) in [(&["none-such"][..], "interface none-such: "), (&[], "table.legs")] {
            let error = tell(&config(&file, interfaces), &queue).unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
        std::fs::remove_file(&file).unwrap();
        let error = tell(&config(&file, &["lo"]), &queue).unwrap_err().to_string();
        assert!(error.contains(&file.display().to_string()), "{error}");
        assert!(queue.take(Some(Instant::now()), Duration::ZERO).is_empty());
    }
}
