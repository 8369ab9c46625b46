//! Exports that are checked again: their test vectors and their certificates.

use fpsrl::export::{self, Certificate, Vectors};
use fpsrl::files;

use super::{Target, Trouble};
use crate::input::Input;
use crate::place::{self, Place};
use crate::seeds::runs::Files;

/// Test vectors.
pub(super) const VECTORS: Target = Target {
    name: "vectors",
    reads: "test vectors of an export",
    share: 15.0,
    short: 250,
    seeds: |place| {
        let mut all = place::inputs(place, &["export"], |file| file.ends_with(".csv"))?;
        for input in &mut all {
            input.name = "controller.vectors.csv".into();
            // Its beginning is like the rest.
            let lines: Vec<&[u8]> = input.bytes.split_inclusive(|byte| *byte == b'\n').take(40).collect();
            input.bytes = lines.concat();
        }
        let sums = "kind,reset,level,valve,outside\ninside,1,0.5,0.25,0\nfar,0,1e3,-1.0,1\n";
        all.push(Input::new("sums.vectors.csv", sums));
        Ok(all)
    },
    run: |input, place| {
        let path = place.write(&input.name, &input.bytes)?;
        let states = if input.name.starts_with("sums") { 1 } else { 2 };
        let vectors = Vectors::read(&path, states, 1)?;
        match vectors.steps().all(|(_, state)| state.len() == states) {
            true => Ok(()),
            false => Err(Trouble::Wrong("a state of test vectors has another length".into())),
        }
    },
};

/// An export in JSON, which is run without another program, with its vectors and its certificate.
pub(super) const VERIFY: Target = Target {
    name: "verify",
    reads: "an export with its certificate",
    share: 0.1,
    short: 30,
    seeds: |place| place::inputs(place, &["export"], |_| true),
    run: verify,
};

fn verify(input: &Input, place: &mut Place) -> Result<(), Trouble> {
    let file = input.name.trim_start_matches("export/").to_owned();
    let changed = Files::from([(file, input.bytes.clone())]);
    let directory = place.run("export", &changed)?;
    let certificate: Certificate = files::read_json(&directory.join("car.json.certificate.json"))?;
    // Other targets are run by compilers and interpreters.
    if certificate.export.target.format != export::Format::Json {
        return Ok(());
    }
    export::recheck(&directory.join("car.json"), None, Some(50))?;
    Ok(())
}
