//! Reads a log with every column, and prints rows, sums and seconds as JSON; `bench/peers/read_csv.py` compares.

use std::path::Path;
use std::time::Instant;

use fpsrl::data::log::{TextOptions, read};
use fpsrl::progress::Progress;

fn main() {
    let path = std::env::args().nth(1).unwrap_or_else(|| fail("usage: read_log FILE"));
    let began = Instant::now();
    let table = read(Path::new(&path), &TextOptions::default(), &|_, _| true, &Progress::silent())
        .unwrap_or_else(|error| fail(&error.to_string()));
    let seconds = began.elapsed().as_secs_f64();
    let sums: serde_json::Map<String, serde_json::Value> =
        table.columns.iter().map(|column| (column.title.clone(), column.values.iter().sum::<f64>().into())).collect();
    println!("{}", serde_json::json!({ "rows": table.rows, "seconds": seconds, "sums": sums }));
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    std::process::exit(1)
}
