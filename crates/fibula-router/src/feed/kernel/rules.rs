//! The kernel's rules (`ip rule`), which say what table some packets are looked up in. A plane does
//! not read them: it has a table for each interface.

use super::{End, INET, INET6, dump};
use crate::Error;
use crate::message::Rule;
use crate::routes::LOCAL;
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};

/// The kind of message that asks for rules, and the length of its header.
const RULES: (u16, usize) = (34, 12);

/// Returns the rules of this network namespace (`ip rule`) that lead some packets elsewhere than to
/// the kernel's own tables in their order, by priority.
///
/// # Errors
/// If the kernel does not tell.
pub(crate) fn rules() -> Result<Vec<Rule>, Error> {
    let mut found = Vec::new();
    for family in [INET, INET6] {
        dump((RULES.0, RULES.1, family), |bytes| {
            let mut rest = bytes;
            while let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest) {
                rest = rest.get((message.header.length as usize).next_multiple_of(4)..).unwrap_or_default();
                match message.payload {
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRule(rule)) => {
                        found.extend(special(family == INET6, &rule));
                    }
                    NetlinkPayload::Done(_) => return End::Done,
                    NetlinkPayload::Error(error) => return End::Failed(-error.raw_code()),
                    _ => {}
                }
            }
            End::None
        })?;
    }
    found.sort();
    Ok(found)
}

/// Returns a rule that is not one of the kernel's own, nor of its VRFs.
fn special(ipv6: bool, rule: &RuleMessage) -> Option<Rule> {
    let (mut priority, mut table) = (0, u32::from(rule.header.table));
    let (mut interface, mut is_of_some) = (None, rule.header.tos != 0);
    for attribute in &rule.attributes {
        match attribute {
            RuleAttribute::Priority(number) => priority = *number,
            RuleAttribute::Table(id) => table = *id,
            RuleAttribute::Iifname(name) => interface = Some(name.clone()),
            // The interfaces of a VRF, whose table they have here too.
            RuleAttribute::L3MDev(true) => return None,
            RuleAttribute::Protocol(_) | RuleAttribute::SuppressPrefixLen(u32::MAX) => {}
            _ => is_of_some = true,
        }
    }
    let is_lookup = rule.header.action == RuleAction::ToTable;
    let is_own = interface.is_none() && !is_of_some && is_lookup && (253..=LOCAL).contains(&table);
    let table = (is_lookup && !is_of_some).then_some(table);
    (!is_own).then_some(Rule { priority, ipv6, interface, table })
}
