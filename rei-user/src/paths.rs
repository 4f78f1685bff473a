//! Many patterns in one automaton: the cost of a path does not grow with the number of patterns.

use std::fmt;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind};

use crate::glob::Glob;

/// Memory for the automaton's states, made as paths ask for them. When it is full they are made anew.
const CACHE_BYTES: usize = 16 << 20;

/// Where in a text the patterns of a matcher may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// At its first byte.
    AtFirst,
    /// Anywhere.
    Anywhere,
}

/// Finds every pattern that matches a path. The bytes are walked once.
#[derive(Clone)]
pub struct PathMatcher {
    dfa: DFA,
    cache: Cache,
    anchored: Anchored,
}

impl fmt::Debug for PathMatcher {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PathMatcher({} patterns)", self.dfa.pattern_len())
    }
}

impl PathMatcher {
    /// A matcher of these patterns; they are known by their places.
    ///
    /// # Errors
    /// If there are more patterns than an automaton can hold.
    pub fn new<'a>(globs: impl IntoIterator<Item = &'a Glob>) -> Result<Self, String> {
        let patterns: Vec<String> = globs.into_iter().map(Glob::regex).collect();
        Self::of_regexes(&patterns, Begin::AtFirst)
    }

    /// A matcher of these regular expressions over bytes, in which `.` is any byte.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn of_regexes(patterns: &[String], begin: Begin) -> Result<Self, String> {
        let dfa = DFA::builder()
            .configure(
                DFA::config()
                    .match_kind(MatchKind::All)
                    .cache_capacity(CACHE_BYTES)
                    .skip_cache_capacity_check(true),
            )
            .syntax(
                syntax::Config::new()
                    .unicode(false)
                    .utf8(false)
                    .dot_matches_new_line(true),
            )
            .thompson(thompson::Config::new().utf8(false))
            .build_many(patterns)
            .map_err(|error| format!("the patterns together are too large for one automaton: {error}"))?;
        let cache = dfa.create_cache();
        let anchored = match begin {
            Begin::AtFirst => Anchored::Yes,
            Begin::Anywhere => Anchored::No,
        };
        Ok(PathMatcher { dfa, cache, anchored })
    }

    /// Places of the patterns that match `path`, in rising order.
    pub fn matching(&mut self, path: &[u8]) -> Vec<usize> {
        // If the automaton fails, nothing is allowed.
        self.try_matching(path).unwrap_or_default()
    }

    /// As [`Self::matching`]; `None` if the automaton fails.
    pub(crate) fn try_matching(&mut self, path: &[u8]) -> Option<Vec<usize>> {
        let input = Input::new(path).anchored(self.anchored);
        let mut places = Vec::new();
        let mut state = self.dfa.start_state_forward(&mut self.cache, &input).ok()?;
        for byte in path {
            state = self.dfa.next_state(&mut self.cache, state, *byte).ok()?;
            if !state.is_tagged() {
                continue;
            }
            if state.is_quit() {
                return None;
            }
            if state.is_dead() {
                return Some(in_order(places));
            }
            self.collect(state, &mut places);
        }
        state = self.dfa.next_eoi_state(&mut self.cache, state).ok()?;
        self.collect(state, &mut places);
        Some(in_order(places))
    }

    /// The patterns that end in this state.
    fn collect(&self, state: LazyStateID, places: &mut Vec<usize>) {
        if !state.is_match() {
            return;
        }
        for index in 0..self.dfa.match_len(&self.cache, state) {
            let place = self.dfa.match_pattern(&self.cache, state, index).as_usize();
            // A pattern that goes on matching ends at every byte.
            if !places.contains(&place) {
                places.push(place);
            }
        }
    }
}

fn in_order(mut places: Vec<usize>) -> Vec<usize> {
    places.sort_unstable();
    places
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn matcher(texts: &[&str]) -> (Vec<Glob>, PathMatcher) {
        let globs: Vec<Glob> = texts.iter().map(|text| Glob::object(text).unwrap()).collect();
        let matcher = PathMatcher::new(&globs).unwrap();
        (globs, matcher)
    }

    #[test]
    fn the_automaton_says_what_the_patterns_say() {
        let texts = [
            "/a/**",
            "/a/b",
            "/a/*",
            "/**/c",
            "**",
            "@x*",
            "/a/[!b]*",
            r"/\xff",
            "/**",
            "/a/?",
            r"pipe:\[*\]",
        ];
        let (globs, mut matcher) = matcher(&texts);
        let paths: [&[u8]; 13] = [
            b"/",
            b"",
            b"/a",
            b"/a/b",
            b"/a/c",
            b"/a/b/c",
            b"/x/y/c",
            b"@xy",
            b"memfd:x",
            b"/\xff",
            b"/a/\n",
            b"pipe:[7]",
            b"//",
        ];
        for path in paths {
            let slow: Vec<usize> = globs
                .iter()
                .enumerate()
                .filter(|(_, glob)| glob.matches(path))
                .map(|(place, _)| place)
                .collect();
            assert_eq!(matcher.matching(path), slow, "{path:?}");
        }
    }

    #[test]
    fn regexes_match_where_they_may_begin() {
        let patterns = ["b+", "^a", "c$", "a.*c", "x{2}", "(?i)B", ""].map(str::to_owned);
        let mut anywhere = PathMatcher::of_regexes(&patterns, Begin::Anywhere).unwrap();
        let mut at_first = PathMatcher::of_regexes(&patterns, Begin::AtFirst).unwrap();
        let table: [(&[u8], &[usize], &[usize]); 5] = [
            (b"abbbc", &[0, 1, 2, 3, 5, 6], &[1, 3, 6]),
            (b"/xx\n\xff", &[4, 6], &[6]),
            (b"a\nc", &[1, 2, 3, 6], &[1, 3, 6]),
            (b"BA", &[5, 6], &[5, 6]),
            (b"", &[6], &[6]),
        ];
        for (text, found, found_at_first) in table {
            assert_eq!(anywhere.matching(text), found, "{text:?}");
            assert_eq!(at_first.matching(text), found_at_first, "{text:?}");
        }
    }

    #[test]
    fn no_pattern_matches_nothing() {
        let (_, mut matcher) = matcher(&[]);
        assert!(matcher.matching(b"/x").is_empty());
    }

    #[test]
    fn a_thousand_patterns_cost_what_ten_cost() {
        let time = |count: usize| {
            let texts: Vec<String> = (0..count)
                .map(|index| format!("/srv/project-{index}/**/data-*"))
                .collect();
            let globs: Vec<Glob> = texts.iter().map(|text| Glob::object(text).unwrap()).collect();
            let mut matcher = PathMatcher::new(&globs).unwrap();
            let paths: Vec<String> = (0..10_000)
                .map(|index| format!("/srv/project-{}/a/b/data-{index}", index % 10))
                .collect();
            let mut best = u128::MAX;
            for _ in 0..5 {
                let begun = Instant::now();
                let hits: usize = paths
                    .iter()
                    .map(|path| matcher.matching(path.as_bytes()).len())
                    .sum();
                best = best.min(begun.elapsed().as_nanos());
                assert_eq!(hits, 10_000);
            }
            best
        };
        let (few, many) = (time(10), time(1000));
        // The benchmark holds it to 1.3; a busy test machine gets more room. Trying one by one would be 100.
        assert!(many < few * 4, "10 patterns {few} ns, 1000 patterns {many} ns");
    }
}
