//! Rows to train on, laid out for passes: a block holds [`BLOCK`] numbers of its first input, then of the second.

/// Rows of a block. The Jacobian of a block (300 parameters) then stays in the second-level cache.
pub(super) const BLOCK: usize = 256;

/// Rows to train on, in blocks. The last block is filled up with rows of weight 0.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    rows: usize,
    width: usize,
    inputs: Vec<f64>,
    targets: Vec<f64>,
    weights: Vec<f64>,
}

impl Samples {
    /// All rows.
    #[cfg(test)]
    pub(crate) fn new(columns: &[Vec<f64>], targets: &[f64]) -> Self {
        let order: Vec<usize> = (0..targets.len()).collect();
        Self::of(columns, targets, &order)
    }

    /// Takes scaled `columns[input][row]` and targets, only of the rows listed, in that order.
    pub(crate) fn of(columns: &[Vec<f64>], targets: &[f64], rows: &[usize]) -> Self {
        let blocks = rows.len().div_ceil(BLOCK);
        let width = columns.len();
        let mut samples = Self {
            rows: rows.len(),
            width,
            inputs: vec![0.0; blocks * width * BLOCK],
            targets: vec![0.0; blocks * BLOCK],
            weights: vec![0.0; blocks * BLOCK],
        };
        for (place, &row) in rows.iter().enumerate() {
            let (block, lane) = (place / BLOCK, place % BLOCK);
            for (input, column) in columns.iter().enumerate() {
                samples.inputs[(block * width + input) * BLOCK + lane] = column[row];
            }
            samples.targets[place] = targets[row];
            samples.weights[place] = 1.0;
        }
        samples
    }

    /// Inputs.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Rows, without the fill.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Rows of a block, without the fill.
    pub(super) fn rows_in(&self, block: usize) -> usize {
        BLOCK.min(self.rows - block * BLOCK)
    }

    /// Some of the rows, each with the weight that its squared error counts with.
    pub(super) fn weighted(&self, rows: &[(usize, f64)]) -> Self {
        let blocks = rows.len().div_ceil(BLOCK);
        let mut samples = Self {
            rows: rows.len(),
            width: self.width,
            inputs: vec![0.0; blocks * self.width * BLOCK],
            targets: vec![0.0; blocks * BLOCK],
            weights: vec![0.0; blocks * BLOCK],
        };
        for (place, &(row, weight)) in rows.iter().enumerate() {
            let (block, lane) = (place / BLOCK, place % BLOCK);
            for input in 0..self.width {
                samples.inputs[(block * self.width + input) * BLOCK + lane] = self.input(row, input);
            }
            samples.targets[place] = self.targets[row];
            samples.weights[place] = weight.sqrt();
        }
        samples
    }

    /// The same inputs with other targets.
    pub(crate) fn with_targets(&self, targets: &[f64]) -> Self {
        let mut samples = self.clone();
        samples.targets[..targets.len()].copy_from_slice(targets);
        samples
    }

    /// The same rows in another order.
    pub(super) fn shuffled(&self, order: &[usize]) -> Self {
        let mut samples = self.clone();
        for (place, &row) in order.iter().enumerate() {
            let (block, lane) = (place / BLOCK, place % BLOCK);
            for input in 0..self.width {
                samples.inputs[(block * self.width + input) * BLOCK + lane] = self.input(row, input);
            }
            samples.targets[place] = self.targets[row];
        }
        samples
    }

    /// Blocks.
    pub(super) fn blocks(&self) -> usize {
        self.targets.len() / BLOCK
    }

    /// One scaled input of a row.
    pub(crate) fn input(&self, row: usize, input: usize) -> f64 {
        self.inputs[(row / BLOCK * self.width + input) * BLOCK + row % BLOCK]
    }

    /// The scaled target of a row.
    pub(crate) fn target(&self, row: usize) -> f64 {
        self.targets[row]
    }

    /// Inputs, targets and weights of a block.
    pub(super) fn block(&self, block: usize) -> (&[f64], &[f64], &[f64]) {
        (
            &self.inputs[block * self.width * BLOCK..][..self.width * BLOCK],
            &self.targets[block * BLOCK..][..BLOCK],
            &self.weights[block * BLOCK..][..BLOCK],
        )
    }
}
