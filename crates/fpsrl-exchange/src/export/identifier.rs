//! Names in other languages: readable, distinct, and none of them a keyword.

/// What a language asks of its names.
pub(super) struct Language {
    /// Words that cannot be names: keywords, and what the generated code calls its own.
    pub reserved: &'static [&'static str],
    /// Whether `Force` and `force` are the same name.
    pub ignores_case: bool,
    /// Whether capital letters in names are frowned upon.
    pub lower_case: bool,
}

/// C, with the words that C++ takes from it: headers are included from both.
pub(super) const C: Language = Language {
    reserved: &[
        "alignas",
        "alignof",
        "and",
        "and_eq",
        "asm",
        "auto",
        "bitand",
        "bitor",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "compl",
        "concept",
        "const",
        "consteval",
        "constexpr",
        "constinit",
        "const_cast",
        "continue",
        "decltype",
        "default",
        "delete",
        "do",
        "double",
        "dynamic_cast",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "noexcept",
        "not",
        "not_eq",
        "nullptr",
        "operator",
        "or",
        "or_eq",
        "private",
        "protected",
        "public",
        "register",
        "reinterpret_cast",
        "requires",
        "restrict",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "static_assert",
        "static_cast",
        "struct",
        "switch",
        "template",
        "this",
        "thread_local",
        "throw",
        "true",
        "try",
        "typedef",
        "typeid",
        "typename",
        "typeof",
        "typeof_unqual",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "wchar_t",
        "while",
        "xor",
        "xor_eq",
        "errno",
        "main",
        "NULL",
        "EOF",
        "NAN",
        "INFINITY",
        "HUGE_VAL",
        "isnan",
        "isinf",
        "isfinite",
        "signbit",
        "fpclassify",
        "math_errhandling",
        "M_PI",
        "M_E",
        "linux",
        "unix",
        "i386",
        "near",
        "far",
    ],
    ignores_case: false,
    lower_case: false,
};

/// Structured Text: IEC 61131-3, with the words of CODESYS, TwinCAT and SCL; case does not matter.
pub(super) const STRUCTURED_TEXT: Language = Language {
    reserved: &[
        "abs",
        "abstract",
        "acos",
        "action",
        "add",
        "adr",
        "and",
        "and_then",
        "any",
        "any_bit",
        "any_date",
        "any_int",
        "any_num",
        "any_real",
        "array",
        "asin",
        "at",
        "atan",
        "atan2",
        "begin",
        "bitadr",
        "block",
        "bool",
        "by",
        "byte",
        "cal",
        "calc",
        "calcn",
        "case",
        "ceil",
        "char",
        "class",
        "concat",
        "configuration",
        "const",
        "constant",
        "continue",
        "cos",
        "ctd",
        "ctu",
        "ctud",
        "data_block",
        "date",
        "date_and_time",
        "db",
        "delete",
        "dint",
        "div",
        "do",
        "dt",
        "dword",
        "else",
        "elsif",
        "en",
        "end_action",
        "end_case",
        "end_class",
        "end_configuration",
        "end_for",
        "end_function",
        "end_function_block",
        "end_if",
        "end_interface",
        "end_method",
        "end_namespace",
        "end_program",
        "end_property",
        "end_region",
        "end_repeat",
        "end_resource",
        "end_step",
        "end_struct",
        "end_transition",
        "end_type",
        "end_union",
        "end_var",
        "end_while",
        "eno",
        "eq",
        "exit",
        "exp",
        "expt",
        "extends",
        "f_edge",
        "f_trig",
        "false",
        "final",
        "find",
        "floor",
        "for",
        "from",
        "function",
        "function_block",
        "fb",
        "fc",
        "ge",
        "get",
        "goto",
        "gt",
        "i",
        "if",
        "implements",
        "in",
        "ini",
        "initial_step",
        "insert",
        "int",
        "interface",
        "internal",
        "interval",
        "jmp",
        "jmpc",
        "jmpcn",
        "label",
        "ld",
        "ldate",
        "ldn",
        "ldt",
        "le",
        "left",
        "len",
        "limit",
        "lint",
        "ln",
        "log",
        "lreal",
        "lt",
        "ltime",
        "ltod",
        "lword",
        "m",
        "max",
        "method",
        "mid",
        "min",
        "mod",
        "move",
        "mul",
        "mux",
        "namespace",
        "ne",
        "nil",
        "non_retain",
        "not",
        "null",
        "of",
        "ob",
        "on",
        "operator",
        "or",
        "or_else",
        "organization_block",
        "overlap",
        "override",
        "persistent",
        "pi",
        "pointer",
        "priority",
        "private",
        "program",
        "program_init",
        "property",
        "protected",
        "public",
        "q",
        "r",
        "r_edge",
        "r_trig",
        "read_only",
        "read_write",
        "real",
        "ref",
        "ref_to",
        "reference",
        "region",
        "repeat",
        "replace",
        "resource",
        "ret",
        "retain",
        "retc",
        "retcn",
        "return",
        "right",
        "rol",
        "ror",
        "rs",
        "s",
        "sel",
        "sema",
        "set",
        "shl",
        "shr",
        "sin",
        "single",
        "sint",
        "sizeof",
        "sqr",
        "sqrt",
        "sr",
        "st",
        "step",
        "stn",
        "string",
        "struct",
        "sub",
        "super",
        "tan",
        "task",
        "test",
        "then",
        "this",
        "time",
        "time_of_day",
        "timer",
        "to",
        "tod",
        "tof",
        "ton",
        "tp",
        "transition",
        "trunc",
        "true",
        "type",
        "udint",
        "uint",
        "ulint",
        "union",
        "until",
        "using",
        "usint",
        "var",
        "var_access",
        "var_config",
        "var_external",
        "var_global",
        "var_in_out",
        "var_input",
        "var_inst",
        "var_output",
        "var_stat",
        "var_temp",
        "version",
        "wchar",
        "while",
        "with",
        "word",
        "write",
        "wstring",
        "x",
        "xor",
        "t",
        "d",
        "dint_to_int",
        // What the block itself declares.
        "outside",
        "unusable",
        "reset",
        "nearest",
        "nearest_rest",
        "weighted",
        "total",
        "ratio",
        "exponent",
        "membership",
        "unit_action",
        "distance",
        "rest",
        "wanted",
        "squares",
        "value",
        "centre",
        "centre_rest",
        "scale",
        "scale_rest",
        "high",
        "low",
    ],
    ignores_case: true,
    lower_case: false,
};

/// Python: keywords, and the words of the generated class.
pub(super) const PYTHON: Language = Language {
    reserved: &[
        "False",
        "None",
        "True",
        "and",
        "as",
        "assert",
        "async",
        "await",
        "break",
        "class",
        "continue",
        "def",
        "del",
        "elif",
        "else",
        "except",
        "finally",
        "for",
        "from",
        "global",
        "if",
        "import",
        "in",
        "is",
        "lambda",
        "match",
        "nonlocal",
        "not",
        "or",
        "pass",
        "raise",
        "return",
        "try",
        "type",
        "while",
        "with",
        "yield",
        "self",
        "last",
        "step",
        "print",
        "exp",
        "tanh",
        "math",
        "all",
        "enumerate",
        "float",
        "max",
        "min",
        "tuple",
        "zip",
        // What the generated module calls its own: a parameter of this name would hide it.
        "ACTIONS",
        "COVERED",
        "FALLBACK",
        "INNER",
        "LARGEST_INPUT",
        "LIMITS",
        "LOWEST_EXPONENT",
        "MODES",
        "PERIODIC",
        "RATE_LIMITS",
        "RULES",
        "STATES",
        "USABLE",
    ],
    ignores_case: false,
    lower_case: false,
};

/// JavaScript: keywords of modules in strict mode, and the words of the generated class.
pub(super) const JAVASCRIPT: Language = Language {
    reserved: &[
        "arguments",
        "as",
        "async",
        "await",
        "break",
        "case",
        "catch",
        "class",
        "const",
        "constructor",
        "continue",
        "debugger",
        "default",
        "delete",
        "do",
        "else",
        "enum",
        "eval",
        "export",
        "extends",
        "false",
        "finally",
        "for",
        "from",
        "function",
        "get",
        "if",
        "implements",
        "import",
        "in",
        "Infinity",
        "instanceof",
        "interface",
        "let",
        "Math",
        "NaN",
        "new",
        "null",
        "of",
        "package",
        "private",
        "protected",
        "public",
        "return",
        "set",
        "static",
        "super",
        "switch",
        "this",
        "throw",
        "true",
        "try",
        "typeof",
        "undefined",
        "var",
        "void",
        "while",
        "with",
        "yield",
        "last",
        "step",
        "prototype",
        "toString",
        "valueOf",
        "hasOwnProperty",
        "outside",
    ],
    ignores_case: false,
    lower_case: false,
};

/// Rust.
pub(super) const RUST: Language = Language {
    reserved: &[
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate", "do", "dyn",
        "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in", "let", "loop", "macro",
        "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "return", "self", "Self", "static", "struct",
        "super", "trait", "true", "try", "type", "typeof", "union", "unsafe", "unsized", "use", "virtual", "where",
        "while", "yield",
    ],
    ignores_case: false,
    lower_case: true,
};

/// The languages of fuzzy rules: FLL, FCL and FIS share their words; fuzzylite reads the names of functions as such.
pub(super) const FUZZY: Language = Language {
    reserved: &[
        "abs",
        "acos",
        "acosh",
        "asin",
        "asinh",
        "atan",
        "atan2",
        "atanh",
        "ceil",
        "cos",
        "cosh",
        "eq",
        "exp",
        "fabs",
        "floor",
        "fmod",
        "ge",
        "gt",
        "le",
        "log",
        "log10",
        "log1p",
        "lt",
        "neq",
        "pi",
        "pow",
        "round",
        "sin",
        "sinh",
        "sqrt",
        "tan",
        "tanh",
        "if",
        "is",
        "and",
        "or",
        "not",
        "then",
        "with",
        "any",
        "very",
        "extremely",
        "seldom",
        "somewhat",
        "none",
        "term",
        "rule",
        "method",
        "default",
        "range",
        "input",
        "output",
        "engine",
        "inf",
        "nan",
        "true",
        "false",
        "accu",
        "act",
        "min",
        "max",
        "prod",
        "bdif",
        "bsum",
        "asum",
        "cog",
        "cogs",
        "coa",
        "lm",
        "rm",
        "nc",
        "real",
        "end_rule",
        "fuzzify",
        "defuzzify",
        "ruleblock",
        "options",
        "gauss",
        "gaussian",
        "constant",
        "function_block",
        "var_input",
        "var_output",
        "end_var",
        "end_fuzzify",
        "end_defuzzify",
        "end_ruleblock",
        "end_function_block",
    ],
    ignores_case: true,
    lower_case: false,
};

impl Language {
    /// A name for each text, in their order; a text that occurs twice gets two names.
    pub fn names<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        self.names_beside(&[], texts)
    }

    /// The same beside further words that the generated code uses itself.
    pub fn names_beside<'a>(&self, own: &[&str], texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let mut taken: Vec<String> = Vec::new();
        texts
            .into_iter()
            .map(|text| {
                let mut wanted = identifier(text);
                if self.lower_case {
                    wanted.make_ascii_lowercase();
                }
                if self.reserved.iter().chain(own).any(|word| self.same(word, &wanted)) {
                    wanted.push_str("_value");
                }
                let mut name = wanted.clone();
                let mut number = 2;
                while taken.iter().any(|other| self.same(other, &name)) {
                    name = format!("{wanted}_{number}");
                    number += 1;
                }
                taken.push(name.clone());
                name
            })
            .collect()
    }

    fn same(&self, left: &str, right: &str) -> bool {
        if self.ignores_case { left.eq_ignore_ascii_case(right) } else { left == right }
    }
}

/// The longest name: C tells names apart by their first 63 characters, and some are made longer by an ending.
const LONGEST: usize = 50;

/// A text as letters, digits and single underscores, beginning with a letter and ending with none of the underscores; what is too
/// long is cut off.
pub(super) fn identifier(text: &str) -> String {
    let mut name = String::new();
    for c in ascii(text).chars() {
        if name.len() == LONGEST {
            break;
        }
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if !name.is_empty() && !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = name.trim_end_matches('_');
    match name.chars().next() {
        None => "value".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("v{name}"),
        Some(_) => name.to_owned(),
    }
}

/// The longest text of one thing in a comment.
pub(super) const LONGEST_TEXT: usize = 120;

/// A text, cut off where it is longer than anybody reads.
pub(super) fn abridged(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

/// `snake_case` as `CamelCase`.
pub(super) fn camel(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let mut letters = word.chars();
            letters.next().map_or_else(String::new, |first| first.to_ascii_uppercase().to_string() + letters.as_str())
        })
        .collect()
}

/// A text in ASCII: what engineers write with other letters is spelt out, the rest becomes a question mark, and
/// nothing in it can end a comment, a line or a string.
pub(super) fn ascii(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        if let Some(&(_, words)) = SPELLINGS.iter().find(|(letter, _)| *letter == c) {
            plain.push_str(words);
        } else if c.is_ascii_graphic() || c == ' ' {
            plain.push(c);
        } else {
            plain.push(if c.is_control() || c.is_whitespace() { ' ' } else { '?' });
        }
    }
    for (ends, harmless) in [
        ("\\", "/"),
        ("??", "? "),
        ("*/", "* /"),
        ("/*", "/ *"),
        ("*)", "* )"),
        ("(*", "( *"),
        ("\"", "'"),
        // What marks the one comment that is read back.
        ("@fpsrl ", "@ fpsrl "),
    ] {
        plain = plain.replace(ends, harmless);
    }
    plain
}

const SPELLINGS: [(char, &str); 56] = [
    ('α', "alpha"),
    ('β', "beta"),
    ('γ', "gamma"),
    ('δ', "delta"),
    ('ε', "epsilon"),
    ('ζ', "zeta"),
    ('η', "eta"),
    ('θ', "theta"),
    ('ϑ', "theta"),
    ('κ', "kappa"),
    ('λ', "lambda"),
    ('μ', "mu"),
    ('µ', "u"),
    ('ν', "nu"),
    ('ξ', "xi"),
    ('π', "pi"),
    ('ρ', "rho"),
    ('σ', "sigma"),
    ('τ', "tau"),
    ('φ', "phi"),
    ('ϕ', "phi"),
    ('χ', "chi"),
    ('ψ', "psi"),
    ('ω', "omega"),
    ('Γ', "Gamma"),
    ('Δ', "Delta"),
    ('Θ', "Theta"),
    ('Λ', "Lambda"),
    ('Σ', "Sigma"),
    ('Φ', "Phi"),
    ('Ψ', "Psi"),
    ('Ω', "Ohm"),
    ('Ω', "Ohm"),
    ('ä', "ae"),
    ('ö', "oe"),
    ('ü', "ue"),
    ('Ä', "Ae"),
    ('Ö', "Oe"),
    ('Ü', "Ue"),
    ('ß', "ss"),
    ('é', "e"),
    ('è', "e"),
    ('ê', "e"),
    ('à', "a"),
    ('á', "a"),
    ('ç', "c"),
    ('ñ', "n"),
    ('ó', "o"),
    ('°', "deg"),
    ('²', "2"),
    ('³', "3"),
    ('±', "+-"),
    ('·', "*"),
    ('×', "x"),
    ('‰', "permille"),
    ('−', "-"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LANGUAGES: [&Language; 6] = [&C, &STRUCTURED_TEXT, &PYTHON, &JAVASCRIPT, &RUST, &FUZZY];

    #[test]
    fn names_stay_readable() {
        for (text, name) in [
            ("velocity", "velocity"),
            ("pole angle [rad]", "pole_angle_rad"),
            ("θ_dot", "theta_dot"),
            ("Füllstand (m³)", "Fuellstand_m3"),
            ("2nd stage", "v2nd_stage"),
            ("__x__", "x"),
            ("压力", "value"),
            ("", "value"),
        ] {
            assert_eq!(identifier(text), name, "{text}");
        }
    }

    #[test]
    fn keywords_are_avoided_and_collisions_resolved() {
        assert_eq!(C.names(["int", "Int", "int", "int_value"]), ["int_value", "Int", "int_value_2", "int_value_3"]);
        assert_eq!(STRUCTURED_TEXT.names(["REAL", "Force", "force"]), ["REAL_value", "Force", "force_2"]);
        assert_eq!(RUST.names(["Force", "FORCE", "Self"]), ["force", "force_2", "self_value"]);
        assert_eq!(PYTHON.names(["lambda", "a b", "a-b"]), ["lambda_value", "a_b", "a_b_2"]);
    }

    proptest! {
        #[test]
        fn every_name_is_valid_distinct_and_no_keyword(texts in prop::collection::vec(".{0,12}", 0..12)) {
            for language in LANGUAGES {
                let names = language.names(texts.iter().map(String::as_str));
                for (index, name) in names.iter().enumerate() {
                    prop_assert!(name.starts_with(|c: char| c.is_ascii_alphabetic()), "{name}");
                    prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{name}");
                    // IEC 61131-3 allows neither two underscores in a row nor one at the end.
                    prop_assert!(!name.contains("__") && !name.ends_with('_'), "{name}");
                    prop_assert!(!language.reserved.iter().any(|word| language.same(word, name)), "{name}");
                    prop_assert!(!names[..index].iter().any(|other| language.same(other, name)), "{name}");
                }
            }
        }

        #[test]
        fn no_text_ends_a_comment_or_a_line(text in ".{0,30}") {
            let plain = ascii(&format!("{text}*/*)\n\"\"\"{text}"));
            prop_assert!(plain.is_ascii() && !plain.chars().any(char::is_control));
            for end in ["*/", "*)", "\"", "\\"] {
                prop_assert!(!plain.contains(end), "{plain}");
            }
        }
    }
}
