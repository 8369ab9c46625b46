//! Settings between Python and TOML: dictionaries, lists, numbers, words and truth values.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PySequence, PyString};
use toml::{Table, Value};

/// A dictionary of Python's as a table; what is `None` is left out, and has its default.
pub fn table(settings: &Bound<'_, PyAny>, place: &str) -> PyResult<Table> {
    let mapping = settings.cast::<PyMapping>().map_err(|_| refused(settings, place, "a dictionary"))?;
    let mut table = Table::new();
    for item in mapping.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name: String = key.extract().map_err(|_| refused(&key, place, "a word, as the name of a setting"))?;
        let within = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
        if !value.is_none() {
            table.insert(name, self::value(&value, &within)?);
        }
    }
    Ok(table)
}

fn value(given: &Bound<'_, PyAny>, place: &str) -> PyResult<Value> {
    // A truth value is a whole number too, and so comes first.
    if let Ok(truth) = given.cast::<PyBool>() {
        return Ok(Value::Boolean(truth.is_true()));
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Value::String(text.to_cow()?.into_owned()));
    }
    if given.is_instance_of::<PyInt>() {
        let number = given.extract().map_err(|_| refused(given, place, "a number of at most 64 bits"))?;
        return Ok(Value::Integer(number));
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(given.extract()?));
    }
    if given.cast::<PyMapping>().is_ok() {
        return table(given, place).map(Value::Table);
    }
    // Numbers and arrays of NumPy, and of whoever does as it does.
    if let Ok(list) = given.getattr("tolist") {
        return value(&list.call0()?, place);
    }
    if let Ok(path) = given.getattr("__fspath__") {
        return Ok(Value::String(path.call0()?.extract()?));
    }
    if let Ok(sequence) = given.cast::<PySequence>() {
        let mut list = Vec::new();
        for (index, item) in sequence.try_iter()?.enumerate() {
            list.push(value(&item?, &format!("{place}[{index}]"))?);
        }
        return Ok(Value::Array(list));
    }
    Err(refused(given, place, "a number, a word, a truth value, a list or a dictionary"))
}

fn refused(given: &Bound<'_, PyAny>, place: &str, wanted: &str) -> PyErr {
    let kind = given.get_type().name().map_or_else(|_| "something else".into(), |name| name.to_string());
    let place = if place.is_empty() { "the settings".to_owned() } else { format!("`{place}`") };
    PyTypeError::new_err(format!("{place}: {kind} was given where {wanted} is meant"))
}

/// A table as a dictionary of Python's.
pub fn dictionary<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let dictionary = PyDict::new(py);
    for (key, value) in table {
        dictionary.set_item(key, python(py, value)?)?;
    }
    Ok(dictionary)
}

fn python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Boolean(truth) => PyBool::new(py, *truth).to_owned().into_any(),
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Integer(number) => number.into_pyobject(py)?.into_any(),
        Value::Float(number) => PyFloat::new(py, *number).into_any(),
        Value::Datetime(time) => PyString::new(py, &time.to_string()).into_any(),
        Value::Array(list) => {
            let items = list.iter().map(|item| python(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Table(table) => dictionary(py, table)?.into_any(),
    })
}
