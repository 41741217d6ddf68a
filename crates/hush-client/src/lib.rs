// SPDX-License-Identifier: Apache-2.0
//! The owner's side: from a file to an encrypted table, from a question to a decrypted answer.
//!
//! ```text
//!   file ─ policy ─▶ schema ─ encrypt ─▶ table (store or server)
//!   SQL ─ hush-plan ─▶ server plan ─ Evaluator ─▶ answer ─ decrypt, merge, finish ─▶ result
//!                 └──▶ owner plan ──────────────────────────┘
//! ```
//!
//! *Invariants.* Secrets and plaintext never leave this process except in the result. An embedded engine and a
//! remote server get the same bytes and give the same bytes. An answer is decrypted only if it belongs to the
//! plan that was sent and to the manifest version that is pinned. Traffic on the network does not depend on decrypted
//! data.
//!
//! *Non-goals.* Deciding what a query means (`hush-plan`), evaluating it (`hush-exec`), releasing results to
//! others than the key's owner.

mod account;
mod alter;
mod append;
mod arrays;
mod ask;
mod bounds;
mod catalogue;
mod cells;
mod chunk;
mod column_cache;
mod columns;
mod compact;
mod compare;
mod copy;
#[cfg(test)]
mod corpus;
mod cube;
mod data;
mod decrypt;
mod delete;
#[cfg(test)]
mod deleted;
mod derived;
mod destination;
mod devices;
mod encrypt;
mod error;
mod eval;
mod exact;
mod explain;
mod find;
mod finish;
mod fit;
mod history;
mod independent;
#[cfg(all(test, target_os = "linux"))]
mod isolation;
#[cfg(test)]
mod lived;
mod machine;
mod matching;
mod merge;
mod model;
mod number;
mod owner;
mod packing;
#[cfg(test)]
mod partial;
mod pins;
mod place;
mod policy;
mod precision;
mod prepare;
mod private;
#[cfg(all(test, target_os = "linux"))]
mod published;
mod pull;
mod purge;
mod rehearse;
mod release;
mod replace;
mod roots;
mod rotate;
mod run;
mod run_numbers;
mod schema_file;
mod scheme;
mod table;
mod table_keys;
mod threads;
mod tokens;
mod update;
mod workload;

pub use account::{Account, Moved, Phases, SecurityLine, Verified};
pub use alter::{AlterError, AlterOptions, AlterReport, alter};
pub use append::{AppendOptions, AppendReport, append};
pub use ask::{Outcome, PreparedQuery};
pub use catalogue::{Catalogue, CatalogueExplanation, CatalogueOutcome, TableAnswer, TableExplanation};
pub use column_cache::{ColumnCache, NO_HOME};
pub use columns::kernels;
pub use compact::{
    CompactError, CompactOptions, CompactReport, CompactionPlan, CompactionState, DUE_PARTS, Lacking,
    MOST_DELETED_PERCENT, Which, compact, plan_compaction,
};
pub use data::{FileLookup, look_up, open_data, schema_path};
pub use decrypt::TableDecryption;
pub use delete::{DeleteOptions, DeleteReport, delete_rows};
pub use devices::{
    Accepted, MAX_REJECTIONS, RejectedDelivery, Revoked, accept_deliveries, device_key, revoke_device,
};
pub use error::{ClientError, ErrorKind, Unfinished};
pub use eval::{
    BootstrapAccount, EvalAccount, EvalError, EvalOptions, EvalScheme, Evaluation, IntegerAccount, Numbers,
    PieceAccount, PlacedBootstrap, SchemeKind, SumAccount, VectorSource, evaluate_expression,
};
pub use explain::{Analysis, EXPLAIN_FORMAT, Explanation, Measured};
pub use fit::{DeviceFit, fit_to_device};
pub use history::{History, VersionChange, history};
pub use hush_keys::harden_process;
pub use hush_keys::keyfile::{KeyFileError, MIN_PASSPHRASE_CHARS, NewPassphrase, Passphrase, WorkFactor};
pub use hush_remote::{self as remote, Progress, Silent};
pub use hush_system::memory::peak_resident_bytes;
pub use machine::{ProfileInUse, UnusedProfile, calibrate, profile_path, save_profile};
pub use model::{
    Coefficients, Fit, MAX_DEPTH, Model, ModelError, ModelKind, ModelRequest, Node, ScoreRequest, Tree,
    TreeSize,
};
pub use owner::{EncryptOptions, Encrypted, OwnerKey, encrypt};
pub use pins::Pins;
pub use place::TablePlace;
pub use policy::{Policy, Proposal, StoredBytes, propose_schema};
pub use private::PrivateHalf;
pub use pull::pull;
pub use purge::{
    CheckedStatement, Earlier, PurgeError, PurgeReport, Statement, StatementFault, check_statement,
    look_at_purge, place_of_statement, purge,
};
pub use rehearse::{Rehearsal, RehearsalOptions, rehearse};
pub use release::{Counted, DEFAULT_ANSWERS, ReleaseError};
pub use replace::{Present, Pushed, copy_table, push_table};
pub use rotate::{RotateError, RotateOptions, RotateReport, RotateWay, rotate};
pub use schema_file::{
    edit_schema, parse_column, parse_schema, read_approved_schema, read_schema, reading_notes, schema_text,
    write_schema,
};
pub use table::{ASSUMED_LINK, Evaluator, OwnedTable};
pub use update::{MissingRows, UpdateOptions, UpdateReport, update_rows};
pub use workload::{Keeping, WorkloadAdvice, propose_for};

/// Names of the parameter sets of this version, smallest ring first.
pub fn parameter_sets() -> Vec<&'static str> {
    hush_params::presets().iter().map(hush_params::ParamSet::name).collect()
}
