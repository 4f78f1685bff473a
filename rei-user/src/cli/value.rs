//! The values of arguments: text → value, or what is wrong with it and how to write it.

use std::time::Duration;

use serde_json::Value;

use crate::enrich::{Access, Errno, Origin};
use crate::fold::KeepEvents;
use crate::policy::Severity;

/// The key ends at the first `=`; a colon right before it says that the value is JSON.
pub(super) fn tool_argument(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| "no `=`; write it like key=text or key:=json".to_owned())?;
    let (key, value) = match key.strip_suffix(':') {
        Some(key) => {
            let value =
                serde_json::from_str(value).map_err(|error| format!("the value is no JSON: {error}"))?;
            (key, value)
        }
        None => (key, Value::from(value)),
    };
    if key.is_empty() {
        return Err("no key; write it like key=text or key:=json".to_owned());
    }
    Ok((key.to_owned(), value))
}

pub(super) fn severity(text: &str) -> Result<Severity, String> {
    let found = Severity::ALL.into_iter().find(|severity| severity.name() == text);
    found.ok_or_else(|| "write caution, tripped or blocked".to_owned())
}

pub(super) fn keep_events(text: &str) -> Result<KeepEvents, String> {
    let found = KeepEvents::ALL.into_iter().find(|keep| keep.name() == text);
    found.ok_or_else(|| "write findings, all or none".to_owned())
}

pub(super) fn access(text: &str) -> Result<Access, String> {
    let found = Access::ALL.into_iter().find(|access| access.name() == text);
    found.ok_or_else(|| format!("write some of {}", Access::ALL.map(Access::name).join(", ")))
}

pub(super) fn origin(text: &str) -> Result<Origin, String> {
    Ok(match text.split_once(':').unwrap_or((text, "")) {
        ("image", "") => Origin::Image,
        ("upper", "") => Origin::Upper,
        ("bind", source) => Origin::Bind(source.into()),
        ("volume", name) => Origin::Volume(name.into()),
        ("tmpfs", "") => Origin::Tmpfs,
        ("proc", "") => Origin::Proc,
        ("sys", "") => Origin::Sys,
        ("dev", "") => Origin::Dev,
        ("memfd", "") => Origin::Memfd,
        ("engine", "") => Origin::Engine,
        ("host", "") => Origin::Host,
        ("unknown", "") => Origin::Unknown,
        _ => return Err("there is no such origin; --help lists them".to_owned()),
    })
}

pub(super) fn device(text: &str) -> Result<(u32, u32), String> {
    let numbers = text
        .split_once(':')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    numbers.ok_or_else(|| "write it like 1:3".to_owned())
}

pub(super) fn errno(text: &str) -> Result<Errno, String> {
    let found = (1..134).map(Errno).find(|errno| errno.to_string() == text);
    found.ok_or_else(|| "there is no such error; write it like ENOENT".to_owned())
}

pub(super) fn ring_bytes(text: &str) -> Result<u32, String> {
    let page_size = rustix::param::page_size();
    let bytes: u32 = text
        .parse()
        .map_err(|_| "not a number of bytes below 2^32".to_owned())?;
    if !bytes.is_power_of_two() {
        return Err(format!(
            "not a power of two; {} is the next one",
            bytes.saturating_add(1).next_power_of_two()
        ));
    }
    if (bytes as usize) < page_size {
        return Err(format!("not a multiple of the page size, {page_size}"));
    }
    Ok(bytes)
}

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number
        .parse()
        .map_err(|_| "not a time; write it like 500ms, 3s, 2m or 1h".to_owned())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err("no unit; write it like 500ms, 3s, 2m or 1h".to_owned()),
    };
    number
        .checked_mul(millis)
        .map(Duration::from_millis)
        .ok_or_else(|| "too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ring_sizes() {
        assert_eq!(ring_bytes("65536"), Ok(65536));
        for bad in ["0", "1", "1024", "65537", "-1", "4294967296", "64k", ""] {
            assert!(ring_bytes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("3s"), Ok(Duration::from_secs(3)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        for bad in [
            "",
            "3",
            "s",
            "3d",
            "-1s",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn tool_arguments() {
        let parsed = |text| tool_argument(text).map(|(key, value)| (key, value.to_string()));
        for (text, key, json) in [
            ("a=b", "a", r#""b""#),
            ("a=", "a", r#""""#),
            ("a=1", "a", r#""1""#),
            ("a=b=c", "a", r#""b=c""#),
            ("a:=1.5", "a", "1.5"),
            ("a:=[\"x\"]", "a", r#"["x"]"#),
            ("a=:=", "a", r#"":=""#),
        ] {
            assert_eq!(parsed(text), Ok((key.to_owned(), json.to_owned())), "{text}");
        }
        for bad in ["", "a", "=b", ":=1", "a:=", "a:=x"] {
            assert!(tool_argument(bad).is_err(), "{bad}");
        }
    }
}
