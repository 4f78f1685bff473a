//! Layers of directories in a temporary directory. Marks and whiteouts need root: a live test has real ones.

use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;
use crate::engine::{Mount, MountKind};

/// Two layers: `up` over `low`.
struct Layers(TempDir);

impl Layers {
    fn new() -> Self {
        let layers = Layers(tempfile::tempdir().unwrap());
        for layer in ["up", "low"] {
            fs::create_dir(layers.place(layer, "")).unwrap();
        }
        layers
    }

    fn place(&self, layer: &str, path: &str) -> PathBuf {
        self.0.path().join(layer).join(path)
    }

    fn file(&self, layer: &str, path: &str, mode: u32) {
        let place = self.place(layer, path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(&place, format!("{layer} {path}")).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn link(&self, layer: &str, path: &str, target: &str) {
        let place = self.place(layer, path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        symlink(target, place).unwrap();
    }

    fn image(&self, mounts: &[&str]) -> Image {
        let mount = |path: &&str| Mount {
            destination: (*path).to_owned(),
            kind: MountKind::Tmpfs,
            read_only: false,
        };
        Image::of_container(&ContainerFacts {
            layers: vec![self.place("up", ""), self.place("low", "")],
            mounts: mounts.iter().map(mount).collect(),
            ..ContainerFacts::default()
        })
        .unwrap()
    }
}

/// Where it leads, or why nowhere.
fn found(image: &Image, path: &str) -> String {
    match image.find(path.as_bytes()) {
        Ok(file) => String::from_utf8(file.path).unwrap(),
        Err(absence) => absence.to_string(),
    }
}

#[test]
fn symlinks_are_followed_inside_the_image() {
    let layers = Layers::new();
    layers.file("low", "usr/bin/python3.11", 0o755);
    layers.link("low", "usr/bin/python3", "python3.11");
    layers.link("low", "usr/bin/python", "/usr/bin/python3");
    layers.link("up", "bin", "usr/bin");
    layers.link("up", "escape", "../../../../usr/bin/./python");
    layers.link("up", "loop", "loop");
    layers.link("up", "down", "/data/tool");
    layers.link("up", "self", "/proc/self/exe");
    layers.file("up", "data/tool", 0o755);
    let image = layers.image(&["/data"]);
    let there = "/usr/bin/python3.11";
    for (path, expected) in [
        ("/usr/bin/python3.11", there),
        ("/bin/python3", there),
        ("/bin/python", there),
        ("/bin/../bin//python", there),
        ("/../escape", there),
        ("/usr/bin", "it is no regular file"),
        ("/", "it is no regular file"),
        ("/usr/bin/ruby", "there is no such file"),
        ("/usr/bin/python3.11/x", "there is no such file"),
        ("/nowhere/../bin/python", "there is no such file"),
        ("/loop", "it has too many symlinks"),
        (
            "/down",
            "it leads below the mount /data, where the image has no say",
        ),
        (
            "/self",
            "it leads below the mount /proc, where the image has no say",
        ),
    ] {
        assert_eq!(found(&image, path), expected, "{path}");
    }
}

#[test]
fn the_topmost_layer_decides() {
    let layers = Layers::new();
    layers.file("up", "bin/a", 0o755);
    layers.file("low", "bin/a", 0o755);
    layers.file("low", "bin/b", 0o755);
    layers.file("up", "was-directory", 0o755);
    layers.file("low", "was-directory/x", 0o755);
    layers.file("up", "was-file/y", 0o755);
    layers.file("low", "was-file", 0o755);
    let image = layers.image(&[]);
    let text = |path: &str| {
        let file = image.find(path.as_bytes()).unwrap();
        io::read_to_string(file.open().unwrap()).unwrap()
    };
    assert_eq!(
        (text("/bin/a"), text("/bin/b")),
        ("up bin/a".into(), "low bin/b".into())
    );
    assert_eq!(found(&image, "/was-directory/x"), "there is no such file");
    assert_eq!(found(&image, "/was-file/y"), "/was-file/y");
}

#[test]
fn a_name_is_looked_up_as_a_shell_does() {
    let layers = Layers::new();
    layers.file("low", "usr/bin/dash", 0o755);
    layers.link("low", "usr/bin/sh", "dash");
    layers.file("up", "usr/local/bin/sh", 0o644);
    layers.file("low", "opt/sh", 0o755);
    let image = layers.image(&["/mnt"]);
    let look_up = |path: &str| image.look_up(b"sh", path);
    let (name, file) = look_up("relative::/usr/local/bin:/usr/bin/:/opt").unwrap();
    assert_eq!(
        (name.as_slice(), file.path.as_slice()),
        (&b"/usr/bin/sh"[..], &b"/usr/bin/dash"[..])
    );
    assert!(matches!(look_up("/usr/local/bin"), Err(Absence::NotThere)));
    assert!(matches!(look_up("/mnt/bin"), Err(Absence::Mounted(_))));
    assert_eq!(look_up("/mnt/bin:/opt").unwrap().1.path, b"/opt/sh");
}

#[test]
fn what_cannot_be_read_is_not_taken_for_absent() {
    let layers = Layers::new();
    layers.file("low", "bin/a", 0o755);
    let image = layers.image(&[]);
    fs::remove_dir(layers.place("up", "")).unwrap();
    let words = found(&image, "/bin/a");
    assert!(
        words.contains("up/bin") && words.contains("No such file"),
        "{words}"
    );
    let nothing = Image::of_container(&ContainerFacts {
        storage_driver: Some("btrfs".to_owned()),
        ..ContainerFacts::default()
    });
    assert!(nothing.unwrap_err().contains("btrfs"));
}

#[test]
fn the_host_is_an_image_without_layers() {
    let directory = tempfile::tempdir().unwrap();
    let real = directory.path().canonicalize().unwrap();
    fs::write(real.join("file"), "x").unwrap();
    symlink("file", real.join("link")).unwrap();
    let path = real.join("link");
    let file = Image::host().find(path.as_os_str().as_bytes()).unwrap();
    assert_eq!(file.path, real.join("file").as_os_str().as_bytes());
    assert!(!file.is_executable);
}
