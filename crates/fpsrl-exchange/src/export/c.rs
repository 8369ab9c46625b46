//! C99: a header and a source.

use minijinja::context;

use super::controller::{Controller, Precision};
use super::elementary;
use super::identifier;
use super::provenance::Provenance;
use super::view::{View, plain_literal};
use super::writer::Writer;
use super::{Dialect, Generated, GeneratedFile, Mathematics, Target};
use fpsrl_base::error::{Error, Result};
use fpsrl_base::remedy::Remedy;

/// C99.
pub(super) struct C;

impl Writer for C {
    fn name(&self) -> &'static str {
        "c"
    }

    fn extension(&self, _: Dialect) -> &'static str {
        "c"
    }

    fn knows_single(&self) -> bool {
        true
    }

    fn write(
        &self,
        controller: &Controller,
        provenance: Option<&Provenance>,
        target: &Target,
        stem: &str,
    ) -> Result<Generated> {
        if stem.chars().any(ends_an_include) {
            return Err(Error::setting(
                "out",
                format!("{:?}", identifier::abridged(stem, identifier::LONGEST_TEXT)),
                "the name of a C file stands in quotes in the code, so it holds neither quotes, backslashes, `?` nor invisible characters",
                Remedy::words("give ").option("out", None).then(" another name"),
            ));
        }
        generate(controller, provenance, target.mathematics, stem)
    }
}

/// Whether a character in the name of a header ends its `#include`, or lets the line look like another one.
fn ends_an_include(c: char) -> bool {
    let is_invisible = c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    is_invisible || matches!(c, '"' | '\\' | '?' | '<' | '>')
}

fn generate(
    controller: &Controller,
    provenance: Option<&Provenance>,
    mathematics: Mathematics,
    stem: &str,
) -> Result<Generated> {
    let precision = controller.precision;
    let view = View::new(controller, provenance, &identifier::C, literal);
    let single = precision == Precision::Single;
    let (exp, tanh) = match (mathematics, single) {
        (Mathematics::Own, _) => ("exponential", "hyperbolic_tangent"),
        (Mathematics::Library, false) => ("exp", "tanh"),
        (Mathematics::Library, true) => ("expf", "tanhf"),
    };
    let extra = context! {
        upper => view.name.to_ascii_uppercase(),
        real => if single { "float" } else { "double" },
        header => format!("{stem}.h"),
        own_math => mathematics == Mathematics::Own,
        exp, tanh,
        ..elementary::constants(precision, literal)
    };
    let source = view.render(include_str!("templates/controller.c.jinja"), extra.clone())?;
    let header = view.render(include_str!("templates/controller.h.jinja"), extra)?;
    Ok(Generated {
        files: vec![GeneratedFile::text("c", source), GeneratedFile::text("h", header)],
        names: super::Names::of(&view),
        notes: Vec::new(),
    })
}

fn literal(value: f64, precision: Precision) -> String {
    let suffix = if precision == Precision::Single { "F" } else { "" };
    plain_literal(value, precision) + suffix
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::Format;
    use crate::export::controller::tests::small;

    #[test]
    fn no_file_name_ends_the_line_that_includes_it() {
        let controller = small(Precision::Double, None, None);
        let include = |stem: &str| {
            let generated = Target::new(Format::C).generate(&controller, None, stem)?;
            let text = String::from_utf8(generated.files[0].content.clone()).unwrap();
            Ok::<_, Error>(
                text.lines().filter(|line| line.starts_with("#include")).map(str::to_owned).collect::<Vec<_>>(),
            )
        };
        assert_eq!(include("Füllstand 2 (neu)").unwrap()[0], "#include \"Füllstand 2 (neu).h\"");
        for stem in ["a\"\nint evil;//", "a\nb", "a\\", "a??/b", "a\u{202e}b", "a\u{2028}b", "\u{1b}[31m"] {
            let error = include(stem).unwrap_err();
            assert!(
                error.to_string().contains("in quotes in the code") && !error.to_string().contains('\u{1b}'),
                "{error}"
            );
        }
    }
}
