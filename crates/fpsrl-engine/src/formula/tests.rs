use super::evaluate::BLOCK;
use super::*;
use proptest::prelude::*;

fn names() -> Vec<String> {
    ["x", "y"].map(String::from).to_vec()
}

fn value(text: &str, x: f64, y: f64) -> f64 {
    let truth = Formula::parse(text, &names(), Kind::Truth);
    truth.or_else(|_| Formula::parse(text, &names(), Kind::Number)).unwrap().evaluate(&[x, y])
}

#[test]
fn formulas_mean_what_they_mean_in_mathematics() {
    assert_eq!(value("1 + 2 * 3 - 4 / 2", 0.0, 0.0), 5.0);
    assert_eq!(value("-x ^ 2", 3.0, 0.0), -9.0);
    assert_eq!(value("2 ^ -1 ^ 2", 0.0, 0.0), 0.5);
    assert_eq!(value("(x + y) * (x - y)", 3.0, 2.0), 5.0);
    assert_eq!(value("x > 1 && !(y > 1) || x == y", 2.0, 0.0), 1.0);
    assert_eq!(value("x >= 1", 1.0, 0.0), 1.0);
    assert_eq!(value("x != 1", 1.0, 0.0), 0.0);
    assert_eq!(value("x < 0 ? -1 : x < 1 ? 0 : 1", 0.5, 0.0), 0.0);
    assert_eq!(value("max(abs(x), min(y, 2.5e0))", -1.0, 7.0), 2.5);
    assert!((value("sqrt(x) + exp(y) + log(1) + sin(pi) + cos(0) + tanh(0) + sign(-3)", 4.0, 0.0) - 3.0).abs() < 1e-12);
}

#[test]
fn words_mean_what_the_signs_do() {
    assert_eq!(value("x > 1 and not y > 1 or x == y", 2.0, 0.0), 1.0);
    assert_eq!(value("not x > 1 and y > 1", 0.0, 2.0), 1.0);
    assert_eq!(value("not (x > 1 and y > 1)", 2.0, 2.0), 0.0);
    assert_eq!(value("not not x > 1", 2.0, 0.0), 1.0);
    assert_eq!(value("(not x > 1) ? 3 : 4", 2.0, 0.0), 4.0);
    assert_eq!(value("x > 1 or y > 1 && x > 3", 2.0, 0.0), 1.0);
    // Who has variables of these names keeps them.
    let names = ["not", "and"].map(String::from);
    let formula = Formula::parse("not + and > 1 and not > 0", &names, Kind::Truth).unwrap();
    assert_eq!(formula.evaluate(&[1.0, 1.0]), 1.0);
}

#[test]
fn powers_are_written_in_three_ways_and_bind_as_in_python() {
    for text in ["x ^ 2 - y", "x ** 2 - y", "pow(x, 2) - y"] {
        assert_eq!(value(text, 3.0, 1.0), 8.0);
    }
    assert_eq!(value("2 ** -1", 0.0, 0.0), 0.5);
    assert_eq!(value("-2 ** 2", 0.0, 0.0), -4.0);
    assert_eq!(value("2 ** 3 ** 2", 0.0, 0.0), 512.0);
    assert_eq!(value("2 * x ** 2 / 4", 3.0, 0.0), 4.5);
    assert!(value("x ** 0.5", -1.0, 0.0).is_nan());
    assert_eq!(value("x ** 3", -2.0, 0.0), -8.0);
}

#[test]
fn ranges_of_powers_are_those_of_their_bases() {
    let range =
        |text: &str, x: [f64; 2], y: [f64; 2]| Formula::parse(text, &names(), Kind::Number).unwrap().range(&[x, y]);
    let (any, all) = ([0.0, 1.0], [f64::NEG_INFINITY, f64::INFINITY]);
    assert_eq!(range("x ** 2", [-3.0, 2.0], any), [0.0, 9.0]);
    assert_eq!(range("x ** 2", [-3.0, -2.0], any), [4.0, 9.0]);
    assert_eq!(range("-x ** 2", all, any), [f64::NEG_INFINITY, 0.0]);
    assert_eq!(range("x ** 3", [-3.0, 2.0], any), [-27.0, 8.0]);
    assert_eq!(range("x ** -1", [-4.0, -2.0], any), [-0.5, -0.25]);
    assert_eq!(range("x ** -1", [-4.0, 2.0], any), all);
    assert_eq!(range("x ** -2", [-4.0, 2.0], any), [0.0625, f64::INFINITY]);
    assert_eq!(range("x ** 0.5", [4.0, 9.0], any), [2.0, 3.0]);
    // As of a square root, what has no power is left out.
    assert_eq!(range("x ** 0.5", [-4.0, 9.0], any), range("sqrt(x)", [-4.0, 9.0], any));
    assert_eq!(range("pow(x, y)", [1.0, 2.0], [-1.0, 3.0]), [0.5, 8.0]);
    assert_eq!(range("pow(x, y)", [-1.0, 2.0], [-1.0, 3.0]), all);
}

/// Who looks a function up must find it.
#[test]
fn the_documentation_names_every_function() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/logs.md");
    let text = std::fs::read_to_string(path).unwrap();
    let section = text.split("## Formulas").nth(1).unwrap().split("\n## ").next().unwrap();
    for function in Function::ALL {
        assert!(section.contains(&format!("`{}(", function.name())), "{} is not named", function.name());
    }
    for word in ["`and`", "`or`", "`not`", "`^`", "`**`", "`pi`", "previous_", "next_"] {
        assert!(section.contains(word), "{word} is not named");
    }
}

#[test]
fn faults_are_told_with_their_place() {
    let fault = |text: &str| {
        let error = Formula::parse(text, &names(), Kind::Number).unwrap_err();
        (error.position, error.problem)
    };
    assert_eq!(fault("x + z").0, 5);
    assert_eq!(fault("x + "), (5, "the formula ends too early".into()));
    assert_eq!(fault("(x + 1"), (7, "`)` is missing here".into()));
    assert_eq!(fault("x 1"), (3, "`1` is not expected here".into()));
    assert_eq!(fault("x # 1").0, 3);
    assert_eq!(fault("1.2.3 + x").0, 1);
    assert_eq!(fault("x ? 1 : 2").0, 1);
    assert_eq!(fault("x < 1 ? 1 : x < 2").0, 13);
    assert_eq!(fault("abs(x < 1)").0, 5);
    assert_eq!(fault("min(x)").0, 6);
    assert_eq!(fault("x < 1").1, "the formula must give a number, such as `x < 1 ? 0 : -1`");
    assert_eq!(fault("").1, "the formula ends too early");
    assert_eq!(fault("* x").0, 1);
    assert_eq!(fault("and x").1, "a value is missing before `and`");
    assert_eq!(fault("x < 1 and y ? 1 : 0"), (11, "a truth, such as `x < 1`, must stand after `and`".into()));
    assert_eq!(fault("not x ? 1 : 0").0, 5);
    assert_eq!(fault("x + not y").0, 5);
    assert_eq!(fault("x = 1 ? 1 : 0"), (3, "`=` means nothing in a formula; equal is `==`".into()));
    assert_eq!(fault("pow(x)").0, 6);
    assert!(Formula::parse(&"not ".repeat(5_000), &names(), Kind::Truth).is_err());
    assert!(Formula::parse(&"2 ** ".repeat(5_000), &names(), Kind::Number).is_err());
    assert!(Formula::parse("x", &names(), Kind::Truth).is_err());
    assert!(Formula::parse(&"(".repeat(5_000), &names(), Kind::Number).is_err());
    assert!(Formula::parse(&"-".repeat(5_000), &names(), Kind::Number).is_err());
    let deep = (0..40).map(|_| "(x + ").collect::<String>() + "1" + &")".repeat(40);
    assert!(Formula::parse(&deep, &names(), Kind::Number).unwrap_err().problem.contains("deeply"));
}

const FORMULAS: [&str; 10] = [
    "abs(x) < 0.5 && abs(y) < 0.5 ? 0 : -1",
    "-(x ^ 2) - 0.1 * abs(y)",
    "max(min(x, y), -x) / 2.0",
    "x > y || x <= -1 ? tanh(x) : cos(y) - 1",
    "!(x != y) ? 1 : sign(x) * 3",
    "sqrt(abs(x * y)) + exp(-abs(x))",
    "-(x ** 2) - pow(y, 4) + x ** 3",
    "pow(abs(x) + 1, y)",
    "(x + 4) ** -2 - (y - 4) ** -1",
    "not x > y and x < 1 or y > 2 ? x ** 2 : -pow(2, x)",
];

#[test]
fn a_formula_of_megabytes_is_refused_before_it_is_taken_apart() {
    let long = |count: usize| Formula::parse(&"1+".repeat(count), &names(), Kind::Number).unwrap_err().problem;
    assert_eq!(long(50_001), "a formula has at most 100000 characters");
    assert_eq!(long(50_000), "the formula ends too early");
}

proptest! {
    #[test]
    fn lanes_and_ranges_agree_with_single_rows(rows in prop::collection::vec((-3.0..3.0f32, -3.0..3.0f32), 1..90)) {
        let padded = rows.len().next_multiple_of(BLOCK);
        let column = |of: fn(&(f32, f32)) -> f32| {
            let mut column: Vec<f32> = rows.iter().map(of).collect();
            column.resize(padded, 0.0);
            column
        };
        let columns = [column(|row| row.0), column(|row| row.1)];
        for text in FORMULAS {
            let formula = Formula::parse(text, &names(), Kind::Number).unwrap();
            let [low, high] = formula.range(&[[-3.0, 3.0]; 2]);
            let mut seen = 0;
            formula.evaluate_lanes(rows.len(), |index| &columns[index], |lane, value| {
                let (x, y) = rows[lane];
                let exact = formula.evaluate(&[f64::from(x), f64::from(y)]);
                assert!((f64::from(value) - exact).abs() < 1e-4 * (1.0 + exact.abs()), "{text}: {value} {exact}");
                assert!(low <= exact && exact <= high, "{text}: {exact} is not within [{low}, {high}]");
                seen += 1;
            });
            prop_assert_eq!(seen, rows.len());
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "([-+*/^<>=!&|?:(),. xy0-9a-z]|and|or|not|pow){0,40}") {
        if let Ok(formula) = Formula::parse(&text, &names(), Kind::Number) {
            formula.evaluate(&[1.0, 2.0]);
            formula.range(&[[-1.0, 1.0]; 2]);
        }
    }
}
