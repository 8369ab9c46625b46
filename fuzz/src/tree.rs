//! Documents as trees: JSON and TOML are read into one, changed as one, and written again.

use serde_json::Value as Json;
use toml::Value as Toml;

/// A node of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// What is written as it is: numbers, truth values, null, dates, and whatever hostile stands in their place.
    Plain(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Tree>),
    /// An object or a table; the same key may stand in it twice.
    Table(Vec<(String, Tree)>),
}

impl Tree {
    /// A document of JSON.
    ///
    /// ```
    /// use fpsrl_fuzz::tree::Tree;
    /// let tree = Tree::of_json(br#"{"a": [1, "x"], "b": {"c": null}}"#).unwrap();
    /// assert_eq!(tree.to_json(), r#"{"a":[1,"x"],"b":{"c":null}}"#);
    /// ```
    pub fn of_json(bytes: &[u8]) -> Option<Self> {
        fn of(value: Json) -> Tree {
            match value {
                Json::String(text) => Tree::Text(text),
                Json::Array(list) => Tree::List(list.into_iter().map(of).collect()),
                Json::Object(table) => Tree::Table(table.into_iter().map(|(key, value)| (key, of(value))).collect()),
                plain => Tree::Plain(plain.to_string()),
            }
        }
        serde_json::from_slice(bytes).ok().map(of)
    }

    /// A document of TOML.
    ///
    /// ```
    /// use fpsrl_fuzz::tree::Tree;
    /// let tree = Tree::of_toml("a = [1, 'x']\n[[state]]\nname = 'y'\n[data]\nsamples = 3").unwrap();
    /// assert_eq!(tree.to_toml(true), "\"a\" = [1,\"x\"]\n[\"data\"]\n\"samples\" = 3\n[[\"state\"]]\n\"name\" = \"y\"\n");
    /// ```
    pub fn of_toml(text: &str) -> Option<Self> {
        fn of(value: Toml) -> Tree {
            match value {
                Toml::String(text) => Tree::Text(text),
                Toml::Array(list) => Tree::List(list.into_iter().map(of).collect()),
                Toml::Table(table) => Tree::Table(table.into_iter().map(|(key, value)| (key, of(value))).collect()),
                plain => Tree::Plain(plain.to_string()),
            }
        }
        text.parse::<toml::Table>().ok().map(|table| of(Toml::Table(table)))
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write(&mut text, ":");
        text
    }

    /// As TOML: with sections, or with everything in one line a key.
    pub fn to_toml(&self, sections: bool) -> String {
        let Self::Table(entries) = self else { return self.to_json() };
        let mut text = String::new();
        let mut later = String::new();
        for (key, value) in entries {
            let key = quoted(key);
            let tables = |value: &Self| matches!(value, Self::Table(_));
            match value {
                Self::Table(inner) if sections => section(&mut later, &format!("[{key}]"), inner),
                Self::List(list) if sections && !list.is_empty() && list.iter().all(tables) => {
                    for element in list {
                        if let Self::Table(inner) = element {
                            section(&mut later, &format!("[[{key}]]"), inner);
                        }
                    }
                }
                value => line(&mut text, &key, value),
            }
        }
        text + &later
    }

    fn write(&self, text: &mut String, between: &str) {
        match self {
            Self::Plain(plain) => text.push_str(plain),
            Self::Text(content) => text.push_str(&quoted(content)),
            Self::List(list) => {
                text.push('[');
                for (index, element) in list.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { "," });
                    element.write(text, between);
                }
                text.push(']');
            }
            Self::Table(entries) => {
                text.push('{');
                for (index, (key, value)) in entries.iter().enumerate() {
                    text.push_str(if index == 0 { "" } else { "," });
                    text.push_str(&quoted(key));
                    text.push_str(between);
                    value.write(text, between);
                }
                text.push('}');
            }
        }
    }

    /// What is directly in it.
    pub fn count(&self) -> usize {
        match self {
            Self::Plain(_) | Self::Text(_) => 0,
            Self::List(list) => list.len(),
            Self::Table(entries) => entries.len(),
        }
    }

    /// What stands at a place directly in it.
    pub fn at(&mut self, place: usize) -> Option<&mut Self> {
        match self {
            Self::Plain(_) | Self::Text(_) => None,
            Self::List(list) => list.get_mut(place),
            Self::Table(entries) => entries.get_mut(place).map(|(_, value)| value),
        }
    }
}

fn line(text: &mut String, key: &str, value: &Tree) {
    text.push_str(key);
    text.push_str(" = ");
    value.write(text, "=");
    text.push('\n');
}

fn section(text: &mut String, title: &str, entries: &[(String, Tree)]) {
    text.push_str(title);
    text.push('\n');
    entries.iter().for_each(|(key, value)| line(text, &quoted(key), value));
}

/// A text in quotes, as JSON and TOML both read it.
fn quoted(text: &str) -> String {
    // JSON lets the character that deletes stand as it is, TOML does not.
    Json::from(text).to_string().replace('\u{7f}', "\\u007f")
}
