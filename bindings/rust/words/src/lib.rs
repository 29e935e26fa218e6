// SPDX-License-Identifier: MIT
//! Searches files as grep does: all lines that match, in the order of the files, and then how often
//! each word that matched occurs.

use regex::Regex;
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A line that matches.
struct Line {
    number: usize,
    text: String,
}

/// What one thread found.
#[derive(Default)]
struct Found {
    files: Vec<(usize, Vec<Line>)>,
    words: HashMap<String, usize>,
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => collect_files(&entry.path(), files)?,
            kind if kind.is_file() => files.push(entry.path()),
            _ => {} // links are not followed
        }
    }
    Ok(())
}

fn search_text(pattern: &Regex, text: &str, words: &mut HashMap<String, usize>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut matches = pattern.find_iter(line).peekable();
        if matches.peek().is_some() {
            lines.push(Line { number: index + 1, text: line.to_owned() });
        }
        for found in matches {
            *words.entry(found.as_str().to_lowercase()).or_default() += 1;
        }
    }
    lines
}

/// Takes files from the list until there are none left.
fn search_files(pattern: &Regex, files: &[PathBuf], next: &AtomicUsize) -> Found {
    let mut found = Found::default();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(file) = files.get(index) else { return found };
        let Ok(bytes) = fs::read(file) else { continue };
        let lines = search_text(pattern, &String::from_utf8_lossy(&bytes), &mut found.words);
        if !lines.is_empty() {
            found.files.push((index, lines));
        }
    }
}

fn print(files: &[PathBuf], all: Vec<Found>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut words: HashMap<String, usize> = HashMap::new();
    let mut hits = Vec::new();
    for found in all {
        hits.extend(found.files);
        for (word, count) in found.words {
            *words.entry(word).or_default() += count;
        }
    }
    hits.sort_by_key(|(index, _)| *index);
    for (index, lines) in hits {
        for line in lines {
            writeln!(out, "{}:{}:{}", files[index].display(), line.number, line.text)?;
        }
    }
    let mut words: Vec<_> = words.into_iter().collect();
    words.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
    for (word, count) in words.iter().take(20) {
        writeln!(out, "{count:8} {word}")?;
    }
    out.flush()
}

fn run(pattern: &str, folder: &str, threads: usize) -> Result<(), Box<dyn std::error::Error>> {
    let pattern = Regex::new(pattern)?;
    let mut files = Vec::new();
    collect_files(Path::new(folder), &mut files)?;
    files.sort();
    let next = AtomicUsize::new(0);
    let all = thread::scope(|scope| {
        let work = || search_files(&pattern, &files, &next);
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        running.into_iter().map(|one| one.join().expect("a thread panicked")).collect()
    });
    Ok(print(&files, all)?)
}

/// `words PATTERN FOLDER [THREADS]`
pub fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pattern, folder, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: words PATTERN FOLDER [THREADS]");
        std::process::exit(2);
    };
    let threads = rest.first().and_then(|count| count.parse().ok()).unwrap_or(4);
    if let Err(error) = run(pattern, folder, threads) {
        eprintln!("words: {error}");
        std::process::exit(1);
    }
}

/// The examples of the guide are tests of this crate, because it is not published: the package of
/// eggbox is without the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/guide/rust.md")]
struct Guide;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_lines_and_counts_words() {
        let pattern = Regex::new(r"\b[Pp]ool\w*").unwrap();
        let mut words = HashMap::new();
        let lines = search_text(&pattern, "a Pool\nno\npool, pools\n", &mut words);
        let numbers: Vec<_> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, [1, 3]);
        assert_eq!((words["pool"], words["pools"]), (2, 1));
    }
}
