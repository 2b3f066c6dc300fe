//! What a Parquet file costs to read, by its footer and the headers of its pages: the reader
//! follows them without a limit.

use super::error::ArtifactError;
use super::guarded::guarded;
use super::line::visible;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding};
use parquet::column::page::Page;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::serialized_reader::SerializedPageReader;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

/// Our pages have about a mebibyte. The reader unpacks one of each column at a time.
const PAGE_SIZE_MAX: u32 = 16 << 20;

/// No value of a dictionary that we read takes less room.
const ENTRY_SIZE_MIN: u32 = 4;

/// The tree of columns has at most this many levels.
const SCHEMA_DEPTH_MAX: usize = 16;

/// The types of the Thrift compact protocol that footers and headers of pages have.
const END: u8 = 0;
const YES: u8 = 1;
const NO: u8 = 2;
const BYTE: u8 = 3;
const INT16: u8 = 4;
const INT32: u8 = 5;
const INT64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// The fields of a footer, of an element of its schema, of the header of a page, and of the structs
/// in that for each type of page.
const FOOTER: [u8; 9] = [INT32, LIST, INT64, LIST, LIST, BINARY, LIST, STRUCT, BINARY];
const ELEMENT: [u8; 10] = [
    INT32, INT32, INT32, BINARY, INT32, INT32, INT32, INT32, INT32, STRUCT,
];
const HEADER: [u8; 8] = [INT32, INT32, INT32, INT32, STRUCT, STRUCT, STRUCT, STRUCT];
const DATA_PAGE: [u8; 5] = [INT32, INT32, INT32, INT32, STRUCT];
const INDEX_PAGE: [u8; 0] = [];
const DICTIONARY_PAGE: [u8; 3] = [INT32, INT32, YES];
const DATA_PAGE_2: [u8; 8] = [INT32, INT32, INT32, INT32, INT32, INT32, YES, STRUCT];

/// The encodings of texts by their differences: DELTA_LENGTH_BYTE_ARRAY and DELTA_BYTE_ARRAY.
const DIFFERENCES: [u32; 2] = [6, 7];

/// Structs and lists lie within each other this deep.
const DEPTH_MAX: u8 = 12;

/// Opens the bytes of a file, and adds up what the pages of each of its column chunks unpack to,
/// one row group after another: 0 for a column that is not read.
///
/// # Errors
///
/// A file that is not Parquet, or one with a footer or a page that is too large or such as no
/// writer makes.
pub fn open(
    path: &Path,
    file: Bytes,
    is_read: impl Fn(&str) -> bool + Send + 'static,
) -> Result<(ParquetRecordBatchReaderBuilder<Bytes>, Vec<u64>), ArtifactError> {
    guarded(path, file.len() as u64, move || {
        check_footer(&file)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file.clone());
        let builder = builder.map_err(|error| visible(&error.to_string()))?;
        let columns = builder
            .metadata()
            .row_groups()
            .iter()
            .flat_map(RowGroupMetaData::columns);
        let size = |column: &ColumnChunkMetaData| match &column.column_path().parts()[0] {
            name if is_read(name) => unpacked_size(&file, column)
                .map_err(|reason| format!("column {}: {reason}", visible(name))),
            _ => Ok(0),
        };
        let sizes = columns.map(size).collect::<Result<_, _>>()?;
        Ok::<_, String>((builder, sizes))
    })
}

/// Checks the tree of columns in the footer at the end of these bytes: the reader follows it as
/// deep as it goes, and makes room for as many children as an element says it has.
///
/// # Errors
///
/// A tree without an end, or a footer that cannot be followed.
pub(super) fn check_footer(file: &[u8]) -> Result<(), String> {
    // What is not Parquet at all is the reader's to say.
    let Some((rest, [length @ .., _, _, _, _])) = file.split_last_chunk::<8>() else {
        return Ok(());
    };
    let length = u32::from_le_bytes(*length) as usize;
    let Some(mut footer) = rest.len().checked_sub(length).map(|begin| &rest[begin..]) else {
        return Ok(());
    };
    let children = children(&mut footer).ok_or("its footer is not sound")?;
    let mut open: Vec<u32> = Vec::new();
    for &count in &children {
        while open.pop_if(|left| *left == 0).is_some() {}
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        open.push(count);
        if SCHEMA_DEPTH_MAX < open.len() || children.len() <= count as usize {
            return Err(format!(
                "its columns lie more than {SCHEMA_DEPTH_MAX} levels deep, or are fewer than it says"
            ));
        }
    }
    Ok(())
}

/// The number of children of each element of a schema.
fn children(footer: &mut &[u8]) -> Option<Vec<u32>> {
    let mut children = Vec::new();
    let mut element = |bytes: &mut &[u8]| {
        let mut count = 0;
        fields(bytes, DEPTH_MAX, &ELEMENT, |field, bytes| {
            if field == 5 {
                count = size(bytes)?;
            }
            Some(field == 5)
        })?;
        children.push(count);
        Some(())
    };
    fields(footer, DEPTH_MAX, &FOOTER, |field, bytes| {
        if field == 2 {
            let (count, kind) = list_head(bytes)?;
            (kind == STRUCT).then_some(())?;
            (0..count).try_for_each(|_| element(bytes))?;
        }
        Some(field == 2)
    })?;
    Some(children)
}

fn unpacked_size(file: &Bytes, column: &ColumnChunkMetaData) -> Result<u64, String> {
    let (begin, length) = column.byte_range();
    let pages = begin
        .checked_add(length)
        .and_then(|end| file.get(begin as usize..end as usize));
    let mut rest = pages.ok_or("its pages are not in the file")?;
    let (mut sum, mut has_differences) = (0_u64, false);
    while !rest.is_empty() {
        let header = header(&mut rest).ok_or("a page has no sound header")?;
        let unpacked = header.unpacked;
        if PAGE_SIZE_MAX < unpacked {
            let remedy = "write the file with smaller row groups";
            return Err(format!(
                "a page unpacks to {unpacked} bytes: at most {PAGE_SIZE_MAX}\n{remedy}"
            ));
        }
        if unpacked / ENTRY_SIZE_MIN < header.dictionary {
            return Err(format!(
                "a dictionary has {} entries in {unpacked} bytes",
                header.dictionary
            ));
        }
        let packed = rest
            .split_off(..header.packed as usize)
            .ok_or("a page does not end in the file")?;
        let values = packed
            .get(header.levels as usize..)
            .ok_or("a page has no sound header")?;
        if u64::from(unpacked.saturating_sub(header.levels))
            < tried_size(column.compression(), values, unpacked)?
        {
            return Err("a page unpacks to more than its header says".to_owned());
        }
        sum += u64::from(unpacked);
        has_differences |= header.has_differences;
    }
    if has_differences {
        check_texts(file, column)?;
    }
    Ok(sum)
}

/// Texts that are stored by their differences say how many there are, and the reader makes room for
/// as many.
fn check_texts(file: &Bytes, column: &ColumnChunkMetaData) -> Result<(), String> {
    // The reader counts rows only where it is given the places of pages.
    let pages = SerializedPageReader::new(Arc::new(file.clone()), column, 0, None);
    for page in pages.map_err(|error| error.to_string())? {
        let page = page.map_err(|error| error.to_string())?;
        let runs = match page.encoding() {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => continue,
        };
        let levels = match page {
            Page::DataPageV2 {
                def_levels_byte_len,
                rep_levels_byte_len,
                ..
            } => u64::from(def_levels_byte_len) + u64::from(rep_levels_byte_len),
            _ => 0,
        };
        let values = u64::from(page.num_values());
        let mut rest = page.buffer().get(levels as usize..).unwrap_or_default();
        for _ in 0..runs {
            let count = skip_differences(&mut rest, values)
                .ok_or("the lengths of its texts are not sound")?;
            if values < count {
                return Err(format!(
                    "a page of {values} values says that it has {count} texts"
                ));
            }
        }
    }
    Ok(())
}

/// Skips numbers that are stored as differences (DELTA_BINARY_PACKED), unless there are more than
/// `count_max`; says how many.
fn skip_differences(bytes: &mut &[u8], count_max: u64) -> Option<u64> {
    let (block, parts, count, _first) = (
        number(bytes)?,
        number(bytes)?,
        number(bytes)?,
        number(bytes)?,
    );
    let in_part = block.checked_div(parts)?;
    let mut left = if count <= count_max {
        count.saturating_sub(1)
    } else {
        0
    };
    while 0 < left {
        let _least = number(bytes)?;
        for &width in bytes.split_off(..usize::try_from(parts).ok()?)? {
            // Parts after the last number have no bytes.
            if 0 < left {
                let bits = in_part.checked_mul(u64::from(width))?;
                bytes.split_off(..usize::try_from(bits / 8).ok()?)?;
            }
            left = left.saturating_sub(in_part);
        }
    }
    Some(count)
}

/// What packed values unpack to, or a byte more than `size_max`, where the reader unpacks all that
/// there are; else 0.
fn tried_size(compression: Compression, values: &[u8], size_max: u32) -> Result<u64, String> {
    let reader: Box<dyn Read + '_> = match compression {
        Compression::GZIP(_) => Box::new(flate2::read::MultiGzDecoder::new(values)),
        Compression::BROTLI(_) => Box::new(brotli::Decompressor::new(values, 4096)),
        Compression::LZ4 => {
            return Err(
                "it is packed by LZ4 with frames\nwrite the file with LZ4_RAW or Zstandard"
                    .to_owned(),
            );
        }
        _ => return Ok(0),
    };
    // What cannot be unpacked is the reader's to say.
    Ok(io::copy(&mut reader.take(u64::from(size_max) + 1), &mut io::sink()).unwrap_or(0))
}

/// What a header says of its page.
#[derive(Debug, Default, PartialEq)]
struct Header {
    unpacked: u32,
    packed: u32,
    /// Entries of a dictionary.
    dictionary: u32,
    /// Bytes before the values that are not packed.
    levels: u32,
    /// Whether the values are texts that are stored by their differences.
    has_differences: bool,
}

/// Reads a header to its end.
fn header(bytes: &mut &[u8]) -> Option<Header> {
    let (mut sizes, mut own, mut header) = ([None; 2], 0, Header::default());
    let kinds: [&[u8]; 4] = [&DATA_PAGE, &INDEX_PAGE, &DICTIONARY_PAGE, &DATA_PAGE_2];
    fields(bytes, DEPTH_MAX, &HEADER, |field, bytes| {
        match field {
            // Which of the fields from 5 on the page has; those of other pages are not there.
            1 => own = *[5, 6, 7, 8].get(size(bytes)? as usize)?,
            2 | 3 => sizes[usize::from(field) - 2] = Some(size(bytes)?),
            5..=8 if field != own => return None,
            5..=8 => fields(
                bytes,
                DEPTH_MAX,
                kinds[usize::from(field) - 5],
                |inner, bytes| {
                    match (field, inner) {
                        (7, 1) => header.dictionary = size(bytes)?,
                        (5, 2) | (8, 4) => {
                            header.has_differences = DIFFERENCES.contains(&size(bytes)?);
                        }
                        (8, 5 | 6) => header.levels = header.levels.checked_add(size(bytes)?)?,
                        _ => return Some(false),
                    }
                    Some(true)
                },
            )?,
            _ => return Some(false),
        }
        Some(true)
    })?;
    Some(Header {
        unpacked: sizes[0]?,
        packed: sizes[1]?,
        ..header
    })
}

/// Reads the fields of a struct to its end. Each comes once, in order, and the known ones, from 1
/// on, have these types, so that no reader can take another for it. `read` says whether it has read
/// one; others are skipped.
fn fields(
    bytes: &mut &[u8],
    depth: u8,
    kinds: &[u8],
    mut read: impl FnMut(u8, &mut &[u8]) -> Option<bool>,
) -> Option<()> {
    let mut field = 0;
    loop {
        let &head = bytes.split_off_first()?;
        let (step, kind) = (head >> 4, if head & 15 == NO { YES } else { head & 15 });
        if kind == END {
            return Some(());
        }
        // A step of more than 15 is written as the number itself.
        let next = if step == 0 {
            u8::try_from(size(bytes)?).ok()?
        } else {
            u8::checked_add(field, step)?
        };
        (field < next).then_some(())?;
        field = next;
        let expected = usize::from(field)
            .checked_sub(1)
            .and_then(|place| kinds.get(place));
        expected
            .is_none_or(|expected| *expected == kind)
            .then_some(())?;
        if !read(field, bytes)? {
            skip(bytes, kind, depth)?;
        }
    }
}

/// The number of elements of a list, and their type.
fn list_head(bytes: &mut &[u8]) -> Option<(u64, u8)> {
    let &head = bytes.split_off_first()?;
    let count = if head >> 4 == 15 {
        number(bytes)?
    } else {
        u64::from(head >> 4)
    };
    Some((count, head & 15))
}

fn skip(bytes: &mut &[u8], kind: u8, depth: u8) -> Option<()> {
    let length = match kind {
        BYTE => 1,
        DOUBLE => 8,
        BINARY => usize::try_from(number(bytes)?).ok()?,
        STRUCT => return fields(bytes, depth.checked_sub(1)?, &[], |_, _| Some(false)),
        LIST => {
            let (depth, (count, kind)) = (depth.checked_sub(1)?, list_head(bytes)?);
            // In a list a boolean is a byte.
            let kind = if [YES, NO].contains(&kind) {
                BYTE
            } else {
                kind
            };
            return (0..count).try_for_each(|_| skip(bytes, kind, depth));
        }
        YES => 0,
        INT16 | INT32 | INT64 => return number(bytes).map(|_| ()),
        _ => return None,
    };
    bytes.split_off(..length).map(|_| ())
}

/// A number that is not negative: its sign is the last bit.
fn size(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(number(bytes)?)
        .ok()
        .filter(|number| number & 1 == 0)
        .map(|number| number >> 1)
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
    use arrow::array::{ArrayRef, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::file::properties::WriterProperties;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    #[test]
    fn pages_unpack_to_what_the_reader_unpacks() {
        for name in [
            "tests/data/model/weights.parquet",
            "tests/data/model/mpc.parquet",
        ] {
            let bytes = Bytes::from(
                std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap(),
            );
            let reader = SerializedFileReader::new(bytes.clone()).unwrap();
            let groups =
                (0..reader.num_row_groups()).map(|group| reader.get_row_group(group).unwrap());
            let columns = groups.flat_map(|group| {
                (0..group.num_columns())
                    .map(move |column| group.get_column_page_reader(column).unwrap())
            });
            let expected: Vec<u64> = columns
                .map(|pages| pages.map(|page| page.unwrap().buffer().len() as u64).sum())
                .collect();
            assert_eq!(
                open(Path::new(name), bytes, |_| true).unwrap().1,
                expected,
                "{name}"
            );
        }
    }

    #[test]
    fn a_header_has_each_field_once_and_ends() {
        let read = |bytes: &[u8]| header(&mut &*bytes);
        // A data page, a dictionary with 100 entries, and a data page with levels; all have the
        // sizes 2,000 and 3.
        let sound = [
            0x15, 0, 0x15, 0xa0, 0x1f, 0x15, 6, 0x2c, 0x15, 0, 0x15, 4, 0x15, 6, 0, 0,
        ];
        let page = Header {
            unpacked: 2_000,
            packed: 3,
            ..Header::default()
        };
        assert_eq!(read(&sound), Some(Header { ..page }));
        let dictionary = [
            0x15, 4, 0x15, 0xa0, 0x1f, 0x15, 6, 0x4c, 0x15, 0xc8, 1, 0x15, 0, 0, 0,
        ];
        assert_eq!(
            read(&dictionary),
            Some(Header {
                dictionary: 100,
                ..page
            })
        );
        let second = [
            0x15, 6, 0x15, 0xa0, 0x1f, 0x15, 6, 0x5c, 0x45, 6, 0x15, 8, 0x15, 10, 0, 0,
        ];
        assert_eq!(read(&second), Some(Header { levels: 9, ..page }));
        assert_eq!(read(&sound[..sound.len() - 1]), None);
        let again = [&sound[..7], &[0x05, 4, 2, 0]].concat();
        let without = [0x15, 0, 0x15, 2, 0];
        let negative = [0x15, 0, 0x15, 1, 0x15, 6, 0];
        let list = [0x15, 0, 0x15, 2, 0x15, 6, 0x19, 0xff, 0];
        let endless = [&sound[..7], &[0x2c; 200]].concat();
        // The fields of a page of another type.
        let other = [&sound[..7], &[0x4c, 0x15, 0, 0, 0]].concat();
        // A checksum that says to be a text of one byte, in which a reader finds a struct.
        let disguised = [&sound[..7], &[0x18, 1, 0x2c, 0]].concat();
        for bytes in [
            &again[..],
            &without,
            &negative,
            &list,
            &endless,
            &other,
            &disguised,
            &[],
        ] {
            assert_eq!(read(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn a_tree_of_columns_ends_and_is_flat() {
        // Elements with this many children, as the second field of a footer.
        let checked = |counts: &[u8]| {
            let elements = counts.iter().flat_map(|count| [0x55, 2 * count, 0]);
            let mut footer = vec![0x15, 2, 0x19, 0xfc, counts.len() as u8];
            footer.extend(elements.chain([0]));
            let length = (footer.len() as u32).to_le_bytes();
            check_footer(&[&footer[..], &length, b"PAR1"].concat())
        };
        let chain = |depth: usize| [vec![1; depth], vec![0]].concat();
        assert_eq!(checked(&[2, 1, 0, 0]), Ok(()));
        assert_eq!(checked(&chain(15)), Ok(()));
        for counts in [vec![2, 4, 0, 0], chain(16)] {
            assert!(
                checked(&counts).unwrap_err().contains("its columns"),
                "{counts:?}"
            );
        }
        assert_eq!(
            check_footer(&[0x15, 0x2c, 0x19, 0, 4, 0, 0, 0, 0x50, 0x41, 0x52, 0x31]),
            Err("its footer is not sound".to_owned())
        );
        assert_eq!(check_footer(b"PAR1"), Ok(()));
    }

    #[test]
    fn texts_are_no_more_than_the_values_of_their_page() {
        let column = |encoding: Encoding| {
            let texts = (0..100).map(|number| Some(format!("text {number:02}")));
            let batch = RecordBatch::try_from_iter([(
                "text",
                Arc::new(StringArray::from_iter(texts)) as ArrayRef,
            )])
            .unwrap();
            let properties = WriterProperties::builder()
                .set_dictionary_enabled(false)
                .set_encoding(encoding)
                .build();
            let mut writer =
                ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
            writer.write(&batch).unwrap();
            writer.into_inner().unwrap()
        };
        let opened = |bytes: Vec<u8>| {
            open(Path::new("texts"), bytes.into(), |_| true).map(|(_, sizes)| sizes[0])
        };
        // Numbers in blocks of 128, each of 4 parts, and there are 100 of them.
        let head = [0x80, 1, 4, 100];
        for (encoding, runs) in [
            (Encoding::DELTA_LENGTH_BYTE_ARRAY, 1),
            (Encoding::DELTA_BYTE_ARRAY, 2),
            (Encoding::PLAIN, 0),
        ] {
            let sound = column(encoding);
            assert!(opened(sound.clone()).unwrap() < 2_000);
            let heads: Vec<usize> = (0..sound.len() - 4)
                .filter(|&place| sound[place..].starts_with(&head))
                .collect();
            assert_eq!(heads.len(), runs, "{encoding}");
            for place in heads {
                let changed = |index: usize, byte| {
                    let mut bytes = sound.clone();
                    bytes[place + index] = byte;
                    opened(bytes).unwrap_err().to_string()
                };
                assert!(
                    changed(3, 101).contains("a page of 100 values says that it has 101 texts")
                );
                // Blocks of nothing, and none of parts.
                for index in [1, 2] {
                    assert!(
                        changed(index, 0).contains("not sound"),
                        "{encoding}: byte {index} of the head"
                    );
                }
            }
        }
    }

    #[test]
    fn values_are_unpacked_no_further_than_asked() {
        let text = vec![0; 100_000];
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        io::Write::write_all(&mut encoder, &text).unwrap();
        let gzip = encoder.finish().unwrap();
        let mut brotli = Vec::new();
        brotli::BrotliCompress(
            &mut &text[..],
            &mut brotli,
            &brotli::enc::BrotliEncoderParams::default(),
        )
        .unwrap();
        let ways = [
            (Compression::GZIP(Default::default()), gzip),
            (Compression::BROTLI(Default::default()), brotli),
        ];
        for (compression, packed) in ways {
            for (size_max, expected) in [(100_000, 100_000), (200_000, 100_000), (99, 100)] {
                assert_eq!(
                    tried_size(compression, &packed, size_max),
                    Ok(expected),
                    "{compression}"
                );
            }
        }
        assert!(
            tried_size(Compression::LZ4, &[], 1)
                .unwrap_err()
                .contains("LZ4_RAW")
        );
    }
}
