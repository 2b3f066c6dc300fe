//! What the pages of a Parquet file unpack to, by their headers: the reader makes that much room, whatever the footer says.

use super::error::ArtifactError;
use super::guarded::guarded;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use std::ops::RangeInclusive;
use std::path::Path;

/// Our pages have about a mebibyte. The reader unpacks one of each column at a time.
const PAGE_SIZE_MAX: u32 = 16 << 20;

/// The types of the Thrift compact protocol that headers of pages have.
const END: u8 = 0;
const BOOLEANS: RangeInclusive<u8> = 1..=2;
const BYTE: u8 = 3;
const NUMBERS: RangeInclusive<u8> = 4..=6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const STRUCT: u8 = 12;

/// The fields of a header with its sizes: of the page as it unpacks, and as it is.
const SIZES: [u8; 2] = [2, 3];

/// Headers have structs of this depth.
const DEPTH_MAX: u8 = 3;

/// Opens the bytes of a file, and adds up what the pages of each of its column chunks unpack to, one row group after another: 0 for
/// a column that is not read.
///
/// # Errors
///
/// A file that is not Parquet, or a page that is too large or has a header such as no writer makes.
pub fn open(
    path: &Path,
    file: Bytes,
    is_read: impl Fn(&str) -> bool + Send + 'static,
) -> Result<(ParquetRecordBatchReaderBuilder<Bytes>, Vec<u64>), ArtifactError> {
    guarded(path, file.len() as u64, move || {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone()).map_err(|error| error.to_string())?;
        let columns = builder.metadata().row_groups().iter().flat_map(RowGroupMetaData::columns);
        let size = |column: &ColumnChunkMetaData| match &column.column_path().parts()[0] {
            name if is_read(name) => unpacked_size(&file, column).map_err(|reason| format!("column {name}: {reason}")),
            _ => Ok(0),
        };
        let sizes = columns.map(size).collect::<Result<_, _>>()?;
        Ok::<_, String>((builder, sizes))
    })
}

fn unpacked_size(file: &[u8], column: &ColumnChunkMetaData) -> Result<u64, String> {
    let (begin, length) = column.byte_range();
    let pages = begin.checked_add(length).and_then(|end| file.get(begin as usize..end as usize));
    let mut rest = pages.ok_or("its pages are not in the file")?;
    let mut sum = 0_u64;
    while !rest.is_empty() {
        let [unpacked, packed] = header(&mut rest).ok_or("a page has no sound header")?;
        if PAGE_SIZE_MAX < unpacked {
            let remedy = "write the file with smaller row groups";
            return Err(format!("a page unpacks to {unpacked} bytes: at most {PAGE_SIZE_MAX}\n{remedy}"));
        }
        rest = rest.get(packed as usize..).ok_or("a page does not end in the file")?;
        sum += u64::from(unpacked);
    }
    Ok(sum)
}

/// Reads a header to its end.
fn header(bytes: &mut &[u8]) -> Option<[u32; 2]> {
    let (mut field, mut sizes) = (0, [None; 2]);
    loop {
        let [step, kind] = field_head(bytes)?;
        if kind == END {
            return Some([sizes[0]?, sizes[1]?]);
        }
        // Each field comes once, in order, so that no reader can take another for it.
        field = u8::checked_add(field, step).filter(|_| 0 < step)?;
        match SIZES.iter().position(|&size| size == field) {
            Some(place) if NUMBERS.contains(&kind) => sizes[place] = Some(size(bytes)?),
            Some(_) => return None,
            None => skip(bytes, kind, DEPTH_MAX)?,
        }
    }
}

/// How many numbers of fields lie between this one and the one before, and its type.
fn field_head(bytes: &mut &[u8]) -> Option<[u8; 2]> {
    let &head = bytes.split_off_first()?;
    Some([head >> 4, head & 15])
}

fn skip(bytes: &mut &[u8], kind: u8, depth: u8) -> Option<()> {
    let length = match kind {
        BYTE => 1,
        DOUBLE => 8,
        BINARY => usize::try_from(number(bytes)?).ok()?,
        STRUCT => {
            let depth = depth.checked_sub(1)?;
            loop {
                let [step, kind] = field_head(bytes)?;
                if kind == END {
                    return Some(());
                }
                if step == 0 {
                    number(bytes)?;
                }
                skip(bytes, kind, depth)?;
            }
        }
        _ if BOOLEANS.contains(&kind) => 0,
        _ if NUMBERS.contains(&kind) => return number(bytes).map(|_| ()),
        _ => return None,
    };
    bytes.split_off(..length).map(|_| ())
}

/// A number that is not negative: its sign is the last bit.
fn size(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(number(bytes)?).ok().filter(|number| number & 1 == 0).map(|number| number >> 1)
}

/// Seven bits a byte, the last ones first.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..=56).step_by(7) {
        let &byte = bytes.split_off_first()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn pages_unpack_to_what_the_reader_unpacks() {
        for name in ["tests/data/model/weights.parquet", "tests/data/model/mpc.parquet"] {
            let bytes = Bytes::from(std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap());
            let reader = SerializedFileReader::new(bytes.clone()).unwrap();
            let groups = (0..reader.num_row_groups()).map(|group| reader.get_row_group(group).unwrap());
            let columns = groups.flat_map(|group| {
                (0..group.num_columns()).map(move |column| group.get_column_page_reader(column).unwrap())
            });
            let expected: Vec<u64> =
                columns.map(|pages| pages.map(|page| page.unwrap().buffer().len() as u64).sum()).collect();
            assert_eq!(open(Path::new(name), bytes, |_| true).unwrap().1, expected, "{name}");
        }
    }

    #[test]
    fn a_header_has_each_field_once_and_ends() {
        let read = |bytes: &[u8]| header(&mut &*bytes);
        // A type, two sizes of 2,000 and 3, and a struct.
        let sound = [0x15, 0, 0x15, 0xa0, 0x1f, 0x15, 6, 0x2c, 0x15, 0, 0x11, 0, 0];
        assert_eq!(read(&sound), Some([2_000, 3]));
        assert_eq!(read(&sound[..sound.len() - 1]), None);
        let again = [&sound[..7], &[0x05, 4, 2, 0]].concat();
        let without = [0x15, 0, 0x15, 2, 0];
        let negative = [0x15, 0, 0x15, 1, 0x15, 6, 0];
        let list = [0x15, 0, 0x15, 2, 0x15, 6, 0x19, 0xff, 0];
        let endless = [&sound[..7], &[0x2c; 200]].concat();
        for bytes in [&again[..], &without, &negative, &list, &endless, &[]] {
            assert_eq!(read(bytes), None, "{bytes:?}");
        }
    }
}
