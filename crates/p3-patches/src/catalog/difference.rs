//! The patches that a comparison is about.

use std::collections::BTreeSet;

use paired::text;
use serde::{Deserialize, Serialize};

/// The difference between baseline and candidate: a release, and the patches of each.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Difference {
    /// The Plonky3 release.
    #[serde(deserialize_with = "text::name")]
    pub base: String,
    /// The patches that the baseline has, too; none where that is the release as published.
    #[serde(
        default,
        skip_serializing_if = "Vec::is_empty",
        deserialize_with = "text::names"
    )]
    pub baseline_patches: Vec<String>,
    /// The candidate's.
    #[serde(deserialize_with = "text::names")]
    pub patches: Vec<String>,
    /// Tells whether the candidate got the patches and then had them reversed.
    #[serde(default)]
    pub reverted: bool,
}

impl Difference {
    /// Returns the patches that the baseline has not.
    pub fn own(&self) -> Vec<&str> {
        let below: BTreeSet<_> = self.baseline_patches.iter().collect();
        let own = self.patches.iter().filter(|name| !below.contains(name));
        own.map(String::as_str).collect()
    }

    /// Returns the heading of the comparison.
    pub fn title(&self) -> String {
        let patches = match &*self.own() {
            [] => "no patches".to_owned(),
            [name] => (*name).to_owned(),
            names => format!("{} together", names.join(", ")),
        };
        let on = match &*self.baseline_patches {
            [] => String::new(),
            below => format!(" on {}", below.join(", ")),
        };
        let reversed = if self.reverted { ", reversed" } else { "" };
        format!("{patches}{on}{reversed}, Plonky3 {}", self.base)
    }
}
