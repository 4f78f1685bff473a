//! `rei keygen`: makes the keys of this host, and says what has to be done with them.

use std::io::{self, Write};

use anyhow::{Context, Result};
use serde_json::json;

use super::say;
use crate::cli::KeygenArgs;
use crate::keys::host::{HostKeys, NewKeys, default_origin};
use crate::keys::locked::guard_process;
use crate::quote::quote;

/// Makes the keys. stdout gets the public key, or everything that may be told as JSON.
pub(super) fn run(args: &KeygenArgs) -> Result<u8> {
    guard_process().context("cannot keep this process out of core dumps")?;
    let origin = args.origin.clone().unwrap_or_else(default_origin);
    let (keys, made) = HostKeys::create(&args.keys.directory, &origin)?;
    announce(&made);
    let mut line = if args.json {
        json!({
            "series": made.series.to_string(),
            "origin": keys.key().origin(),
            "host_public_key": made.vkey,
            "host_public_key_file": made.host_public_key,
            "verification_key_file": made.verification_key,
        })
        .to_string()
    } else {
        made.vkey.clone()
    };
    line.push('\n');
    io::stdout()
        .lock()
        .write_all(line.as_bytes())
        .context("cannot write the public key to stdout; it is in the file host.pub beside the keys")?;
    Ok(0)
}

/// Tells a person what was made and what is left to do.
pub(super) fn announce(made: &NewKeys) {
    for line in announcement(made) {
        say(line);
    }
}

fn announcement(made: &NewKeys) -> [String; 3] {
    let file = |path: &std::path::Path| quote(path.as_os_str().as_encoded_bytes()).to_string();
    let verification_key = file(&made.verification_key);
    [
        format!("made the keys of this host (series {})", made.series),
        format!(
            "MOVE {verification_key} TO WHERE LOGS ARE VERIFIED, and remove it here: whoever has it can forge what \
             this host seals"
        ),
        format!(
            "give the auditor {} as well; it is public",
            file(&made.host_public_key)
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::keys::id::SeriesId;

    #[test]
    fn a_person_is_told_which_file_has_to_leave_and_nothing_secret() {
        let made = NewKeys {
            series: SeriesId::new([0xab; 16]),
            verification_key: PathBuf::from("/keys/verification\u{1b}.key"),
            host_public_key: PathBuf::from("/keys/host.pub"),
            vkey: "node-7/rei+00000000+AQ==".to_owned(),
        };
        let [series, leaves, public] = announcement(&made);
        assert!(series.contains("abababab"), "{series}");
        assert!(
            leaves.contains(r"/keys/verification\x1b.key") && leaves.contains("remove it"),
            "{leaves}"
        );
        assert!(public.contains("/keys/host.pub"), "{public}");
    }
}
