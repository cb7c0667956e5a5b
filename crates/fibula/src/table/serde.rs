//! Serialization: a prefix as its text, a table as a map from that text to the value, a next hop as
//! its index.

use super::form::Form;
use crate::{Address, IpPrefix, NextHop, Prefix, Table};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

impl<A: Address> Serialize for Prefix<A> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, A: Address> Deserialize<'de> for Prefix<A> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(PhantomData))
    }
}

impl Serialize for IpPrefix {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for IpPrefix {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Text(PhantomData))
    }
}

impl Serialize for NextHop {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NextHop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u32::deserialize(deserializer).map(Self)
    }
}

impl<V: Serialize, F: Form<V>> Serialize for Table<V, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

/// Compiles once. Of several entries with the same prefix the last is kept.
impl<'de, V: Deserialize<'de>, F: Form<V>> Deserialize<'de> for Table<V, F> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries(PhantomData))
    }
}

/// Reads a prefix from its text.
struct Text<P>(PhantomData<P>);

impl<P: FromStr<Err = crate::Error>> Visitor<'_> for Text<P> {
    type Value = P;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a prefix as address/length")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<P, E> {
        text.parse().map_err(E::custom)
    }
}

/// Reads the entries of a table.
struct Entries<T>(PhantomData<T>);

impl<'de, V: Deserialize<'de>, F: Form<V>> Visitor<'de> for Entries<Table<V, F>> {
    type Value = Table<V, F>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from prefixes to values")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        // What the input says of its size is not trusted: the vector grows with what is read.
        let mut routes: Vec<(IpPrefix, V)> = Vec::new();
        while let Some(route) = map.next_entry()? {
            routes.push(route);
        }
        Ok(routes.into_iter().collect())
    }
}
