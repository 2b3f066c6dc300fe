//! The figures of a run that tools draw as trends, in the formats that they read.

use super::forecast::bytes_free;
use super::log::{CallRecord, PlaySpeed, calls_by_generation, read_calls};
use super::record::LastCall;
use super::status::RunStatus;
use crate::artifact::{ArtifactError, Registry};
use crate::statistics::elo::known_elo;
use crate::statistics::ladder::Rating;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// A format that tools for trends and alerts read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsFormat {
    /// Bencher Metric Format, JSON.
    Bmf,
    /// The JSON of `customBiggerIsBetter` of github-action-benchmark: the figures that should be
    /// large.
    BenchmarkBigger,
    /// The same of `customSmallerIsBetter`.
    BenchmarkSmaller,
    /// OpenMetrics, the text that Prometheus reads.
    Openmetrics,
}

/// Which way a figure should move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Better {
    Bigger,
    Smaller,
    /// It tells how things stand, and neither is better.
    Neither,
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    what: &'static str,
    unit: &'static str,
    meaning: &'static str,
    better: Better,
    figure: Figure,
}

/// A value and the ends of its 95 % interval, as far as they are known.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figure {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
}

impl Figure {
    fn exact(value: f64) -> Self {
        Self {
            value: Some(value),
            low: None,
            high: None,
        }
    }
}

impl Metric {
    /// Its name with its unit in lower case.
    fn name(&self) -> String {
        format!("{}-{}", self.what, self.unit).replace('_', "-")
    }
}

/// The figures of a run that are known: of the champion, of the newest generation with a verdict,
/// of the last call of the pipeline, and of the disk.
///
/// # Errors
///
/// A system error.
pub fn metrics(
    status: &RunStatus,
    registry: &Registry,
    datasets: &Path,
) -> Result<Vec<Metric>, ArtifactError> {
    let calls = read_calls(registry.folder())?;
    let mut metrics = metrics_of_models(status, &calls);
    let last = LastCall::read(registry.folder())?;
    let ended = last
        .as_ref()
        .and_then(|call| humantime::parse_rfc3339(&call.ended).ok())
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let count = |count: u64| Some(Figure::exact(count as f64));
    let standing = [
        (
            "last-end",
            "seconds",
            "When the last call of the pipeline ended or was last at work, since 1970",
            Better::Neither,
            ended.and_then(|time| count(time.as_secs())),
        ),
        (
            "last-exit",
            "code",
            "Exit code of the last call of the pipeline",
            Better::Neither,
            last.and_then(|call| call.code)
                .and_then(|code| count(code.into())),
        ),
        (
            "rejected-in-a-row",
            "gates",
            "Gates since the last that accepted its candidate",
            Better::Smaller,
            count(status.rejected_in_a_row.into()),
        ),
        (
            "disk-used",
            "bytes",
            "Bytes of the run's datasets and models",
            Better::Neither,
            count(status.bytes_on_disk),
        ),
        (
            "disk-free",
            "bytes",
            "Bytes that are free on the disk of the datasets",
            Better::Neither,
            count(bytes_free(datasets)?),
        ),
    ];
    metrics.extend(known(standing));
    Ok(metrics)
}

/// The figures among these that have a value.
fn known(
    figures: impl IntoIterator<
        Item = (
            &'static str,
            &'static str,
            &'static str,
            Better,
            Option<Figure>,
        ),
    >,
) -> impl Iterator<Item = Metric> {
    figures
        .into_iter()
        .filter_map(|(what, unit, meaning, better, figure)| {
            figure.map(|figure| Metric {
                what,
                unit,
                meaning,
                better,
                figure,
            })
        })
}

/// The figures of the champion and of the newest generation with a verdict.
fn metrics_of_models(status: &RunStatus, calls: &[CallRecord]) -> Vec<Metric> {
    let champion = status
        .ladder
        .iter()
        .find(|standing| Some(standing.id.to_string()) == status.champion);
    let rating = champion.map(|standing| {
        let Rating {
            elo,
            elo_low,
            elo_high,
        } = standing.rating;
        Figure {
            value: Some(elo),
            low: Some(elo_low),
            high: Some(elo_high),
        }
    });
    let newest = status
        .generations
        .iter()
        .rev()
        .map(|generation| &generation.line)
        .find(|line| line.verdict.is_some());
    let speed = newest.and_then(|line| PlaySpeed::of(calls, line.generation, line.games?));
    let made = newest.and_then(|line| calls_by_generation(calls).remove(&line.generation));
    let is_known = |call: &&CallRecord| call.threads.is_some_and(|threads| 0 < threads);
    let cpu_seconds = made
        .filter(|made| made.iter().all(is_known))
        .map(|made| made.iter().map(|call| call.cpu_seconds).sum());
    let elo = newest.and_then(|line| line.elo).map(|found| {
        let [value, low, high] = found.map(known_elo);
        Figure { value, low, high }
    });
    let mae = newest.and_then(|line| line.exact_mae).map(Figure::exact);
    let made_champion = status
        .generations
        .iter()
        .find(|generation| generation.champion);
    let champion_mae = made_champion
        .and_then(|generation| generation.line.exact_mae)
        .map(Figure::exact);
    let games_per_second = speed.map(|speed| Figure::exact(speed.games_per_second));
    let cpu_seconds = cpu_seconds.map(Figure::exact);
    let (bigger, smaller) = (Better::Bigger, Better::Smaller);
    known([
        (
            "champion",
            "elo",
            "Elo of the champion on the ladder of the run",
            bigger,
            rating,
        ),
        (
            "champion-exact-mae",
            "discs",
            "Mean absolute error of the champion on exact scores",
            smaller,
            champion_mae,
        ),
        (
            "gate",
            "elo",
            "Elo of the newest candidate over its baseline",
            bigger,
            elo,
        ),
        (
            "exact-mae",
            "discs",
            "Mean absolute error of the newest candidate on exact scores",
            smaller,
            mae,
        ),
        (
            "games",
            "per_second",
            "Games of self-play per second, newest generation",
            bigger,
            games_per_second,
        ),
        (
            "cpu",
            "seconds",
            "Processor time of the newest generation",
            smaller,
            cpu_seconds,
        ),
    ])
    .collect()
}

/// The figures of the run of this name, in a format and without the end of the last line.
pub fn metrics_text(format: MetricsFormat, run: &str, metrics: &[Metric]) -> String {
    match format {
        MetricsFormat::Bmf => {
            json!({run: metrics.iter().filter_map(bmf_measure).collect::<Map<_, _>>()}).to_string()
        }
        MetricsFormat::BenchmarkBigger => benchmark_text(run, metrics, Better::Bigger),
        MetricsFormat::BenchmarkSmaller => benchmark_text(run, metrics, Better::Smaller),
        MetricsFormat::Openmetrics => {
            let label = run
                .replace('\\', r"\\")
                .replace('"', "\\\"")
                .replace('\n', r"\n");
            metrics
                .iter()
                .map(|metric| gauges(&label, metric))
                .collect::<String>()
                + "# EOF"
        }
    }
}

/// A measure, which needs a value.
fn bmf_measure(metric: &Metric) -> Option<(String, Value)> {
    let Figure { value, low, high } = metric.figure;
    let mut measure = json!({"value": value?});
    for (key, end) in [("lower_value", low), ("upper_value", high)] {
        if let Some(end) = end {
            measure[key] = end.into();
        }
    }
    Some((metric.name(), measure))
}

/// The entries of the figures that should move one way.
fn benchmark_text(run: &str, metrics: &[Metric], better: Better) -> String {
    metrics
        .iter()
        .filter(|metric| metric.better == better)
        .filter_map(|metric| benchmark_entry(run, metric))
        .collect::<Value>()
        .to_string()
}

/// An entry, which needs a value.
fn benchmark_entry(run: &str, metric: &Metric) -> Option<Value> {
    let Figure { value, low, high } = metric.figure;
    let (name, unit) = (
        format!("{run} {}", metric.name()),
        metric.unit.replace('_', " "),
    );
    let mut entry = json!({"name": name, "unit": unit, "value": value?, "extra": metric.meaning});
    let range = match (low, high) {
        (Some(low), Some(high)) => Some(format!("{low:.1} to {high:.1}")),
        (Some(low), None) => Some(format!("above {low:.1}")),
        (None, Some(high)) => Some(format!("below {high:.1}")),
        (None, None) => None,
    };
    if let Some(range) = range {
        entry["range"] = range.into();
    }
    Some(entry)
}

fn gauges(run: &str, metric: &Metric) -> String {
    let Metric {
        what,
        unit,
        meaning,
        figure,
        ..
    } = metric;
    let gauge = |(value, end, which): (Option<f64>, &str, &str)| {
        let value = value?;
        let name = format!("renma_{}{end}_{unit}", what.replace('-', "_"));
        Some(format!(
            "# TYPE {name} gauge\n# UNIT {name} {unit}\n# HELP {name} {meaning}{which}\n{name}{{run=\"{run}\"}} {value}\n"
        ))
    };
    let values = [
        (figure.value, "", ""),
        (figure.low, "_low", ", low end"),
        (figure.high, "_high", ", high end"),
    ];
    values.into_iter().filter_map(gauge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_stands_for_more_is_never_a_value() {
        let metric = |found: [f64; 3]| {
            let [value, low, high] = found.map(known_elo);
            let figure = Figure { value, low, high };
            [Metric {
                what: "gate",
                unit: "elo",
                meaning: "Elo",
                better: Better::Bigger,
                figure,
            }]
        };
        let text = |format, found| metrics_text(format, "run", &metric(found));
        // All games won, most games lost, and nothing known.
        for (found, bmf, benchmark, gauges) in [
            (
                [2400.0, 420.5, 2400.0],
                r#"{"run":{}}"#,
                None,
                vec!["renma_gate_low_elo 420.5"],
            ),
            (
                [-669.0, -2399.99, -420.5],
                r#"{"run":{"gate-elo":{"upper_value":-420.5,"value":-669.0}}}"#,
                Some("below -420.5"),
                vec!["renma_gate_elo -669", "renma_gate_high_elo -420.5"],
            ),
            ([2400.0, -2400.0, 2400.0], r#"{"run":{}}"#, None, vec![]),
        ] {
            assert_eq!(text(MetricsFormat::Bmf, found), bmf);
            let entries: Value =
                serde_json::from_str(&text(MetricsFormat::BenchmarkBigger, found)).unwrap();
            assert_eq!(entries[0]["range"].as_str(), benchmark, "{entries}");
            let lines = text(MetricsFormat::Openmetrics, found).replace("{run=\"run\"}", "");
            let samples: Vec<&str> = lines
                .lines()
                .filter(|line| !line.starts_with('#'))
                .collect();
            assert_eq!(samples, gauges);
        }
    }
}
