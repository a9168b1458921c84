//! Random clusters: numbers from a seed, and usage that moves for a day.

use crate::dice::Dice;

/// The usage of each pod in millicores every five minutes of a day, one line for each.
#[derive(Default)]
pub(crate) struct Curves {
    rows: String,
    count: usize,
}

impl Curves {
    const STEPS: usize = 288;

    /// Adds the pods of a workload, which move in one way, each with its own times. Returns the usage
    /// as a scenario names it.
    pub(crate) fn add(&mut self, mean: usize, replicas: usize, random: &mut Dice) -> String {
        let (first, way) = (self.count, random.index(5));
        for _ in 0..replicas {
            let row = Curves::row(mean, way, random);
            self.rows.push_str(&row.join(","));
            self.rows.push('\n');
        }
        self.count += replicas;
        format!("{{trace: {{file: day.csv, row: {first}, step: 5m, unit: 1m}}}}")
    }

    /// The lines of the file.
    pub(crate) fn rows(&self) -> &str {
        &self.rows
    }

    fn row(mean: usize, way: usize, random: &mut Dice) -> Vec<String> {
        let begin = 24.0 * random.unit();
        let (length, steps) = (1.0 + 5.0 * random.unit(), 0..Curves::STEPS);
        let mut noise = 0.0;
        let values = steps.map(|step| {
            let hour = number(step) / 12.0;
            // How much of a change that takes `length` hours is over.
            let done = ((hour - begin) / length).clamp(0.0, 1.0);
            let level = match way {
                0 => 0.7 + 0.7 * done,
                1 => 1.3 - 0.7 * done,
                2 => 1.0 + 0.4 * ((hour - begin) / 24.0 * std::f64::consts::TAU).cos(),
                3 if done > 0.0 && done < 1.0 => 1.7,
                _ => 0.95,
            };
            // Most of the noise lasts for a quarter of an hour.
            let spread = if way == 4 { 0.25 } else { 0.03 };
            noise = 0.7 * noise + spread * (random.unit() + random.unit() - 1.0);
            let used = number(mean) * (level + noise);
            whole(used.max(1.0)).to_string()
        });
        values.collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
pub(crate) const fn number(count: usize) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "sizes are small and positive"
)]
pub(crate) const fn whole(value: f64) -> usize {
    value as usize
}

impl Dice {
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit a float")]
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A log-normal value, by the method of Box and Muller.
    pub(crate) fn log_normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let radius = (-2.0 * self.unit().max(1e-12).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.unit();
        (mean + deviation * radius * angle.cos()).exp()
    }
}
