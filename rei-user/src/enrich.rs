//! To be written.
use crate::decode;
use crate::engine::ContainerFacts;
/// t
pub enum Target {
    /// p
    Plain,
    /// c
    Container,
}
/// e
pub struct Enricher;
/// e
pub struct Enriched(
    /// e
    pub decode::Event,
);
impl Enricher {
    /// n
    pub fn new(_target: Target) -> Self {
        Self
    }
    /// n
    pub fn container_known(&mut self, _scope: u64, _facts: ContainerFacts) {}
    /// n
    pub fn process_present(&mut self, _scope: u64, _pid: u32, _start_ns: u64, _program: Option<Vec<u8>>) {}
    /// n
    pub fn take(&mut self, event: decode::Event) -> Enriched {
        Enriched(event)
    }
}
