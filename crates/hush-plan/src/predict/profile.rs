// SPDX-License-Identifier: Apache-2.0
//! Speed of a machine: seconds for each unit of counted work, measured or built in.

use serde::{Deserialize, Serialize};

use super::{Prediction, Work};

/// Version of the profile's file.
pub const PROFILE_FORMAT: u16 = 2;
/// Largest file that is read, in bytes.
const PROFILE_MAX_BYTES: usize = 64 << 10;
/// Seconds above which no unit is believed.
const UNIT_LIMIT: f64 = 60.0;
/// Crowding above which none is believed: as many threads as the largest machine has.
const CROWDING_LIMIT: f64 = 1024.0;
/// Bytes above which no program is believed to be, without data.
const BASE_LIMIT: u64 = 1 << 40;

/// What a query engine takes for a further question, of what it takes for its first.
const FURTHER_QUERY: f64 = 0.1;

/// Unit costs of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineProfile {
    /// [`PROFILE_FORMAT`].
    pub format: u16,
    /// When it was measured, in seconds since 1970; `None` for the built-in one.
    pub measured_at: Option<u64>,
    /// Kernels that it was measured with.
    pub kernels: String,
    /// Seconds for each unit, on one thread while the others rest.
    pub units: UnitCosts,
    /// Threads of the machine.
    pub threads: u64,
    /// How many times longer a unit takes while all threads are busy. Threads may share a core.
    pub crowding: f64,
    /// Bytes of memory that the program takes for a query of next to no data: its code, its keys and the query engine.
    pub base_memory_bytes: u64,
}

/// Seconds for each unit of [`Work`], on one thread.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnitCosts {
    /// The first question to a query engine, whatever its rows.
    pub query: f64,
    /// One number of a clear column, or one value of an expression over clear columns.
    pub clear_cell: f64,
    /// One text of a clear column.
    pub text_cell: f64,
    /// One row whose group is looked for.
    pub grouped_row: f64,
    /// One row picked for the answer.
    pub selected_row: f64,
    /// One byte read, its digest compared.
    pub byte_read: f64,
    /// One byte of an encoded column taken out of a file.
    pub byte_loaded: f64,
    /// One residue expanded from a seed.
    pub expanded: f64,
    /// One butterfly of a transform.
    pub butterfly: f64,
    /// One product of residues.
    pub product: f64,
    /// One residue unpacked.
    pub unpacked: f64,
    /// One product with the secret.
    pub owner_product: f64,
    /// One coefficient put together and decoded.
    pub owner_decoded: f64,
    /// One operation on wide integers.
    pub owner_operation: f64,
    /// One value of a row, as an array and through the last query.
    pub owner_cell: f64,
    /// One value of a window function.
    pub owner_windowed: f64,
    /// One value of a row that the owner groups.
    pub owner_regrouped: f64,
    /// One group that the owner makes of rows.
    pub owner_group: f64,
    /// Seconds that the owner needs once, to open the answer and to run the final query.
    pub owner_query: f64,
}

/// Predicted seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Times {
    /// On the server, without the network.
    pub server_s: f64,
    /// On the owner's machine: decrypt, merge, finish.
    pub owner_s: f64,
}

/// Why a profile is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Not the JSON that a profile is.
    #[error("it is damaged: {what}")]
    Damaged {
        /// The fault that the reader found.
        what: String,
    },
    /// Another version of the file.
    #[error("it has format {found}, this program reads {expected}")]
    Format {
        /// Version found.
        found: u16,
        /// Version read.
        expected: u16,
    },
    /// Measured with kernels that are not in use.
    #[error("it was measured with the kernels {found}, in use are {expected}")]
    Kernels {
        /// Kernels of the profile.
        found: String,
        /// Kernels in use.
        expected: String,
    },
}

impl MachineProfile {
    /// The built-in profile: one core of a server with AVX-512 of 2023, rounded. Where the machine at hand differs, so
    /// do its times; the order of two plans hardly does.
    pub fn built_in() -> Self {
        let units = UnitCosts {
            query: 1e-2,
            clear_cell: 6e-9,
            text_cell: 4e-8,
            grouped_row: 3e-8,
            selected_row: 3e-8,
            byte_read: 5e-10,
            byte_loaded: 4e-10,
            expanded: 2e-9,
            butterfly: 4e-10,
            product: 1e-9,
            unpacked: 5e-10,
            owner_product: 5e-10,
            owner_decoded: 5e-8,
            owner_operation: 1e-8,
            owner_cell: 1e-8,
            owner_windowed: 5e-7,
            owner_regrouped: 1e-7,
            owner_group: 2e-6,
            owner_query: 5e-3,
        };
        Self {
            format: PROFILE_FORMAT,
            measured_at: None,
            kernels: "built-in".to_owned(),
            units,
            threads: 1,
            crowding: 1.0,
            base_memory_bytes: 55_000_000,
        }
    }

    /// Reads a profile's file.
    ///
    /// # Errors
    /// [`ProfileError::Damaged`], [`ProfileError::Format`]. Figures outside their range are damage: a cost is positive
    /// and at most a minute.
    pub fn from_json(bytes: &[u8]) -> Result<Self, ProfileError> {
        #[derive(Deserialize)]
        struct Version {
            format: u16,
        }
        let damaged = |what: &str| ProfileError::Damaged { what: what.to_owned() };
        if bytes.len() > PROFILE_MAX_BYTES {
            return Err(damaged("it is too long"));
        }
        let json = |error: serde_json::Error| ProfileError::Damaged { what: error.to_string() };
        let version: Version = serde_json::from_slice(bytes).map_err(json)?;
        if version.format != PROFILE_FORMAT {
            return Err(ProfileError::Format { found: version.format, expected: PROFILE_FORMAT });
        }
        let profile: Self = serde_json::from_slice(bytes).map_err(json)?;
        let is_cost = |(_, seconds): &(&str, f64)| seconds.is_finite() && (0.0..UNIT_LIMIT).contains(seconds);
        if let Some((unit, _)) = profile.units.named().iter().find(|unit| !is_cost(unit)) {
            return Err(damaged(&format!("the cost of {unit} is no time")));
        }
        if profile.threads == 0 || !(1.0..=CROWDING_LIMIT).contains(&profile.crowding) {
            return Err(damaged("threads that share a machine are not slower than one alone"));
        }
        if profile.base_memory_bytes > BASE_LIMIT {
            return Err(damaged("the program's memory is no size"));
        }
        Ok(profile)
    }

    /// The profile as its file.
    pub fn to_json(&self) -> String {
        // Numbers and one string: nothing that does not serialise.
        serde_json::to_string_pretty(self).map_or_else(|_| String::new(), |text| text + "\n")
    }

    /// The time of a prediction's work.
    pub fn times(&self, prediction: &Prediction) -> Times {
        let (work, units) = (&prediction.work, &self.units);
        // Seconds of work that `busy` threads share.
        let shared = |seconds: f64, busy: u64| seconds * self.slowness(busy) / busy.max(1) as f64;
        let reading =
            units.byte_read * prediction.longest_reads as f64 * self.slowness(prediction.busy_threads);
        let arrays = units.byte_read * prediction.bytes_down as f64
            + units.owner_cell * work.owner_cells as f64
            + units.owner_windowed * work.owner_windowed as f64
            + units.owner_group * work.owner_groups as f64;
        // Whoever is asked first starts the query engine: the server for what it adds up, the owner for rows.
        let first = if work.queries == 0 { units.query } else { 0.0 };
        Times {
            server_s: units.query * work.queries as f64
                + reading
                + shared(units.in_chunks(work), prediction.busy_threads),
            owner_s: units.owner_query
                + first
                + FURTHER_QUERY * units.query * work.owner_queries as f64
                + arrays
                + shared(units.of_owner(work), prediction.owner_threads)
                + shared(units.owner_regrouped * work.owner_regrouped as f64, self.threads),
        }
    }

    /// Seconds that every query takes, whatever is asked.
    pub fn once_s(&self) -> f64 {
        self.units.query + self.units.owner_query
    }

    /// How many times longer a unit takes with so many busy threads than with one.
    fn slowness(&self, busy: u64) -> f64 {
        let others = self.threads.saturating_sub(1).max(1) as f64;
        1.0 + (self.crowding - 1.0) * (busy.saturating_sub(1) as f64 / others).min(1.0)
    }
}

impl UnitCosts {
    /// Names, as in the file, and seconds.
    pub fn named(&self) -> [(&'static str, f64); 19] {
        [
            ("query", self.query),
            ("clear_cell", self.clear_cell),
            ("text_cell", self.text_cell),
            ("grouped_row", self.grouped_row),
            ("selected_row", self.selected_row),
            ("byte_read", self.byte_read),
            ("byte_loaded", self.byte_loaded),
            ("expanded", self.expanded),
            ("butterfly", self.butterfly),
            ("product", self.product),
            ("unpacked", self.unpacked),
            ("owner_product", self.owner_product),
            ("owner_decoded", self.owner_decoded),
            ("owner_operation", self.owner_operation),
            ("owner_cell", self.owner_cell),
            ("owner_windowed", self.owner_windowed),
            ("owner_regrouped", self.owner_regrouped),
            ("owner_group", self.owner_group),
            ("owner_query", self.owner_query),
        ]
    }

    fn in_chunks(&self, work: &Work) -> f64 {
        self.clear_cell * work.clear_cells as f64
            + self.text_cell * work.text_cells as f64
            + self.grouped_row * work.grouped_rows as f64
            + self.selected_row * work.selected_rows as f64
            + self.byte_loaded * work.bytes_loaded as f64
            + self.expanded * work.expanded as f64
            + self.butterfly * work.butterflies as f64
            + self.product * work.products as f64
            + self.unpacked * work.unpacked as f64
    }

    fn of_owner(&self, work: &Work) -> f64 {
        self.expanded * work.owner_expanded as f64
            + self.butterfly * work.owner_butterflies as f64
            + self.owner_product * work.owner_products as f64
            + self.unpacked * work.owner_unpacked as f64
            + self.owner_decoded * work.owner_decoded as f64
            + self.owner_operation * work.owner_evaluated as f64
    }
}
