//! The kernel's rules (`ip rule`), which say what table some packets are looked up in. No plane
//! reads them.

use super::{End, INET, INET6, dump};
use crate::Error;
use crate::routes::LOCAL;
use netlink_packet_core::{NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleMessage};
use std::collections::BTreeSet;

/// The kind of message that asks for rules, and the length of its header.
const RULES: (u16, usize) = (34, 12);

/// Returns the priorities of the rules of this network namespace (`ip rule`) that lead some packets
/// elsewhere than to the kernel's own tables in their order.
///
/// # Errors
/// If the kernel does not tell.
pub(crate) fn rules() -> Result<BTreeSet<u32>, Error> {
    let mut found = BTreeSet::new();
    for family in [INET, INET6] {
        dump((RULES.0, RULES.1, family), |bytes| {
            let mut rest = bytes;
            while let Ok(message) = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest) {
                rest = rest.get((message.header.length as usize).next_multiple_of(4)..).unwrap_or_default();
                match message.payload {
                    NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRule(rule)) => {
                        found.extend(special(&rule));
                    }
                    NetlinkPayload::Done(_) => return End::Done,
                    NetlinkPayload::Error(error) => return End::Failed(-error.raw_code()),
                    _ => {}
                }
            }
            End::None
        })?;
    }
    Ok(found)
}

/// Returns the priority of a rule that is not one of the kernel's own, nor of its VRFs.
fn special(rule: &RuleMessage) -> Option<u32> {
    let (mut priority, mut table, mut is_of_some) = (0, u32::from(rule.header.table), false);
    for attribute in &rule.attributes {
        match attribute {
            RuleAttribute::Priority(number) => priority = *number,
            RuleAttribute::Table(id) => table = *id,
            // The interfaces of a VRF, whose table they have here too.
            RuleAttribute::L3MDev(true) => return None,
            RuleAttribute::Protocol(_) | RuleAttribute::SuppressPrefixLen(u32::MAX) => {}
            _ => is_of_some = true,
        }
    }
    let is_own = (253..=LOCAL).contains(&table) && rule.header.action == RuleAction::ToTable;
    (is_of_some || !is_own).then_some(priority)
}
