//! Changes of Parquet files: within the footer, whose length then is right, and within the headers of pages, whose places
//! and sizes then are right.

use super::thrift::Thrift;
use crate::draw::Draw;

const MAGIC: &[u8] = b"PAR1";

/// Fields of the footer, of a row group, of a column and of its description.
const ROW_GROUPS: i16 = 4;
const COLUMNS: i16 = 1;
const DESCRIPTION: i16 = 3;
const COMPRESSED_SIZE: i16 = 7;
const PAGES: [i16; 3] = [9, 10, 11];

/// Changes a file; none if it has no footer.
pub(super) fn change(bytes: &[u8], draw: &mut Draw) -> Option<Vec<u8>> {
    let end = bytes.len().checked_sub(8).filter(|_| bytes.ends_with(MAGIC) && bytes.starts_with(MAGIC))?;
    let length = u32::from_le_bytes(bytes[end..end + 4].try_into().ok()?) as usize;
    let begin = end.checked_sub(length).filter(|begin| *begin >= 4)?;
    let (mut footer, _) = Thrift::read(&bytes[begin..end])?;
    let mut data = bytes[..begin].to_vec();
    match draw.below(8) {
        0 => {
            let other = data.clone();
            // What stands in pages, at the same places.
            let at = 4 + draw.below(data.len().saturating_sub(4).max(1));
            let some = other.len().min(at + 1 + draw.below(8));
            for byte in data.iter_mut().take(some).skip(at) {
                *byte ^= draw.word() as u8;
            }
        }
        1..=3 => {
            change_page(&mut data, &mut footer, draw);
        }
        _ => footer.change(draw),
    }
    let footer = footer.written();
    data.extend(&footer);
    data.extend((footer.len() as u32).to_le_bytes());
    data.extend(MAGIC);
    Some(data)
}

/// Changes the header of a page of some column; what stands behind it moves.
fn change_page(data: &mut Vec<u8>, footer: &mut Thrift, draw: &mut Draw) -> Option<()> {
    let mut columns: Vec<&mut Thrift> = Vec::new();
    let Thrift::List(_, groups) = footer.field(ROW_GROUPS)? else { return None };
    for group in groups {
        if let Some(Thrift::List(_, list)) = group.field(COLUMNS) {
            columns.extend(list.iter_mut().filter_map(|column| column.field(DESCRIPTION)));
        }
    }
    let chosen = draw.below(columns.len());
    let places: Vec<usize> = PAGES.iter().filter_map(|field| whole(columns.get_mut(chosen)?.field(*field)?)).collect();
    let place = *places.get(draw.below(places.len()))?;
    let (mut header, length) = Thrift::read(data.get(place..)?)?;
    header.change(draw);
    let header = header.written();
    let moved = header.len() as i64 - length as i64;
    data.splice(place..place + length, header);
    for (index, column) in columns.iter_mut().enumerate() {
        for field in PAGES {
            if let Some(Thrift::Whole(_, its)) = column.field(field)
                && *its > place as i64
            {
                *its += moved;
            }
        }
        if let Some(Thrift::Whole(_, size)) = column.field(COMPRESSED_SIZE).filter(|_| index == chosen) {
            *size = size.wrapping_add(moved);
        }
    }
    Some(())
}

fn whole(value: &mut Thrift) -> Option<usize> {
    match value {
        Thrift::Whole(_, whole) => usize::try_from(*whole).ok(),
        _ => None,
    }
}
