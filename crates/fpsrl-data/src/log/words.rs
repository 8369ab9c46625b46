//! The distinct words of a column of text, in the order of their appearance.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Distinct words, each with its place.
#[derive(Default)]
pub(super) struct Words {
    list: Vec<String>,
    /// Of each digest, the place of the last word that has it: a word is held once, not once more as a key.
    places: HashMap<u64, u32>,
    /// Of each word, the one before it with the same digest.
    before: Vec<Option<u32>>,
    digests: RandomState,
}

impl Words {
    /// The place of a word, which is added if it is new.
    pub(super) fn place(&mut self, word: &[u8]) -> usize {
        let word = String::from_utf8_lossy(word);
        let digest = self.digests.hash_one(word.as_bytes());
        let known = self.places.get(&digest).copied();
        let mut at = known;
        while let Some(place) = at {
            if self.list[place as usize] == *word {
                return place as usize;
            }
            at = self.before[place as usize];
        }
        let place = self.list.len();
        self.list.push(word.into_owned());
        self.before.push(known);
        // A column of more words than that does not fit into any memory.
        self.places.insert(digest, u32::try_from(place).unwrap_or(u32::MAX));
        place
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// The words in their order.
    pub(super) fn list(&self) -> &[String] {
        &self.list
    }

    /// The words in their order, for good.
    pub(super) fn into_list(self) -> Vec<String> {
        self.list
    }
}

/// Bytes of memory that a new word takes.
pub(super) fn cost(word: usize) -> u64 {
    96 + word as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_their_places() {
        let mut words = Words::default();
        let all: Vec<String> = (0..5_000).map(|number| format!("w{}", number % 700)).collect();
        for (number, word) in all.iter().enumerate() {
            assert_eq!(words.place(word.as_bytes()), number % 700);
        }
        assert_eq!((words.len(), &words.list()[699]), (700, &"w699".to_owned()));
        assert_eq!(words.place(b"\xff"), words.place("\u{fffd}".as_bytes()), "what is no text is one word");
        assert_eq!(words.into_list().len(), 701);
    }
}
