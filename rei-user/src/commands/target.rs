//! What `rei attach` was pointed at: a word → the cgroup tree to watch, and the container that it belongs to.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::{judging, say};
use crate::cgroup;
use crate::engine::docker::Docker;
use crate::engine::inspect::Inspected;
use crate::policy::Policy;
use crate::recorder::Container;

/// Longest process id: PID_MAX_LIMIT is 2^22 on 64-bit. A longer number can only be a container's id.
const PID_DIGITS_MAX: usize = 7;

/// A cgroup tree to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Directory of its root.
    pub(super) directory: PathBuf,
    /// Path of its root below the cgroup v2 root.
    pub(super) path: String,
    /// The container that it belongs to, if its name is that of one.
    pub(super) container: Option<Container>,
}

/// What a word can mean.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Directory(PathBuf),
    Process(u32),
    Container(String),
}

/// The trees that these words mean, each once. `root` is the cgroup v2 mount.
pub(super) async fn find(root: &Path, words: &[OsString], policy: &Arc<Policy>) -> Result<Vec<Tree>> {
    let mut trees: Vec<Tree> = Vec::new();
    for word in words {
        let tree = match Word::read(word) {
            Word::Directory(directory) => of_directory(root, &directory, policy).await?,
            Word::Process(pid) => of_process(root, pid, policy).await?,
            Word::Container(name) => of_container(root, &name, policy).await?,
        };
        if !trees.iter().any(|known| known.directory == tree.directory) {
            trees.push(tree);
        }
    }
    Ok(trees)
}

impl Word {
    fn read(word: &OsStr) -> Self {
        let text = word.to_string_lossy();
        match text.parse::<u32>() {
            _ if word.as_bytes().contains(&b'/') => Word::Directory(PathBuf::from(word)),
            Ok(pid) if text.len() <= PID_DIGITS_MAX => Word::Process(pid),
            _ => Word::Container(text.into_owned()),
        }
    }
}

async fn of_directory(root: &Path, directory: &Path, policy: &Arc<Policy>) -> Result<Tree> {
    // As it stands, or as /proc/PID/cgroup writes it: below the cgroup v2 root.
    let below = root.join(directory.strip_prefix("/").unwrap_or(directory));
    let found = [directory.to_owned(), below]
        .into_iter()
        .find(|path| path.join("cgroup.procs").exists());
    let Some(found) = found.and_then(|path| path.canonicalize().ok()) else {
        bail!(
            "{} is no cgroup v2 directory; they are below {}",
            directory.display(),
            root.display()
        );
    };
    let Ok(below_root) = found.strip_prefix(root) else {
        bail!(
            "{} is not in the cgroup v2 tree; choose a directory below {}",
            found.display(),
            root.display()
        );
    };
    let path = format!("/{}", below_root.display());
    if path == "/" {
        bail!(
            "{} holds every process of this machine; choose a cgroup below it",
            root.display()
        );
    }
    let name = path.rsplit('/').next().and_then(cgroup::container_id);
    let container = match name {
        Some(id) => Some(describe(id, &path, policy).await),
        None => None,
    };
    Ok(Tree {
        directory: found,
        path,
        container,
    })
}

async fn of_process(root: &Path, pid: u32, policy: &Arc<Policy>) -> Result<Tree> {
    let path = cgroup::path_of_process(pid)?;
    let (path, container) = match cgroup::container_root(&path) {
        Some((path, id)) => (path.to_owned(), Some(describe(id, path, policy).await)),
        None => (path, None),
    };
    at(root, path, container).with_context(|| format!("cannot watch the cgroup of process {pid}"))
}

async fn of_container(root: &Path, name: &str, policy: &Arc<Policy>) -> Result<Tree> {
    let docker = Docker::of_environment()?;
    docker.ping().await?;
    let Some(Inspected { facts, alive, .. }) = docker.inspect(name).await? else {
        bail!("there is no container {name:?}; `docker ps` lists those that run");
    };
    if !alive || facts.pid == 0 {
        bail!(
            "container {name:?} does not run; start it, or use `rei run -- docker run ...` to see it from its start"
        );
    }
    let path = cgroup::path_of_process(facts.pid)?;
    let path = match cgroup::container_root(&path) {
        Some((path, _)) => path.to_owned(),
        None => path,
    };
    let container = judging::described(policy, facts, Some(path.clone())).await;
    at(root, path, Some(container)).with_context(|| format!("cannot watch container {name:?}"))
}

fn at(root: &Path, path: String, container: Option<Container>) -> Result<Tree> {
    let directory = root.join(path.trim_start_matches('/'));
    if path == "/" {
        bail!("it is in the root cgroup, which holds every process outside others");
    }
    if !directory.is_dir() {
        bail!(
            "its cgroup {} is not there; does rei see this machine's cgroup tree?",
            directory.display()
        );
    }
    Ok(Tree {
        directory,
        path,
        container,
    })
}

/// What the engine knows of the container whose cgroup this is; its id alone if there is no engine to ask.
async fn describe(id: &str, path: &str, policy: &Arc<Policy>) -> Container {
    let answer = match Docker::of_environment() {
        Ok(docker) => docker.inspect(id).await,
        Err(error) => Err(error),
    };
    let cgroup_path = Some(path.to_owned());
    match answer {
        Ok(Some(inspected)) => judging::described(policy, inspected.facts, cgroup_path).await,
        other => {
            if let Err(error) = other {
                say(format_args!(
                    "container {} is known by its cgroup only: {error:#}",
                    id.get(..12).unwrap_or(id)
                ));
            }
            judging::by_id_alone(policy, id, cgroup_path)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_one_thing_each() {
        let read = |word: &str| Word::read(OsStr::new(word));
        assert_eq!(read("/docker/x"), Word::Directory("/docker/x".into()));
        assert_eq!(read("./x"), Word::Directory("./x".into()));
        assert_eq!(read("1234"), Word::Process(1234));
        assert_eq!(read("web"), Word::Container("web".into()));
        assert_eq!(read("123456789012"), Word::Container("123456789012".into()));
        assert_eq!(read("12ab"), Word::Container("12ab".into()));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn the_whole_tree_and_other_places_are_refused() {
        let tree = tempfile::tempdir().unwrap();
        let root = tree.path().canonicalize().unwrap();
        for directory in [root.clone(), root.join("a/b"), root.join("plain")] {
            std::fs::create_dir_all(&directory).unwrap();
        }
        std::fs::write(root.join("cgroup.procs"), "").unwrap();
        std::fs::write(root.join("a/b/cgroup.procs"), "").unwrap();
        let policy = Arc::new(Policy::load(Path::new("observe")).unwrap().policy);
        let error = of_directory(&root, &root, &policy).await.unwrap_err().to_string();
        assert!(error.contains("every process"), "{error}");
        assert!(of_directory(&root, &root.join("plain"), &policy).await.is_err());
        assert!(
            of_directory(&root, Path::new("/nonexistent"), &policy)
                .await
                .is_err()
        );
        let expected = Tree {
            directory: root.join("a/b"),
            path: "/a/b".to_owned(),
            container: None,
        };
        assert_eq!(
            of_directory(&root, &root.join("a/b"), &policy).await.unwrap(),
            expected
        );
        assert_eq!(
            of_directory(&root, Path::new("/a/b"), &policy).await.unwrap(),
            expected
        );
    }
}
