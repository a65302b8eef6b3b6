//! The fields at the top of a patch file: why the change exists, and where it goes. `patches/README.md` documents them for authors.

use anyhow::Result;
use cargo_metadata::semver::Version;

use paired::address::without_credentials;
use paired::isa::Isa;
use paired::run::protocol::is_control;

/// The fields at the top of a patch file.
#[derive(Clone, Debug, Default)]
pub struct Header {
    /// Title of the upstream commit.
    pub title: String,
    /// The crates.io packages whose files the diff touches.
    pub packages: Vec<String>,
    /// The files that the patch adds and whose text the optimization's crate has, by their paths in upstream's repository.
    pub kernels: Vec<String>,
    /// The Plonky3 releases that the patch has been ported to.
    pub bases: Vec<String>,
    pub needs: Vec<String>,
    /// The architectures, as rustc calls them, whose builds the patch changes; empty where it changes all.
    pub architectures: Vec<String>,
    /// The target features, each as `+NAME`, of the leg that upstream's CI lacks for the code that the patch adds; empty
    /// where its legs build all of it.
    pub ci_features: Vec<String>,
    /// The threads of upstream's repository that the patch answers or follows, each as `#NUMBER STATE`.
    pub related: Vec<String>,
    /// `low`, `medium` or `high`, and of what.
    pub risk: String,
    /// The upstream pull request, or `not yet`.
    pub forwarded: String,
    /// The release that contains the change, or `no`.
    pub applied_upstream: String,
    /// Why the change exists; becomes the body of the commit.
    pub body: String,
}

impl Header {
    /// Returns the title without its `perf(PACKAGE): `.
    pub fn subject(&self) -> &str {
        let parts = self.title.split_once(": ");
        parts.map_or(&self.title, |(_, subject)| subject)
    }

    /// Returns the release that contains the change.
    pub fn merged(&self) -> Option<Version> {
        Version::parse(&self.applied_upstream).ok()
    }

    /// Tells whether the patch may change builds for `isa`.
    pub fn changes(&self, isa: Isa) -> bool {
        let architecture = match isa {
            Isa::Neon => "aarch64",
            Isa::V3 | Isa::V4 | Isa::V4Ifma => "x86_64",
            Isa::Generic | Isa::Native => return self.architectures.is_empty(),
        };
        let named = &self.architectures;
        named.is_empty() || named.iter().any(|named| named == architecture)
    }

    /// Says why the patch changes no build for the `architectures`; `None` where it may.
    pub fn inert(&self, architectures: &[impl AsRef<str>]) -> Option<String> {
        let named = &self.architectures;
        let architectures = architectures.iter().map(AsRef::as_ref).collect::<Vec<_>>();
        let is_inert =
            !named.is_empty() && named.iter().all(|name| !architectures.contains(&&**name));
        is_inert.then(|| {
            let (named, others) = (named.join(" and "), architectures.join(" and "));
            format!("{named} only, inert on {others} builds")
        })
    }
}

/// Parses `Field: value` lines, an empty line, and the body; an error carries the line's number.
pub(super) fn parse_header(text: &str) -> Result<Header, (usize, String)> {
    let is_foreign = |line: &&str| line.contains(|c| is_control(c) && c != '\t');
    if let Some((number, _)) = (1..).zip(text.lines()).find(|(_, line)| is_foreign(line)) {
        return Err((number, "a control character".to_owned()));
    }
    // An exported patch has the header's text as it is.
    let is_secret = |line: &&str| without_credentials(line) != **line;
    if let Some((number, _)) = (1..).zip(text.lines()).find(|(_, line)| is_secret(line)) {
        let what = "an address with a user, a token or a query";
        return Err((number, what.to_owned()));
    }
    let (fields, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let list = |value: &str| {
        value
            .split(',')
            .map(|item| item.trim().to_owned())
            .filter(|item| !item.is_empty())
            .collect()
    };
    let mut header = Header {
        body: body.trim().to_owned(),
        ..Header::default()
    };
    let mut seen = Vec::new();
    for (line, number) in fields.lines().zip(1..) {
        let Some((field, value)) = line.split_once(':') else {
            return Err((number, format!("expected `Field: value`, found `{line}`")));
        };
        if seen.contains(&field) {
            return Err((number, format!("the field `{field}:` stands here twice")));
        }
        seen.push(field);
        let value = value.trim();
        match field {
            "Title" => header.title = value.to_owned(),
            "Packages" => header.packages = list(value),
            "Kernels" => header.kernels = list(value),
            "Bases" => header.bases = list(value),
            "Needs" => header.needs = list(value),
            "Architectures" => header.architectures = list(value),
            "CI-Features" => header.ci_features = list(value),
            "Related" => header.related = list(value),
            "Risk" => header.risk = value.to_owned(),
            "Forwarded" => header.forwarded = value.to_owned(),
            "Applied-Upstream" => header.applied_upstream = value.to_owned(),
            _ => return Err((number, format!("unknown field `{field}:`"))),
        }
        if value.is_empty() {
            return Err((number, format!("the field `{field}:` is empty")));
        }
        // The names become paths, and keys of manifests.
        let is_name = |package: &&String| {
            let mut bytes = package.bytes();
            bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        };
        if let Some(package) = header.packages.iter().find(|package| !is_name(package)) {
            return Err((number, format!("`{package}` is no name of a package")));
        }
    }
    let required = [
        "Title",
        "Packages",
        "Bases",
        "Risk",
        "Forwarded",
        "Applied-Upstream",
    ];
    if let Some(missing) = required.into_iter().find(|field| !seen.contains(field)) {
        return Err((
            fields.lines().count(),
            format!("the field `{missing}:` is missing"),
        ));
    }
    if header.body.is_empty() {
        return Err((
            fields.lines().count() + 1,
            "the paragraphs that say why are missing".to_owned(),
        ));
    }
    Ok(header)
}
