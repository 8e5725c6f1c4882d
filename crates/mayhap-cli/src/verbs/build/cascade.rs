//! `mayhap build --include LIST --exclude LIST`: a filter that is exact on both lists.

use super::Build;
use crate::exit::error_with_hint;
use crate::globals::Globals;
use crate::key_args::reading;
use crate::signals::stop_on_signal;
use clap::{Args, ValueEnum};
use mayhap::cascade::{CascadeOptions, OnConflict};
use mayhap_store::text::{ExtractRules, Input, KeyReader};
use mayhap_store::{BuildError, BuildSpec, Built, Filter};
use std::path::PathBuf;

/// The two lists of a cascade.
#[derive(Args)]
#[command(next_help_heading = "Exact on two lists (--kind cascade)")]
pub struct Lists {
    /// Keys that are members: always found. Can be repeated
    #[arg(long, value_name = "LIST")]
    include: Vec<PathBuf>,

    /// Keys that are not members: never false positives. Can be repeated
    #[arg(long, value_name = "LIST")]
    exclude: Vec<PathBuf>,

    /// Which list wins for keys in both; without it they are an error
    #[arg(long, value_name = "LIST")]
    prefer: Option<PreferArg>,

    /// Type of the first layer: the smallest, or the fastest to query
    #[arg(long, value_name = "KIND", default_value = "ribbon")]
    first_layer: FirstLayer,
}

/// A list that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PreferArg {
    /// Keys in both lists are in
    Include,
    /// Keys in both lists are not in
    Exclude,
}

/// A first layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FirstLayer {
    /// A ribbon, the smallest
    #[value(alias = "fuse")]
    Ribbon,
    /// Cache lines, the fastest
    Blocked,
}

impl Lists {
    /// The files of all lists.
    pub fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.include.iter().chain(&self.exclude)
    }

    /// Whether lists were named at all.
    pub fn are_given(&self) -> bool {
        !self.include.is_empty() || !self.exclude.is_empty() || self.prefer.is_some()
    }

    fn making(&self) -> CascadeOptions {
        let making = match self.first_layer {
            FirstLayer::Ribbon => CascadeOptions::default(),
            FirstLayer::Blocked => CascadeOptions::default().with_blocked(),
        };
        match self.prefer {
            None => making,
            Some(PreferArg::Include) => making.with_on_conflict(OnConflict::Include),
            Some(PreferArg::Exclude) => making.with_on_conflict(OnConflict::Exclude),
        }
    }

    /// Build a cascade of the lists that were named.
    pub fn build(
        &self,
        spec: &BuildSpec,
        rules: &ExtractRules,
        globals: &Globals,
    ) -> Result<Built, BuildError> {
        let list = |paths: &[PathBuf]| -> KeyReader {
            let list = reading(paths.iter().cloned().map(Input::from).collect(), rules, globals);
            stop_on_signal(list.progress());
            list
        };
        let (include, exclude) = (list(&self.include), list(&self.exclude));
        Filter::build_cascade(spec, self.making(), &include, &exclude)
    }
}

pub fn check_conflicts(build: &Build) -> anyhow::Result<()> {
    if build.lists.include.is_empty() {
        return Err(error_with_hint(
            "a cascade needs a list of what is in",
            "name it with --include, and what must never be mistaken for it with --exclude",
        ));
    }
    if build.keys.has_inputs() {
        return Err(error_with_hint(
            "a cascade has two lists, and it is not said which of them this input belongs to",
            "name it with --include or --exclude",
        ));
    }
    if build.capacity.is_some() || build.memory.is_some() {
        return Err(error_with_hint(
            "a cascade is as large as its lists make it: -n and --memory do not apply",
            "leave them out; -p is the rate for keys in neither list",
        ));
    }
    if build.window.is_some() || build.generations.is_some() {
        return Err(error_with_hint("a cascade forgets nothing", "--kind windowed does"));
    }
    Ok(())
}
