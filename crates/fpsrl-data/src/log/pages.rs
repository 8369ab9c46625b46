//! The pages of a Parquet column, each held to the budget before it is unpacked, and to the rows of its group before its
//! values are read.

use std::fs::File;
use std::io::{Cursor, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, Type};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::budget::Budget;
use super::thrift::{self, differences};

/// Bytes that a page's header is looked for in, at first and at most: extreme values may stand in it.
const HEADER: u64 = 1 << 12;
const LONGEST_HEADER: u64 = 1 << 22;

/// Bytes that a packed page may unpack to without being counted first.
const UNCOUNTED: u64 = 16 << 20;

/// What a page costs besides its bytes.
const PAGE: u64 = 64;

/// The pages of a column in a row group.
pub(super) fn of(
    file: &Arc<File>,
    group: &RowGroupMetaData,
    column: usize,
    budget: &Budget,
) -> Result<Box<dyn PageReader>> {
    let chunk = group.column(column);
    let (begin, length) = chunk.byte_range();
    let end = begin.checked_add(length).filter(|end| *end <= budget.size());
    let source = Chunk {
        file: Arc::clone(file),
        end: end.ok_or_else(|| ParquetError::EOF("a column goes on beyond its end".into()))?,
        codec: chunk.compression(),
        kind: chunk.column_type(),
        budget: budget.clone(),
        state: Mutex::default(),
    };
    let rows = usize::try_from(group.num_rows())?;
    let pages = SerializedPageReader::new(Arc::new(source), chunk, rows, None)?;
    let levels = chunk.column_descr().max_def_level();
    Ok(Box::new(Guarded { pages, budget: budget.clone(), left: rows as u64, levels }))
}

fn broken(problem: impl Into<String>) -> ParquetError {
    ParquetError::General(problem.into())
}

/// Where the bytes of a column chunk come from. A page's header is read here first, and by the reader of the pages again.
struct Chunk {
    file: Arc<File>,
    end: u64,
    codec: Compression,
    kind: Type,
    budget: Budget,
    state: Mutex<State>,
}

/// The page that was announced last.
#[derive(Default)]
struct State {
    begin: u64,
    packed: u64,
    unpacked: u64,
    /// Bytes taken of the budget: for this page, and for the dictionary of the chunk.
    page: u64,
    dictionary: u64,
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        self.budget.give_back(state.page + state.dictionary);
    }
}

impl Chunk {
    fn bytes(&self, begin: u64, length: u64) -> Result<Vec<u8>> {
        let mut file = &*self.file;
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(begin))?;
        file.take(length).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// The header that begins here, with its bytes.
    fn header(&self, begin: u64) -> Result<(thrift::Page, Vec<u8>)> {
        let mut length = HEADER;
        loop {
            let left = self.end.saturating_sub(begin).min(LONGEST_HEADER);
            let mut bytes = self.bytes(begin, length.min(left))?;
            if let Some(page) = thrift::Page::of(&bytes) {
                bytes.truncate(page.header);
                return Ok((page, bytes));
            }
            if length >= left {
                return Err(broken("a page has no header"));
            }
            self.budget.heard(self.budget.unpacked(length, None))?;
            length *= 16;
        }
    }

    /// Bytes that a page may take while it is unpacked.
    fn most(&self, page: &thrift::Page) -> u64 {
        match self.codec {
            Compression::UNCOMPRESSED => page.packed,
            // These unpack what there is, whatever the header says; gzip is counted beforehand.
            Compression::LZ4 => page.packed + page.unpacked.max(256 * page.packed),
            Compression::GZIP(_) => page.packed + page.unpacked.max(UNCOUNTED.min(1_032 * page.packed)),
            _ => page.packed + page.unpacked,
        }
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.end
    }
}

impl ChunkReader for Chunk {
    type T = Cursor<Vec<u8>>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        self.budget.heard(self.budget.go_on())?;
        let (page, bytes) = self.header(start)?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.budget.give_back(std::mem::take(&mut state.page));
        let most = self.most(&page);
        let what = || format!("one of its pages claims {} bytes", page.unpacked);
        if page.is_dictionary {
            // In the file a value takes so many bytes at least, in memory so many at most.
            let (least, value) = match self.kind {
                Type::BOOLEAN => (1, 1),
                Type::INT32 | Type::FLOAT => (4, 4),
                Type::INT64 | Type::DOUBLE => (8, 8),
                Type::INT96 => (12, 12),
                Type::BYTE_ARRAY => (4, 48),
                Type::FIXED_LEN_BYTE_ARRAY => (0, 48),
            };
            if page.values.saturating_mul(least) > page.unpacked.max(page.packed) {
                return Err(broken(format!("a dictionary claims {} values in {} bytes", page.values, page.unpacked)));
            }
            let size = most.saturating_add(page.values.saturating_mul(value));
            self.budget.heard(self.budget.take(size, what))?;
            state.dictionary += size;
        } else {
            self.budget.heard(self.budget.take(most, what))?;
            state.page = most;
        }
        self.budget.heard(self.budget.unpacked(page.unpacked + page.header as u64 + PAGE, None))?;
        (state.begin, state.packed, state.unpacked) = (start + page.header as u64, page.packed, page.unpacked);
        Ok(Cursor::new(bytes))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.budget.heard(self.budget.go_on())?;
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if (start, length as u64) != (state.begin, state.packed) {
            return Err(broken("a page's header can be read in two ways"));
        }
        if start.checked_add(state.packed).is_none_or(|end| end > self.end) {
            return Err(ParquetError::EOF("a page goes on beyond its column".into()));
        }
        let bytes = self.bytes(start, state.packed)?;
        if bytes.len() != length {
            return Err(ParquetError::EOF("the file ends within a page".into()));
        }
        if matches!(self.codec, Compression::GZIP(_)) && 1_032 * length as u64 > UNCOUNTED {
            self.count(&bytes, state.unpacked)?;
        }
        Ok(bytes.into())
    }
}

impl Chunk {
    /// Refuses a page that unpacks to more than it claims; its reader would unpack it whole.
    fn count(&self, packed: &[u8], claimed: u64) -> Result<()> {
        let mut source = flate2::read::MultiGzDecoder::new(packed).take(claimed + 1);
        let mut part = vec![0; 1 << 16];
        let mut all = 0;
        loop {
            self.budget.heard(self.budget.go_on())?;
            match source.read(&mut part)? {
                0 => return Ok(()),
                count => all += count as u64,
            }
            if all > claimed {
                return Err(broken(format!("a page unpacks to more than the {claimed} bytes that it claims")));
            }
        }
    }
}

/// Pages whose values are no more than their group has rows.
struct Guarded<P> {
    pages: P,
    budget: Budget,
    left: u64,
    /// The highest level of a value that is there; 0 if none can be missing.
    levels: i16,
}

impl<P: PageReader> Guarded<P> {
    fn check(&mut self, page: &Page) -> Result<()> {
        let Some((buffer, values, encoding, begin)) = self.values(page)? else { return Ok(()) };
        self.left = self.left.checked_sub(values).ok_or_else(|| broken("a column has more values than rows"))?;
        // Each of these holds the number of its lengths once more, and believes it.
        let streams = match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => 0,
        };
        let mut at = begin;
        for _ in 0..streams {
            let found = buffer.get(at..).and_then(differences).filter(|(count, _)| *count <= values);
            let (_, length) = found.ok_or_else(|| broken("a page of words has other lengths than words"))?;
            at += length;
        }
        Ok(())
    }

    /// The bytes of a page of values, how many these are, how they are written, and where they begin.
    fn values<'a>(&self, page: &'a Page) -> Result<Option<(&'a Bytes, u64, Encoding, usize)>> {
        Ok(match page {
            Page::DictionaryPage { .. } => None,
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                let bits = (16 - self.levels.leading_zeros()) as usize;
                #[expect(deprecated, reason = "files of old writers have it")]
                let begin = match (self.levels, def_level_encoding) {
                    (0, _) => 0,
                    (_, Encoding::BIT_PACKED) => (*num_values as usize * bits).div_ceil(8),
                    _ => {
                        let length = buf.get(..4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
                        4 + length.ok_or_else(|| broken("a page is too short"))? as usize
                    }
                };
                Some((buf, u64::from(*num_values), *encoding, begin))
            }
            Page::DataPageV2 { buf, num_values, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                let begin = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                Some((buf, u64::from(*num_values), *encoding, begin))
            }
        })
    }
}

impl<P: PageReader> Iterator for Guarded<P> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl<P: PageReader> PageReader for Guarded<P> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        self.budget.heard(self.budget.go_on())?;
        let page = self.pages.get_next_page()?;
        if let Some(page) = &page {
            self.check(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}
