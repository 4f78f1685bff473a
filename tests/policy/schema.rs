//! docs/policy.schema.json, applied.

use serde_json::Value;

use crate::json_schema::Schema;

const SCHEMA: &str = include_str!("../../docs/policy.schema.json");

/// What is wrong with a policy's form, if something is.
pub(crate) fn fault(toml: &str) -> Option<String> {
    let root: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    match toml::from_str::<Value>(toml) {
        Ok(policy) => Schema { root: &root }.fault(&root, &policy, "policy"),
        Err(error) => Some(error.to_string()),
    }
}
