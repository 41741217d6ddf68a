// SPDX-License-Identifier: Apache-2.0
//! Predictions for people: what they rest on, and measured beside predicted.

use hush::{Analysis, ProfileInUse};

use crate::account::{grouped, seconds};

/// A table of predicted and measured figures.
pub(crate) fn text(analysis: &Analysis) -> String {
    let (predicted, measured) = (&analysis.predicted, &analysis.measured);
    let (prediction, times) = (&predicted.prediction, &predicted.times);
    let time = |value: f64| format!("{} s", seconds(value));
    // To the byte: they are compared.
    let bytes = |count: u64| format!("{} B", grouped(count));
    let memory = |bytes: u64| format!("{:.0} MB", bytes as f64 / 1e6);
    let mut rows = vec![
        ("up", bytes(prediction.bytes_up), bytes(measured.bytes_up)),
        ("down", bytes(prediction.bytes_down), bytes(measured.bytes_down)),
        ("server", time(times.server_s), time(measured.server_s)),
        ("you", time(times.owner_s), time(measured.owner_s)),
    ];
    if let Some(peak) = measured.peak_bytes {
        rows.push(("memory", memory(predicted.memory_bytes), memory(peak)));
    }
    let mut out = format!("{:<9} {:>12} {:>12}\n", "", "predicted", "measured");
    for (label, predicted, measured) in rows {
        out.push_str(&format!("{label:<9} {predicted:>12} {measured:>12}\n"));
    }
    let held = match prediction.groups {
        0 if predicted.plan.is_by_row() => match prediction.chunks_read {
            1 => "1 chunk".to_owned(),
            chunks => format!("{} chunks", grouped(chunks)),
        },
        1 => "1 group".to_owned(),
        groups => format!("{} groups", grouped(groups)),
    };
    out.push_str(&format!(
        "Planned   in {:.1} ms; predicted for the {held} of the answer\nTimes     {}",
        predicted.planning_s * 1e3,
        basis(&predicted.profile)
    ));
    out
}

/// What predicted times rest on.
pub(crate) fn basis(profile: &ProfileInUse) -> String {
    match profile.age_s() {
        Some(age) => format!("by this machine's profile, measured {}", ago(age)),
        None => "by built-in figures; hush doctor --calibrate measures this machine".to_owned(),
    }
}

/// `3 days ago`.
pub(crate) fn ago(seconds: u64) -> String {
    let (count, unit) = match seconds {
        0..120 => return "just now".to_owned(),
        120..7200 => (seconds / 60, "minutes"),
        7200..172_800 => (seconds / 3600, "hours"),
        _ => (seconds / 86_400, "days"),
    };
    format!("{count} {unit} ago")
}

#[cfg(test)]
mod tests {
    use super::ago;

    #[test]
    fn ages_for_people() {
        let shown = [5, 120, 7199, 7200, 172_800, 10_000_000].map(ago);
        let expected =
            ["just now", "2 minutes ago", "119 minutes ago", "2 hours ago", "2 days ago", "115 days ago"];
        assert_eq!(shown, expected);
    }
}
