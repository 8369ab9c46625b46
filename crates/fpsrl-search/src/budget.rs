//! How long a search may take: in model steps, or in a time that is translated into steps once.

use std::fmt;
use std::str::FromStr;

/// Units of a budget: what is written, and how many seconds or steps it stands for.
const TIMES: [(&str, f64); 7] =
    [("s", 1.0), ("sec", 1.0), ("m", 60.0), ("min", 60.0), ("h", 3_600.0), ("d", 86_400.0), ("seconds", 1.0)];
const STEPS: [(&str, f64); 3] = [("steps", 1.0), ("Msteps", 1e6), ("Gsteps", 1e9)];

/// The longest time, a hundred days, and the most steps: far beyond what anybody waits for.
const LONGEST: f64 = 8_640_000.0;
const MOST: f64 = 1e15;

/// How long a search may take.
///
/// ```
/// use fpsrl_search::Budget;
/// assert_eq!("5m".parse(), Ok(Budget::Seconds(300.0)));
/// assert_eq!("6000 Msteps".parse(), Ok(Budget::Steps(6_000_000_000)));
/// assert!("5 parsecs".parse::<Budget>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// Model steps: the same on every machine.
    Steps(u64),
    /// Seconds on this machine.
    Seconds(f64),
    /// Seconds that have been translated into model steps, on the machine where the search began.
    Translated {
        /// The steps.
        steps: u64,
        /// The seconds that were asked for.
        seconds: f64,
    },
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((steps, seconds)) = text.split_once(" for ") {
            return match (steps.parse()?, seconds.parse()?) {
                (Self::Steps(steps), Self::Seconds(seconds)) => Ok(Self::Translated { steps, seconds }),
                _ => Err("it is neither a time nor steps, nor steps for a time".into()),
            };
        }
        let digits = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-' | '_')));
        let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
        let unit = unit.trim();
        let number: f64 = number.replace('_', "").parse().map_err(|_| "it does not begin with a number".to_owned())?;
        if !(number.is_finite() && number > 0.0) {
            return Err("it must be above zero".into());
        }
        if unit.is_empty() {
            return Err("it has no unit".into());
        }
        if let Some((_, seconds)) = TIMES.iter().find(|(name, _)| *name == unit) {
            let seconds = number * seconds;
            return if seconds <= LONGEST {
                Ok(Self::Seconds(seconds))
            } else {
                Err("it is longer than 100 days".into())
            };
        }
        match STEPS.iter().find(|(name, _)| *name == unit) {
            Some((_, steps)) if (1.0..=MOST).contains(&(number * steps)) => Ok(Self::Steps((number * steps) as u64)),
            Some(_) => Err("it must be from 1 to 1e15 steps".into()),
            None => Err(format!("`{unit}` is no unit of it")),
        }
    }
}

impl Budget {
    /// The model steps, once they are known.
    pub fn steps(&self) -> Option<u64> {
        match self {
            Self::Steps(steps) | Self::Translated { steps, .. } => Some(*steps),
            Self::Seconds(_) => None,
        }
    }

    /// What a budget may look like, for messages.
    pub const EXAMPLES: &'static str =
        "write a time such as \"90s\", \"5m\" or \"1h\", or steps such as \"6000 Msteps\"";
}

impl fmt::Display for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(formatter, "{steps} steps"),
            Self::Seconds(seconds) => write!(formatter, "{seconds} s"),
            Self::Translated { steps, seconds } => write!(formatter, "{steps} steps for {seconds} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_reads_back_to_itself() {
        let translated = Budget::Translated { steps: 3, seconds: 0.5 };
        for budget in [Budget::Steps(1), Budget::Steps(6_000_000_001), Budget::Seconds(86_400.0), translated] {
            assert_eq!(budget.to_string().parse(), Ok(budget));
        }
    }

    #[test]
    fn what_is_no_budget_is_refused_with_the_reason() {
        for (text, reason) in [
            ("0m", "above zero"),
            ("-5m", "above zero"),
            ("5", "no unit"),
            ("5 x", "`x` is no unit"),
            ("soon", "begin with a number"),
            ("", "begin with a number"),
            ("1e9 h", "100 days"),
            ("0.1 steps", "from 1 to"),
            ("1e99 Gsteps", "from 1 to"),
            ("nan s", "begin with a number"),
        ] {
            let error = text.parse::<Budget>().unwrap_err();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
