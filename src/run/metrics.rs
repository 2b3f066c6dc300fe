//! The figures of a run that tools draw as trends, in the formats that they read.

use super::log::{CallRecord, PlaySpeed, calls_by_generation};
use super::status::RunStatus;
use crate::statistics::ladder::Rating;
use serde_json::{Map, Value, json};

/// A format that tools for trends and alerts read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MetricsFormat {
    /// Bencher Metric Format, JSON.
    Bmf,
    /// The JSON of the custom tools of github-action-benchmark.
    BenchmarkAction,
    /// OpenMetrics, the text that Prometheus reads.
    Openmetrics,
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    what: &'static str,
    unit: &'static str,
    meaning: &'static str,
    is_bigger_better: bool,
    value: f64,
    /// Both ends of the 95 % interval.
    interval: Option<[f64; 2]>,
}

impl Metric {
    /// Its name with its unit in lower case.
    fn name(&self) -> String {
        format!("{}-{}", self.what, self.unit).replace('_', "-")
    }
}

/// The figures that are known, of the champion and of the newest generation with a verdict.
pub fn metrics(status: &RunStatus, calls: &[CallRecord]) -> Vec<Metric> {
    let champion = status.ladder.iter().find(|standing| Some(standing.id.to_string()) == status.champion);
    let rating = champion.map(|standing| {
        let Rating { elo, elo_low, elo_high } = standing.rating;
        [elo, elo_low, elo_high]
    });
    let newest = status.generations.iter().rev().map(|generation| &generation.line).find(|line| line.verdict.is_some());
    let speed = newest.and_then(|line| PlaySpeed::of(calls, line.generation, line.games?));
    let made = newest.and_then(|line| calls_by_generation(calls).remove(&line.generation));
    let is_known = |call: &&CallRecord| call.threads.is_some_and(|threads| 0 < threads);
    let cpu_seconds =
        made.filter(|made| made.iter().all(is_known)).map(|made| made.iter().map(|call| call.cpu_seconds).sum());
    let exact = |value: Option<f64>| value.map(|value| (value, None));
    let between = |found: Option<[f64; 3]>| found.map(|[value, low, high]| (value, Some([low, high])));
    let (elo, mae) = (newest.and_then(|line| line.elo), newest.and_then(|line| line.exact_mae));
    let (games_per_second, bigger, smaller) = (speed.map(|speed| speed.games_per_second), true, false);
    [
        ("champion", "elo", "Elo of the champion on the ladder of the run", bigger, between(rating)),
        ("gate", "elo", "Elo of the newest candidate over its baseline", bigger, between(elo)),
        ("exact-mae", "discs", "Mean absolute error of the newest candidate on exact scores", smaller, exact(mae)),
        ("games", "per_second", "Games of self-play per second, newest generation", bigger, exact(games_per_second)),
        ("cpu", "seconds", "Processor time of the newest generation", smaller, exact(cpu_seconds)),
    ]
    .into_iter()
    .filter_map(|(what, unit, meaning, is_bigger_better, found)| {
        let (value, interval) = found?;
        Some(Metric { what, unit, meaning, is_bigger_better, value, interval })
    })
    .collect()
}

/// The figures of the run of this name, in a format and without the end of the last line.
pub fn metrics_text(format: MetricsFormat, run: &str, metrics: &[Metric]) -> String {
    match format {
        MetricsFormat::Bmf => json!({run: metrics.iter().map(bmf_measure).collect::<Map<_, _>>()}).to_string(),
        MetricsFormat::BenchmarkAction => {
            metrics.iter().map(|metric| benchmark_entry(run, metric)).collect::<Value>().to_string()
        }
        MetricsFormat::Openmetrics => {
            let label = run.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
            metrics.iter().map(|metric| gauges(&label, metric)).collect::<String>() + "# EOF"
        }
    }
}

fn bmf_measure(metric: &Metric) -> (String, Value) {
    let measure = metric.interval.map_or_else(
        || json!({"value": metric.value}),
        |[low, high]| json!({"value": metric.value, "lower_value": low, "upper_value": high}),
    );
    (metric.name(), measure)
}

fn benchmark_entry(run: &str, metric: &Metric) -> Value {
    let better = if metric.is_bigger_better { "bigger is better" } else { "smaller is better" };
    let (name, unit) = (format!("{run} {}", metric.name()), metric.unit.replace('_', " "));
    let extra = format!("{better}: {}", metric.meaning);
    let mut entry = json!({"name": name, "unit": unit, "value": metric.value, "extra": extra});
    if let Some([low, high]) = metric.interval {
        entry["range"] = format!("{low:.1} to {high:.1}").into();
    }
    entry
}

fn gauges(run: &str, metric: &Metric) -> String {
    let Metric { what, unit, meaning, .. } = metric;
    let ends = metric.interval.into_iter().flatten().zip([("_low", ", low end"), ("_high", ", high end")]);
    let gauge = |(value, (end, which))| {
        let name = format!("renma_{}{end}_{unit}", what.replace('-', "_"));
        format!(
            "# TYPE {name} gauge\n# UNIT {name} {unit}\n# HELP {name} {meaning}{which}\n{name}{{run=\"{run}\"}} {value}\n"
        )
    };
    [(metric.value, ("", ""))].into_iter().chain(ends).map(gauge).collect()
}
