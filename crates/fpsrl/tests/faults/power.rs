//! A disk that remembers what was brought to it and what was not, and what a kill or a loss of power leaves of it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fpsrl::random::{Purpose, Stream};
use fpsrl_base::disk::{Act, Watcher};

use crate::tree::Tree;

/// Something that changed the disk.
#[derive(Clone, Debug)]
pub enum Change {
    Create(PathBuf),
    Write(PathBuf, Vec<u8>),
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Remove(PathBuf),
    MakeDirectory(PathBuf),
    SyncDirectory(PathBuf),
}

/// Writes down every change; nothing of it needs a real disk.
#[derive(Default)]
pub struct Recorder(Mutex<Vec<Change>>);

impl Recorder {
    pub fn changes(&self) -> Vec<Change> {
        self.0.lock().unwrap().clone()
    }
}

impl Watcher for Recorder {
    fn before(&self, _: &Path, _: Act<'_>) -> io::Result<()> {
        Ok(())
    }

    fn syncs(&self) -> bool {
        false
    }

    fn after(&self, path: &Path, act: Act<'_>) {
        let path = path.to_owned();
        let change = match act {
            Act::Create => Change::Create(path),
            Act::Write(bytes) => Change::Write(path, bytes.to_vec()),
            Act::Sync => Change::Sync(path),
            Act::Rename(to) => Change::Rename(path, to.to_owned()),
            Act::Link(to) => Change::Link(path, to.to_owned()),
            Act::Remove | Act::RemoveDirectory | Act::RemoveTree => Change::Remove(path),
            Act::MakeDirectory => Change::MakeDirectory(path),
            Act::SyncDirectory => Change::SyncDirectory(path),
            Act::Look | Act::Open | Act::Read | Act::List | Act::Append => return,
        };
        self.0.lock().unwrap().push(change);
    }
}

/// What is left of what was not synced.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// A kill: all of it.
    Nothing,
    /// A loss of power that takes all of it, names and contents.
    Everything,
    /// One that takes the contents and leaves the names, as some file systems do.
    Contents,
    /// One that takes some names and the ends of some contents, by chance.
    Some(u64),
}

#[derive(Clone, Copy, PartialEq)]
enum Node {
    File(usize),
    Directory(usize),
}

#[derive(Clone, Default)]
struct File {
    now: Vec<u8>,
    kept: Vec<u8>,
}

type Names = BTreeMap<String, Node>;

#[derive(Clone, Default)]
struct Directory {
    now: Names,
    kept: Names,
}

/// The disk below a directory.
#[derive(Clone)]
pub struct Disk {
    top: PathBuf,
    files: Vec<File>,
    directories: Vec<Directory>,
}

impl Disk {
    /// With what is there already and has long been synced.
    pub fn new(top: &Path, tree: &Tree) -> Self {
        let mut disk = Self { top: top.to_owned(), files: Vec::new(), directories: vec![Directory::default()] };
        for directory in &tree.directories {
            disk.change(&Change::MakeDirectory(top.join(directory)));
        }
        for (path, content) in &tree.files {
            disk.change(&Change::Create(top.join(path)));
            disk.change(&Change::Write(top.join(path), content.clone()));
        }
        disk.files.iter_mut().for_each(|file| file.kept = file.now.clone());
        disk.directories.iter_mut().for_each(|directory| directory.kept = directory.now.clone());
        disk
    }

    fn directory(&self, path: &Path) -> Option<usize> {
        match self.node(path)? {
            Node::Directory(index) => Some(index),
            Node::File(_) => None,
        }
    }

    fn node(&self, path: &Path) -> Option<Node> {
        let mut node = Node::Directory(0);
        for word in path.strip_prefix(&self.top).ok()? {
            let Node::Directory(index) = node else { return None };
            node = *self.directories[index].now.get(word.to_str()?)?;
        }
        Some(node)
    }

    /// The names that a path's own name is one of.
    fn beside(&mut self, path: &Path) -> Option<(&mut Names, String)> {
        let name = path.file_name()?.to_str()?.to_owned();
        let index = self.directory(path.parent()?)?;
        Some((&mut self.directories[index].now, name))
    }

    fn insert(&mut self, path: &Path, node: Node) {
        let (names, name) = self.beside(path).expect("what is made has a directory");
        names.insert(name, node);
    }

    pub fn change(&mut self, change: &Change) {
        match change {
            Change::Create(path) => {
                self.files.push(File::default());
                self.insert(path, Node::File(self.files.len() - 1));
            }
            Change::MakeDirectory(path) => {
                self.directories.push(Directory::default());
                self.insert(path, Node::Directory(self.directories.len() - 1));
            }
            // A file that was removed while it is open is nobody's any more.
            Change::Write(path, bytes) => {
                if let Some(Node::File(index)) = self.node(path) {
                    self.files[index].now.extend(bytes);
                }
            }
            Change::Sync(path) => {
                if let Some(Node::File(index)) = self.node(path) {
                    self.files[index].kept = self.files[index].now.clone();
                }
            }
            Change::Rename(from, to) => {
                let node = self.node(from).expect("what is renamed is there");
                if let Some((names, name)) = self.beside(from) {
                    names.remove(&name);
                }
                self.insert(to, node);
            }
            Change::Link(from, to) => {
                let node = self.node(from).expect("what is linked is there");
                self.insert(to, node);
            }
            Change::Remove(path) => {
                if let Some((names, name)) = self.beside(path) {
                    names.remove(&name);
                }
            }
            Change::SyncDirectory(path) => {
                if let Some(index) = self.directory(path) {
                    self.directories[index].kept = self.directories[index].now.clone();
                }
            }
        }
    }

    /// What is found after a kill or a loss of power.
    pub fn after(&self, loss: Loss) -> Tree {
        let mut tree = Tree::default();
        self.collect(0, "", loss, &mut tree);
        tree
    }

    fn collect(&self, directory: usize, within: &str, loss: Loss, tree: &mut Tree) {
        let Directory { now, kept } = &self.directories[directory];
        let names = match loss {
            Loss::Nothing | Loss::Contents => now.clone(),
            Loss::Everything => kept.clone(),
            Loss::Some(seed) => {
                let mut all: Vec<&String> = now.keys().chain(kept.keys()).collect();
                all.sort();
                all.dedup();
                let survives = |name: &str| chance(seed, &format!("{within}{name}")) < 0.5;
                let node = |name: &&String| if survives(name) { now.get(*name) } else { kept.get(*name) };
                all.iter().filter_map(|name| Some(((*name).clone(), *node(name)?))).collect()
            }
        };
        for (name, node) in names {
            let path = format!("{within}{name}");
            match node {
                Node::Directory(index) => {
                    self.collect(index, &format!("{path}/"), loss, tree);
                    tree.directories.insert(path);
                }
                Node::File(index) => {
                    let File { now, kept } = &self.files[index];
                    let content = match loss {
                        Loss::Nothing => now.clone(),
                        Loss::Some(seed) => {
                            let more = now.len().saturating_sub(kept.len()) as f64;
                            let end = kept.len() + (chance(seed + 1, &path) * more) as usize;
                            now[..end.min(now.len())].to_vec()
                        }
                        Loss::Everything | Loss::Contents => kept.clone(),
                    };
                    tree.files.insert(path, content);
                }
            }
        }
    }
}

/// A number from 0 to 1 for a name; temporary names, which are drawn anew each time, count as one.
fn chance(seed: u64, name: &str) -> f64 {
    let known = name.split('/').map(|word| if word.ends_with(".part") { "part" } else { word });
    let sum = known.flat_map(str::bytes).fold(7u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    Stream::new(seed, Purpose::LogStart).within(0.0, 1.0, sum, 0, 0)
}

#[test]
fn a_loss_of_power_takes_what_was_not_synced() {
    let top = Path::new("/top");
    let mut tree = Tree::default();
    tree.files.insert("old".into(), b"old".to_vec());
    let mut disk = Disk::new(top, &tree);
    disk.change(&Change::Create(top.join("new")));
    disk.change(&Change::Write(top.join("new"), b"new".to_vec()));
    disk.change(&Change::Rename(top.join("new"), top.join("old")));
    let content = |disk: &Disk, loss| disk.after(loss).files.get("old").cloned().unwrap();
    // Neither the content nor the name is on the disk yet.
    assert_eq!(content(&disk, Loss::Everything), b"old");
    assert_eq!(content(&disk, Loss::Contents), b"");
    assert_eq!(content(&disk, Loss::Nothing), b"new");
    disk.change(&Change::Sync(top.join("old")));
    assert_eq!((content(&disk, Loss::Everything), content(&disk, Loss::Contents)), (b"old".to_vec(), b"new".to_vec()));
    disk.change(&Change::SyncDirectory(top.to_owned()));
    disk.change(&Change::Remove(top.join("old")));
    assert_eq!(content(&disk, Loss::Everything), b"new");
    assert!(disk.after(Loss::Nothing).files.is_empty());
}
