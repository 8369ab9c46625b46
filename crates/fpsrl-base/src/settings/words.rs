//! Values of the problem file that are a number or a word: `centre = "data"`, `patience = "none"`, `layers = "auto"`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// One text or several: a column may have another name in every file.
#[derive(Clone, Debug, PartialEq, serde::Deserialize)]
#[serde(untagged, expecting = "expected a text in quotes, or a list of them")]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// As a list, without empty texts.
    pub fn list(self) -> Vec<String> {
        let list = match self {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(list) => list,
        };
        list.into_iter().filter(|text| !text.is_empty()).collect()
    }
}

/// A value, or a word ("data" or "none") that says there is none.
///
/// The word exists so that a file can switch a benchmark's default off, and so that a complete file can say it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OrWord<T> {
    /// The word.
    Word,
    /// The value.
    Value(T),
}

impl<T> OrWord<T> {
    /// The value, if it is not the word.
    pub fn value(self) -> Option<T> {
        match self {
            OrWord::Word => None,
            OrWord::Value(value) => Some(value),
        }
    }
}

/// What may stand in the place of a word.
trait Alternative: Sized {
    const WORD: &'static str;
    const EXPECTING: &'static str;
    fn from_number(_number: f64) -> Option<Self> {
        None
    }
    fn from_count(_count: u64) -> Option<Self> {
        None
    }
    fn from_pair(_pair: [f64; 2]) -> Option<Self> {
        None
    }
}

impl Alternative for f64 {
    const WORD: &'static str = "none";
    const EXPECTING: &'static str = "a number or \"none\"";
    fn from_number(number: f64) -> Option<Self> {
        Some(number)
    }
    fn from_count(count: u64) -> Option<Self> {
        Some(count as f64)
    }
}

impl Alternative for usize {
    const WORD: &'static str = "none";
    const EXPECTING: &'static str = "a whole number or \"none\"";
    fn from_count(count: u64) -> Option<Self> {
        usize::try_from(count).ok()
    }
}

impl Alternative for [f64; 2] {
    const WORD: &'static str = "data";
    const EXPECTING: &'static str = "two numbers [low, high] or \"data\"";
    fn from_pair(pair: [f64; 2]) -> Option<Self> {
        Some(pair)
    }
}

struct OrWordVisitor<T>(PhantomData<T>);

impl<'de, T: Alternative> Visitor<'de> for OrWordVisitor<T> {
    type Value = OrWord<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str(T::EXPECTING)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        match text == T::WORD {
            true => Ok(OrWord::Word),
            false => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        let value = T::from_number(number);
        value.map(OrWord::Value).ok_or_else(|| E::invalid_value(de::Unexpected::Float(number), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        let value = match u64::try_from(number) {
            Ok(count) => T::from_count(count),
            Err(_) => T::from_number(number as f64),
        };
        value.map(OrWord::Value).ok_or_else(|| E::invalid_value(de::Unexpected::Signed(number), &self))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
        let value = T::from_count(number);
        value.map(OrWord::Value).ok_or_else(|| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Self::Value, A::Error> {
        let pair = <[f64; 2]>::deserialize(de::value::SeqAccessDeserializer::new(sequence))?;
        T::from_pair(pair).map(OrWord::Value).ok_or_else(|| de::Error::invalid_type(de::Unexpected::Seq, &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<Self::Value, A::Error> {
        Err(de::Error::invalid_type(de::Unexpected::Map, &self))
    }
}

impl<'de, T: Alternative> Deserialize<'de> for OrWord<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrWordVisitor(PhantomData))
    }
}

/// A number, or "auto": several are tried, and the best one is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrAuto {
    /// Several are tried.
    Auto,
    /// So many.
    Count(u64),
}

impl std::str::FromStr for OrAuto {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse()) {
            ("auto", _) => Ok(OrAuto::Auto),
            (_, Ok(count)) => Ok(OrAuto::Count(count)),
            _ => Err("neither a whole number nor `auto`".into()),
        }
    }
}

struct OrAutoVisitor;

impl Visitor<'_> for OrAutoVisitor {
    type Value = OrAuto;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a whole number or \"auto\"")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<OrAuto, E> {
        match text {
            "auto" => Ok(OrAuto::Auto),
            _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<OrAuto, E> {
        match u64::try_from(number) {
            Ok(count) => Ok(OrAuto::Count(count)),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(number), &self)),
        }
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<OrAuto, E> {
        Ok(OrAuto::Count(number))
    }
}

impl<'de> Deserialize<'de> for OrAuto {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OrAutoVisitor)
    }
}
