// SPDX-License-Identifier: Apache-2.0
//! A progress bar on standard error, drawn only on a terminal.

use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};

use hush::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// Draws where standard error is a terminal and is silent elsewhere.
#[derive(Default)]
pub(crate) struct Bar {
    current: Mutex<Option<ProgressBar>>,
}

impl Progress for Bar {
    fn begin(&self, phase: &str, total: Option<u64>, unit: &str) {
        if !std::io::stderr().is_terminal() {
            return;
        }
        let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = match total {
            Some(_) => format!("{{msg:<12}} {{bar:30}} {{human_pos}}/{{human_len}} {unit} {{eta}}"),
            None => format!("{{msg:<12}} {{spinner}} {{human_pos}} {unit}"),
        };
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        bar.set_message(phase.to_owned());
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar);
    }

    fn advance(&self, amount: u64) {
        if let Some(bar) = self.current.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
            bar.inc(amount);
        }
    }

    fn end(&self) {
        if let Some(bar) = self.current.lock().unwrap_or_else(PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }
}
