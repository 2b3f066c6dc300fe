//! The scales of charts: ranges that hold their values, round ticks, and numbers as people write
//! them.

/// A range of values, drawn from one place to another.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    pub range: [f64; 2],
    pub places: [f64; 2],
}

impl Scale {
    /// The place of a value; one outside of the range is drawn at its end.
    pub fn place(&self, value: f64) -> f64 {
        let ([low, high], [from, to]) = (self.range, self.places);
        from + (value.clamp(low, high) - low) / (high - low) * (to - from)
    }
}

/// The step of about `count` ticks: 1, 2 or 5 times a power of ten.
fn step(range: [f64; 2], count: f64) -> f64 {
    let rough = (range[1] - range[0]) / count;
    let power = libm::pow(10.0, libm::log10(rough).floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| rough <= factor * power * 1.001);
    factor.unwrap_or(10.0) * power
}

/// Round values inside of a range, at most about `count`, with their labels; whole numbers only if
/// `whole`.
pub fn ticks(range: [f64; 2], count: f64, whole: bool) -> Vec<(f64, String)> {
    let step = step(range, count);
    let step = if whole { step.max(1.0) } else { step };
    // The decimals that labels need to differ.
    let decimals = (-libm::log10(step) - 1e-9).ceil().clamp(0.0, 6.0) as usize;
    let (first, last) = (
        (range[0] / step - 1e-9).ceil() as i64,
        (range[1] / step + 1e-9).floor() as i64,
    );
    (first..=last)
        .map(|tick| tick as f64 * step)
        .map(|tick| (tick, number(tick, decimals)))
        .collect()
}

/// A range from zero that holds the values, with round ends.
pub fn from_zero(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let most = values.fold(0.0, f64::max);
    let step = step([0.0, most], 5.0);
    drawable([0.0, (most / step - 1e-9).ceil() * step])
}

/// A range with round ends that holds the values; it begins at zero if they reach down to half of
/// their greatest.
pub fn around(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
        [low.min(value), high.max(value)]
    });
    if 0.0 <= low && low < high / 2.0 {
        return from_zero([high].into_iter());
    }
    let [low, high] = if high - low < 1e-9 {
        [low - 0.5, high + 0.5]
    } else {
        [low, high]
    };
    let step = step([low, high], 5.0);
    drawable([
        (low / step + 1e-9).floor() * step,
        (high / step - 1e-9).ceil() * step,
    ])
}

/// A range with room for the labels below its lowest value and above its highest.
pub fn with_room(range: [f64; 2]) -> [f64; 2] {
    let [low, high] = range;
    [low - 0.12 * (high - low), high + 0.08 * (high - low)]
}

/// A range, or that from 0 to 1 if it is empty or too wide to divide.
fn drawable(range: [f64; 2]) -> [f64; 2] {
    let [low, high] = range;
    if low < high && (high - low).is_finite() {
        range
    } else {
        [0.0, 1.0]
    }
}

/// A number with this number of decimals, thousands apart, and a true minus.
pub fn number(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut grouped = String::new();
    for (place, digit) in whole.char_indices() {
        if 0 < place && (whole.len() - place) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let is_zero = text.chars().all(|letter| matches!(letter, '0' | '.'));
    let sign = if value < 0.0 && !is_zero {
        "\u{2212}"
    } else {
        ""
    };
    format!("{sign}{grouped}{rest}")
}

/// The same with its sign, plus too.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = number(value, decimals);
    if text.starts_with('\u{2212}') {
        text
    } else {
        format!("+{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        for (range, count, whole, expected) in [
            ([0.0, 10.0], 5.0, false, vec![0.0, 2.0, 4.0, 6.0, 8.0, 10.0]),
            (
                [0.0, 60.0],
                6.0,
                true,
                vec![0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0],
            ),
            ([0.5, 3.5], 6.0, true, vec![1.0, 2.0, 3.0]),
            ([-2.9, 2.9], 4.0, false, vec![-2.0, 0.0, 2.0]),
            ([4.0, 4.5], 5.0, false, vec![4.0, 4.1, 4.2, 4.3, 4.4, 4.5]),
        ] {
            let found = ticks(range, count, whole);
            assert_eq!(found.len(), expected.len(), "{range:?}: {found:?}");
            assert!(
                found
                    .iter()
                    .zip(&expected)
                    .all(|(found, expected)| (found.0 - expected).abs() < 1e-9),
                "{found:?}"
            );
        }
        assert_eq!(ticks([4.0, 4.5], 5.0, false)[1].1, "4.1");
        assert_eq!(ticks([0.0, 10_000.0], 5.0, false)[1].1, "2,000");
    }

    #[test]
    fn ranges_hold_their_values_and_have_a_width() {
        for values in [
            vec![],
            vec![0.0],
            vec![5.0],
            vec![4.4, 8.4],
            vec![7.9, 8.4],
            vec![-3.0, 7.0],
            vec![f64::NAN],
        ] {
            let [low, high] = around(values.iter().copied());
            assert!(low < high, "{values:?}: {low} to {high}");
            assert!(
                values
                    .iter()
                    .all(|value| value.is_nan() || (low <= *value && *value <= high)),
                "{values:?}"
            );
            let [low, high] = from_zero(values.iter().copied());
            assert!(
                low == 0.0
                    && low < high
                    && values.iter().all(|value| value.is_nan() || *value <= high),
                "{values:?}"
            );
        }
        assert_eq!(around([1.0, 9.0].into_iter()), [0.0, 10.0]);
        let [low, high] = with_room([-50.0, 150.0]);
        assert!(
            (low + 74.0).abs() < 1e-9 && (high - 166.0).abs() < 1e-9,
            "{low} to {high}"
        );
    }

    #[test]
    fn no_values_make_a_range_that_cannot_be_drawn() {
        let all = [
            0.0,
            -1.0,
            1.0,
            1e-308,
            1e308,
            -1e308,
            9e307,
            -8e307,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for values in all
            .iter()
            .flat_map(|&first| all.map(|second| [first, second]))
        {
            for range in [from_zero(values.into_iter()), around(values.into_iter())] {
                let scale = Scale {
                    range,
                    places: [0.0, 100.0],
                };
                assert!(values.iter().all(|&value| value.is_nan() || (0.0..=100.0).contains(&scale.place(value))));
                assert!(
                    ticks(range, 5.0, false).len() <= 11,
                    "{range:?} of {values:?}"
                );
            }
        }
    }

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(number(1_234_567.891, 1), "1,234,567.9");
        assert_eq!(number(-0.04, 1), "0.0");
        assert_eq!(number(-123.4, 0), "\u{2212}123");
        assert_eq!(signed(162.4, 0), "+162");
        assert_eq!(signed(-5.25, 1), "\u{2212}5.2");
    }
}
