//! Small plants for the tests: a tank under a PI controller, with set-points that step and weather that nobody
//! controls.

use fpsrl_base::random::{Purpose, Stream};

/// A number between -1 and 1 that looks random.
pub(crate) fn noise(row: usize, place: u32) -> f64 {
    2.0 * Stream::new(7, Purpose::SwarmStart).uniform(row as u32, 0, place) - 1.0
}

/// A first-order tank.
pub(crate) struct Tank {
    /// The share of its distance that the level goes in a step.
    pub(crate) speed: f64,
    /// The noise of the level's sensor.
    pub(crate) noise: f64,
    /// The noise of the weather's sensor.
    pub(crate) weather_noise: f64,
    /// Rows for which a set-point lasts.
    pub(crate) dwell: usize,
}

impl Default for Tank {
    fn default() -> Self {
        Self { speed: 0.1, noise: 0.02, weather_noise: 0.0, dwell: 80 }
    }
}

impl Tank {
    /// Level, set-point, disturbance and valve of so many rows.
    pub(crate) fn rows(&self, rows: usize) -> Vec<[f64; 4]> {
        let (mut level, mut sum, mut gust) = (20.0, 0.0, 0.0);
        (0..rows)
            .map(|row| {
                let set_point = 20.0 + (4.0 * noise(row / self.dwell, 3)).round() / 2.0;
                // A slow walk that comes back.
                gust += -0.02 * gust + 0.1 * noise(row, 4);
                let weather = 3.0 * gust + 2.0 * (row as f64 / 150.0).sin();
                let measured = level + self.noise * noise(row, 5);
                let error = set_point - measured;
                sum += 0.05 * error;
                let valve = (50.0 + 6.0 * error + 8.0 * sum).clamp(0.0, 100.0);
                let shown = weather + self.weather_noise * noise(row, 6);
                level += self.speed * (20.0 + 0.2 * (valve - 50.0) + 0.5 * weather - level);
                [measured, set_point, shown, valve]
            })
            .collect()
    }

    /// A log of it, its columns called as is said.
    pub(crate) fn text(&self, names: [&str; 4], rows: usize) -> String {
        let lines = self.rows(rows).into_iter().map(|[y, r, d, u]| format!("{y:.4};{r};{d:.4};{u:.3}\n"));
        format!("{}\n{}", names.join(";"), lines.collect::<String>())
    }
}
