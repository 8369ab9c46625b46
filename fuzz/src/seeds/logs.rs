//! Logs in every format.

use std::io::{Cursor, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use hdf5_pure::FileBuilder;
use parquet::basic::{Compression as Packing, Encoding, LogicalType, Repetition, Type as Physical};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::ByteArray;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use zip::write::SimpleFileOptions;

use crate::input::Input;

/// What a log could not be made for.
type Fault = Box<dyn std::error::Error>;

/// A log of a tank under a lazy controller, with a separator and a sign before fractions.
pub fn text(rows: usize, separator: char, decimal: char) -> String {
    let mut text = format!("t{separator}level[m]{separator}wanted{separator}mode{separator}valve{separator}note\n");
    let (mut level, mut noise) = (1.0f64, 7u64);
    for row in 0..rows {
        noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let shaken = (noise >> 33) as f64 / f64::from(1u32 << 31) - 0.5;
        let wanted = [1.0, 1.4, 0.8][row / 20 % 3];
        let valve = (0.3 + 0.2 * (wanted - level) + 0.4 * shaken).clamp(0.0, 1.0);
        let mode = if row / 35 % 2 == 0 { "DAY" } else { "NIGHT" };
        let note = if row % 9 == 4 { "Bad" } else { "" };
        let cells =
            [0.5 * row as f64, level, wanted].map(|cell| format!("{cell:.3}").replace('.', &decimal.to_string()));
        let valve_cell = format!("{valve:.4}").replace('.', &decimal.to_string());
        let [time, level_cell, wanted_cell] = cells;
        text +=
            &[time, level_cell, wanted_cell, mode.to_owned(), valve_cell, note.to_owned()].join(&separator.to_string());
        text.push('\n');
        level += 0.3 * (valve - 0.3) - 0.02 * (level - 1.0);
    }
    text
}

/// Logs as text.
pub fn texts() -> Vec<Input> {
    let dated = "# exported\n\"time\";\"TI 7 (°C)\";\"valve\"\n2024-01-31 10:00:00;20,5;0,1\n2024-01-31 10:00:05;21,0;0,2\n\
                 2024-01-31 10:00:10;;0,3\n";
    let episodes = "episode,step,level,valve,next_level,reward,terminated\n0,0,1,0.5,1.1,-1,0\n0,1,1.1,0.5,1.2,-1,1\n\
                    1,0,0.5,0,0.4,-2,0\n1,1,0.4,1,0.6,-2,0\n";
    vec![
        Input::new("log.csv", text(12, ',', '.')),
        Input::new("german.csv", text(12, ';', ',')),
        Input::new("log.tsv", text(12, '\t', '.')),
        Input::new("dated.csv", dated),
        Input::new("episodes.csv", episodes),
        Input::new("quoted.csv", "a,b\r\n\"1\",\"x, \"\"y\"\"\"\r\n2,\"line\r\nbreak\"\r\n"),
    ]
}

/// Logs as packed text.
pub fn gzips() -> Vec<Input> {
    let packed = |text: &str| {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        // Writing to memory cannot fail.
        let _ = packer.write_all(text.as_bytes());
        packer.finish().unwrap_or_default()
    };
    texts()
        .iter()
        .take(3)
        .map(|log| {
            let name = log.name.clone() + ".gz";
            Input::new(name, packed(&String::from_utf8_lossy(&log.bytes)))
        })
        .collect()
}

fn npy(descr: &str, order: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
    let mut array = b"\x93NUMPY\x01\x00".to_vec();
    array.extend((header.len() as u16).to_le_bytes());
    array.extend(header.as_bytes());
    array.extend(bytes);
    array
}

/// Logs as archives of arrays.
pub fn npzs() -> Vec<Input> {
    let floats =
        |count: usize| (0..count).flat_map(|index| (index as f64 / 3.0).sin().to_le_bytes()).collect::<Vec<u8>>();
    let archive = |arrays: &[(&str, Vec<u8>)]| -> Result<Vec<u8>, Fault> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (name, bytes) in arrays {
            writer.start_file(*name, SimpleFileOptions::default())?;
            writer.write_all(bytes)?;
        }
        Ok(writer.finish()?.into_inner())
    };
    let plain = archive(&[
        ("level.npy", npy("<f8", "False", "(9,)", &floats(9))),
        ("valve.npy", npy("<f4", "False", "(9,)", &[0; 36])),
        ("episode.npy", npy(">i4", "False", "(9,)", &[0; 36])),
        ("terminated.npy", npy("|b1", "False", "(9,)", &[0; 9])),
    ]);
    let d4rl = archive(&[
        ("observations.npy", npy("<f8", "True", "(6, 3)", &floats(18))),
        ("actions.npy", npy("<f8", "False", "(6, 1)", &floats(6))),
        ("rewards.npy", npy("<u2", "False", "(6,)", &[1; 12])),
    ]);
    [("log.npz", plain), ("d4rl.npz", d4rl)].map(|(name, bytes)| Input::new(name, bytes.unwrap_or_default())).to_vec()
}

/// Logs in HDF5.
pub fn hdf5s() -> Vec<Input> {
    let written = |build: &dyn Fn(&mut FileBuilder)| -> Vec<u8> {
        let mut builder = FileBuilder::new();
        build(&mut builder);
        builder.finish().unwrap_or_default()
    };
    let flat = written(&|builder| {
        builder.create_dataset("observations").with_f64_data(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).with_shape(&[3, 2]);
        builder.create_dataset("actions").with_f64_data(&[0.5, -0.5, 0.25]).with_shape(&[3, 1]);
        builder.create_dataset("rewards").with_f32_data(&[1.0, 2.0, 3.0]);
        builder.create_dataset("terminals").with_u8_data(&[0, 0, 1]);
    });
    let numbers: Vec<f64> = (0..64).map(|index| f64::from(index) / 7.0).collect();
    let chunks = written(&|builder| {
        builder.create_dataset("level").with_f64_data(&numbers).with_shape(&[64]).with_chunks(&[16]).with_deflate(4);
        builder.create_dataset("valve").with_f64_data(&numbers).with_shape(&[64]).with_chunks(&[7]);
    });
    let episodes = written(&|builder| {
        for episode in 0..2 {
            let mut group = builder.create_group(&format!("episode_{episode}"));
            group.create_dataset("observations").with_f64_data(&[0.0, 1.0, 2.0]).with_shape(&[3, 1]);
            group.create_dataset("actions").with_f64_data(&[0.5, -0.5]).with_shape(&[2, 1]);
            group.create_dataset("rewards").with_f64_data(&[1.0, 2.0]);
            group.create_dataset("terminations").with_u8_data(&[0, 1]);
            group.create_dataset("truncations").with_u8_data(&[0, 0]);
            builder.add_group(group.finish());
        }
    });
    vec![Input::new("flat.h5", flat), Input::new("chunks.h5", chunks), Input::new("episodes.h5", episodes)]
}

/// Logs in Parquet: every physical type, packings, pages of both versions, dictionaries.
pub fn parquets() -> Vec<Input> {
    let settings = [
        (Packing::SNAPPY, WriterVersion::PARQUET_1_0, true),
        (Packing::ZSTD(Default::default()), WriterVersion::PARQUET_2_0, true),
        (Packing::UNCOMPRESSED, WriterVersion::PARQUET_2_0, false),
        (Packing::GZIP(Default::default()), WriterVersion::PARQUET_1_0, false),
        (Packing::LZ4_RAW, WriterVersion::PARQUET_1_0, true),
    ];
    let named = settings.iter().enumerate().map(|(index, (packing, version, dictionary))| {
        Input::new(format!("{index}.parquet"), parquet(*packing, *version, *dictionary).unwrap_or_default())
    });
    named.collect()
}

fn parquet(packing: Packing, version: WriterVersion, dictionary: bool) -> Result<Vec<u8>, Fault> {
    let columns = [
        ("level", Physical::DOUBLE, Repetition::REQUIRED),
        ("valve", Physical::FLOAT, Repetition::OPTIONAL),
        ("step", Physical::INT32, Repetition::REQUIRED),
        ("time", Physical::INT64, Repetition::OPTIONAL),
        ("mode", Physical::BYTE_ARRAY, Repetition::OPTIONAL),
        ("open", Physical::BOOLEAN, Repetition::REQUIRED),
    ];
    let field = |(name, kind, repetition): &(&str, Physical, Repetition)| {
        let text = (*kind == Physical::BYTE_ARRAY).then_some(LogicalType::String);
        let built = Type::primitive_type_builder(name, *kind).with_repetition(*repetition).with_logical_type(text);
        built.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<parquet::errors::Result<Vec<_>>>()?;
    let schema = Arc::new(Type::group_type_builder("log").with_fields(fields).build()?);
    let mut properties = WriterProperties::builder()
        .set_compression(packing)
        .set_writer_version(version)
        .set_dictionary_enabled(dictionary);
    if !dictionary && version == WriterVersion::PARQUET_2_0 {
        properties = properties.set_column_encoding("step".into(), Encoding::DELTA_BINARY_PACKED);
        properties = properties.set_column_encoding("level".into(), Encoding::BYTE_STREAM_SPLIT);
    }
    let mut bytes = Vec::new();
    let mut file = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build()))?;
    for group in 0..2 {
        let mut rows = file.next_row_group()?;
        while let Some(mut column) = rows.next_column()? {
            // Every third cell of what may be missing is.
            let there: Vec<i16> = (0..12).map(|row| i16::from(row % 3 != 1)).collect();
            match column.untyped() {
                ColumnWriter::DoubleColumnWriter(writer) => {
                    let values: Vec<f64> = (0..12).map(|row| f64::from(row + group) / 7.0).collect();
                    writer.write_batch(&values, None, None)?;
                }
                ColumnWriter::FloatColumnWriter(writer) => {
                    writer.write_batch(&[0.5f32; 8], Some(&there), None)?;
                }
                ColumnWriter::Int32ColumnWriter(writer) => {
                    let values: Vec<i32> = (0..12).collect();
                    writer.write_batch(&values, None, None)?;
                }
                ColumnWriter::Int64ColumnWriter(writer) => {
                    writer.write_batch(&[1_700_000_000i64; 8], Some(&there), None)?;
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    let values: Vec<ByteArray> =
                        ["DAY", "NIGHT"].iter().cycle().take(8).map(|word| (*word).into()).collect();
                    writer.write_batch(&values, Some(&there), None)?;
                }
                ColumnWriter::BoolColumnWriter(writer) => {
                    let values: Vec<bool> = (0..12).map(|row| row % 2 == 0).collect();
                    writer.write_batch(&values, None, None)?;
                }
                _ => {}
            }
            column.close()?;
        }
        rows.close()?;
    }
    file.close()?;
    Ok(bytes)
}
