//! Reads names and other text from files that anyone may have written, for serde's `deserialize_with`.
//!
//! The text is printed and written again later, so each function removes the users and tokens in its addresses.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::address::without_credentials;
use crate::run::protocol::{self, is_control};

/// Tells whether a text is a date, `2026-11-24`, or a time of such a day in UTC, in this century: no clock measures in another one.
pub fn is_time(text: &str) -> bool {
    let is_whole = |text: &str| humantime::parse_rfc3339(text).is_ok();
    text.starts_with("20") && (is_whole(text) || is_whole(&format!("{text}T00:00:00Z")))
}

/// Deserializes a name, which [`protocol::name`] checks.
pub fn name<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    Ok(without_credentials(&protocol::name(text)?))
}

/// Deserializes a text of one line, which [`protocol::check_line`] checks and which may be empty.
pub fn line<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    let line = String::deserialize(text)?;
    protocol::check_line(&line).map_err(D::Error::custom)?;
    Ok(without_credentials(&line))
}

/// Deserializes a list of names.
pub fn names<'de, D: Deserializer<'de>>(texts: D) -> Result<Vec<String>, D::Error> {
    let names = Vec::<Name>::deserialize(texts)?;
    Ok(names.into_iter().map(|Name(name)| name).collect())
}

/// Deserializes a map from names to values.
pub fn named<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    values: D,
) -> Result<BTreeMap<String, T>, D::Error> {
    let named = BTreeMap::<Name, T>::deserialize(values)?;
    Ok(named
        .into_iter()
        .map(|(Name(name), value)| (name, value))
        .collect())
}

#[derive(Deserialize, Eq, Ord, PartialEq, PartialOrd)]
struct Name(#[serde(deserialize_with = "name")] String);

/// Deserializes a command, of any length, and puts it on one line.
pub fn command<'de, D: Deserializer<'de>>(text: D) -> Result<String, D::Error> {
    Ok(one_line(&String::deserialize(text)?))
}

/// Copies a text with a space in place of each control character, and without credentials.
pub(crate) fn one_line(text: &str) -> String {
    without_credentials(&text.replace(is_control, " "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn times_are_of_this_century_and_its_calendar() {
        for time in ["2026-11-24", "2028-02-29", "2026-11-24T08:09:10.123Z"] {
            assert!(is_time(time), "{time}");
        }
        for other in [
            "",
            "2026",
            "2026-13-45",
            "2026-02-29",
            "9999-01-01",
            "1999-12-31",
            "9999-12-31T23:59:59Z",
            "2026-11-24T25:00:00Z",
            "2026-11-24 T00:00:00Z",
        ] {
            assert!(!is_time(other), "{other}");
        }
    }

    #[test]
    fn text_of_files_has_no_tokens_and_no_control_characters() {
        let token = "https://me:s3cr3t@h/a?key=s3cr3t";
        assert_eq!(name(json!(token)).unwrap(), "https://h/a");
        assert_eq!(line(json!(token)).unwrap(), "https://h/a");
        assert_eq!(line(json!("")).unwrap(), "");
        assert_eq!(names(json!([token, "b"])).unwrap(), ["https://h/a", "b"]);
        let map = named::<_, u8>(json!({ token: 1 })).unwrap();
        assert_eq!(map, BTreeMap::from([("https://h/a".to_owned(), 1)]));
        let typed = format!("ab --json x\n\u{202e} {token}");
        assert_eq!(command(json!(typed)).unwrap(), "ab --json x   https://h/a");
        for refused in [
            name(json!("a\n")).err(),
            line(json!("a\n")).err(),
            names(json!(["a\n"])).err(),
            named::<_, u8>(json!({ "a\n": 1 })).err(),
        ] {
            let refused = refused.unwrap().to_string();
            assert!(refused.contains("has a control character"), "{refused}");
        }
    }
}
