//! A recorded run as steps, each of which reaches the disk on its own or by a sync.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::disk::{Content, Contents, Disk};
use crate::recorder::Call;

/// A file or a folder, whatever its names are.
type Node = usize;

/// A name in a folder.
type Entry = (Node, Rc<str>);

const ROOT: Node = 0;

/// A file system.
#[derive(Clone)]
pub struct State {
    entries: BTreeMap<Entry, Node>,
    /// By node. Folders have none.
    contents: Vec<Option<Content>>,
}

/// The change that a step makes.
pub enum Effect {
    Entries(Vec<(Entry, Option<Node>)>),
    Content {
        node: Node,
        whole: Content,
        /// With half of what is written, and with the length of all but no data.
        torn: [Content; 2],
    },
    /// Makes these steps durable.
    Sync(BTreeSet<usize>),
}

pub struct Step {
    pub call: String,
    pub effect: Effect,
    /// The last steps before this one that changed the same entries.
    pub needs: Vec<usize>,
    /// The steps that gave the folders of the entries their names.
    pub above: Vec<usize>,
}

/// How much of a step is on the disk.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Whole,
    Half,
    Zeros,
}

/// A run, and the folder in which it is.
pub struct History {
    /// Nodes that the run creates are there, but have no name.
    pub before: State,
    /// After the steps so far.
    now: State,
    pub steps: Vec<Step>,
    /// The steps that no sync has made durable.
    pending: BTreeSet<usize>,
    /// The last step that changed an entry.
    changed: BTreeMap<Entry, usize>,
    /// The last step that gave a node a name.
    named: BTreeMap<Node, usize>,
    root: PathBuf,
}

impl State {
    fn new(disk: &Disk) -> Self {
        let mut state = Self {
            entries: BTreeMap::new(),
            contents: vec![None],
        };
        for (path, content) in &disk.0 {
            let entry = state.entry(Path::new(path));
            state.entries.insert(entry, state.contents.len());
            state.contents.push(*content);
        }
        state
    }

    fn entry(&self, path: &Path) -> Entry {
        let folder = self.node(path.parent().unwrap());
        let name = path.file_name().unwrap().to_str().unwrap();
        (
            folder.unwrap_or_else(|| panic!("{path:?}: no folder")),
            name.into(),
        )
    }

    fn node(&self, path: &Path) -> Option<Node> {
        path.iter().try_fold(ROOT, |folder, name| {
            let entry = (folder, name.to_str().unwrap().into());
            self.entries.get(&entry).copied()
        })
    }

    pub fn apply(&mut self, effect: &Effect, part: Part) {
        match effect {
            Effect::Entries(entries) => {
                for (entry, node) in entries {
                    match node {
                        Some(node) => self.entries.insert(entry.clone(), *node),
                        None => self.entries.remove(entry),
                    };
                }
            }
            Effect::Content { node, whole, torn } => {
                self.contents[*node] = Some(match part {
                    Part::Whole => *whole,
                    Part::Half => torn[0],
                    Part::Zeros => torn[1],
                });
            }
            Effect::Sync(_) => {}
        }
    }

    /// The files and folders that paths lead to.
    pub fn disk(&self) -> Disk {
        let mut disk = Disk::default();
        let mut folders = vec![(ROOT, String::new())];
        while let Some((folder, path)) = folders.pop() {
            let entries = self.entries.range((folder, "".into())..);
            for ((_, name), node) in entries.take_while(|((inside, _), _)| *inside == folder) {
                let path = format!("{path}{name}");
                if self.contents[*node].is_none() {
                    folders.push((*node, format!("{path}/")));
                }
                disk.0.insert(path, self.contents[*node]);
            }
        }
        disk
    }
}

impl History {
    /// The steps of calls in a folder `root` that was like `before`.
    pub fn new(root: &Path, before: &Disk, calls: &[Call], contents: &mut Contents) -> Self {
        let before = State::new(before);
        let mut history = Self {
            now: before.clone(),
            before,
            steps: Vec::new(),
            pending: BTreeSet::new(),
            changed: BTreeMap::new(),
            named: BTreeMap::new(),
            root: root.to_owned(),
        };
        for call in calls {
            history.call(call, contents);
        }
        history
    }

    /// The folder before the run and after each of its steps, where the power stays on.
    pub fn undisturbed(&self) -> impl Iterator<Item = Disk> {
        let mut state = self.before.clone();
        let steps = self.steps.iter().map(move |step| {
            state.apply(&step.effect, Part::Whole);
            state.disk()
        });
        [self.before.disk()].into_iter().chain(steps)
    }

    fn call(&mut self, call: &Call, contents: &mut Contents) {
        let shown = match call {
            Call::Write { path, at, bytes } => format!("Write({path:?}, {at}, {})", bytes.len()),
            call => format!("{call:?}"),
        };
        let shown = shown.replace(&format!("{}/", self.root.display()), "");
        let root = self.root.clone();
        let below = |path: &Path| path.strip_prefix(&root).unwrap().to_owned();
        let file = |state: &State, path: &PathBuf| {
            let node = state.node(&below(path));
            node.unwrap_or_else(|| panic!("{shown}: nothing is there"))
        };
        let content = |state: &State, node: Node, contents: &Contents| {
            contents.file(state.contents[node].unwrap()).clone()
        };
        match call {
            Call::Open {
                path,
                mode,
                empties,
            } => {
                let empty = contents.number(Vec::new(), *mode);
                match self.now.node(&below(path)) {
                    None => self.create(&below(path), Some(empty), &shown),
                    Some(node) if *empties => self.set(node, [empty; 3], &shown),
                    Some(_) => {}
                }
            }
            Call::Folder(path) => self.create(&below(path), None, &shown),
            Call::Write { path, at, bytes } => {
                let node = file(&self.now, path);
                let old = content(&self.now, node, contents);
                let mut written = |bytes: &[u8]| {
                    let mut all = old.bytes.clone();
                    all.resize(all.len().max(at + bytes.len()), 0);
                    all[*at..at + bytes.len()].copy_from_slice(bytes);
                    contents.number(all, old.mode)
                };
                let half = &bytes[..bytes.len() / 2];
                let zeros = vec![0; bytes.len()];
                let versions = [written(bytes), written(half), written(&zeros)];
                self.set(node, versions, &shown);
            }
            Call::Truncate(path, length) => {
                let node = file(&self.now, path);
                let mut new = content(&self.now, node, contents);
                new.bytes.resize(*length, 0);
                let new = contents.number(new.bytes, new.mode);
                self.set(node, [new; 3], &shown);
            }
            Call::Mode(path, mode) => {
                let node = file(&self.now, path);
                let new = content(&self.now, node, contents);
                let new = contents.number(new.bytes, *mode);
                self.set(node, [new; 3], &shown);
            }
            Call::Sync(path) => {
                let synced = file(&self.now, path);
                let is_synced = |at: &usize| match &self.steps[*at].effect {
                    Effect::Content { node, .. } => *node == synced,
                    Effect::Entries(entries) => {
                        entries.iter().any(|((folder, _), _)| *folder == synced)
                    }
                    Effect::Sync(_) => false,
                };
                let durable = self.pending.iter().copied().filter(is_synced).collect();
                self.sync(durable, &shown);
            }
            Call::SyncAll => self.sync(self.pending.clone(), &shown),
            Call::Rename(from, to) => {
                let node = file(&self.now, from);
                let [from, to] = [from, to].map(|path| self.now.entry(&below(path)));
                self.enter(vec![(from, None), (to, Some(node))], &shown);
            }
            Call::Exchange(from, to) => {
                let nodes = [from, to].map(|path| file(&self.now, path));
                let [from, to] = [from, to].map(|path| self.now.entry(&below(path)));
                self.enter(vec![(from, Some(nodes[1])), (to, Some(nodes[0]))], &shown);
            }
            Call::Link(from, to) => {
                let node = file(&self.now, from);
                let to = self.now.entry(&below(to));
                self.enter(vec![(to, Some(node))], &shown);
            }
            Call::Remove(path) => {
                file(&self.now, path);
                let entry = self.now.entry(&below(path));
                self.enter(vec![(entry, None)], &shown);
            }
            Call::Other(..) => panic!("{shown}"),
        }
    }

    fn create(&mut self, path: &Path, content: Option<Content>, call: &str) {
        let node = self.before.contents.len();
        for state in [&mut self.before, &mut self.now] {
            state.contents.push(content);
        }
        let entry = self.now.entry(path);
        self.enter(vec![(entry, Some(node))], call);
    }

    /// Changes entries.
    fn enter(&mut self, entries: Vec<(Entry, Option<Node>)>, call: &str) {
        let at = self.steps.len();
        let (mut needs, mut above) = (Vec::new(), Vec::new());
        for (entry, node) in &entries {
            above.extend(self.named.get(&entry.0));
            needs.extend(self.changed.insert(entry.clone(), at));
            if let Some(node) = node {
                self.named.insert(*node, at);
            }
        }
        self.push(Effect::Entries(entries), needs, above, call);
    }

    /// Changes a file.
    fn set(&mut self, node: Node, [whole, half, zeros]: [Content; 3], call: &str) {
        let torn = [half, zeros];
        self.push(
            Effect::Content { node, whole, torn },
            Vec::new(),
            Vec::new(),
            call,
        );
    }

    fn push(&mut self, effect: Effect, needs: Vec<usize>, above: Vec<usize>, call: &str) {
        self.now.apply(&effect, Part::Whole);
        self.pending.insert(self.steps.len());
        self.steps.push(Step {
            call: call.to_owned(),
            effect,
            needs,
            above,
        });
    }

    /// Lets these steps reach the disk, with those that they need.
    fn sync(&mut self, durable: BTreeSet<usize>, call: &str) {
        let durable = self.with(durable, |step| step.needs.clone());
        let durable: BTreeSet<_> = durable.intersection(&self.pending).copied().collect();
        self.pending = &self.pending - &durable;
        self.steps.push(Step {
            call: call.to_owned(),
            effect: Effect::Sync(durable),
            needs: Vec::new(),
            above: Vec::new(),
        });
    }

    /// Steps, with those that they need and those that these need.
    pub fn with(
        &self,
        mut steps: BTreeSet<usize>,
        needs: impl Fn(&Step) -> Vec<usize>,
    ) -> BTreeSet<usize> {
        let mut open: Vec<usize> = steps.iter().copied().collect();
        while let Some(step) = open.pop() {
            let needed = needs(&self.steps[step]).into_iter();
            open.extend(needed.filter(|needed| steps.insert(*needed)));
        }
        steps
    }
}
