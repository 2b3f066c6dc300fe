//! Tables on disk: one Parquet file per part, its columns typed once, its bytes repeatable.

mod batches;
pub mod content;
mod listed;
mod range;
pub mod row;

use super::error::ArtifactError;
use super::guarded::{guarded, lacks_memory};
use super::hash::ContentHash;
use super::line::visible;
use super::pages;
use super::panics::caught;
use super::publish::{open_bounded, publish_bytes, read_bounded};
use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use batches::RecordBatches;
use bytes::Bytes;
use content::{content_hash, content_of};
use listed::{check_listed_size, read_listed};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, Type, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::file::properties::{
    EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion,
};
use row::TableRow;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The program that files name, in the form that readers expect. The number is that of how we
/// write, so that a new version of a library changes no byte.
const CREATED_BY: &str = "renma version 1";

/// The most rows of a row group.
pub const ROW_GROUP_ROWS: usize = 1 << 18;

/// A larger part is refused before it is read.
pub const PART_SIZE_MAX: u64 = 4 << 30;

/// The most rows that are decoded together.
const BATCH_ROWS: usize = 1 << 16;

/// A bound on the bytes of texts that are decoded together: a dictionary may repeat a text as long
/// as the column in every row.
const TEXTS_SIZE_MAX: u64 = 1 << 28;

/// Uncompressed bytes of a column: an allowance per row, and one for its pages and dictionary. The
/// longest value is the transcript of a game, 120 letters.
const ROW_SIZE_MAX: u64 = 512;
const COLUMN_SIZE_MIN: u64 = 1 << 20;

/// The key of a footer with the hash of the values.
pub const CONTENT_KEY: &str = "renma.content";

/// A stop flag that is never raised.
pub static NEVER: AtomicBool = AtomicBool::new(false);

/// How the values of a column are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// As they are: for bitboards, which repeat too little for a dictionary.
    Plain,
    /// Differences: for ids that ascend.
    Delta,
    /// A dictionary: for small numbers, flags and short texts.
    Dictionary,
}

/// A column of a table; its description, which is kept in the file, says meaning, unit and point of
/// view.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the fields are what their names say")]
pub struct Column {
    pub name: &'static str,
    pub data_type: DataType,
    pub layout: Layout,
    pub description: &'static str,
    /// Whether a row can be without a value.
    pub is_optional: bool,
}

impl Column {
    /// A column with a value in every row.
    pub const fn new(
        name: &'static str,
        data_type: DataType,
        layout: Layout,
        description: &'static str,
    ) -> Self {
        Self {
            name,
            data_type,
            layout,
            description,
            is_optional: false,
        }
    }
}

/// The columns of a kind of file.
///
/// ```
/// use renma::artifact::{Footer, GAMES, GameId, GameRow, NEVER};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("part-00000.parquet");
/// let row = GameRow { game_id: GameId(7), moves: "f5d6c3".to_owned(), random_plies: Some(2), result: Some(-4), positions: 3 };
/// let entry = GAMES.write_rows(&path, &[row], &Footer::new())?;
/// assert_eq!(entry.rows, 1);
///
/// // A manifest keeps the entry, so that a reader notices any other bytes.
/// let rows: Vec<GameRow> = GAMES.read_rows(&path, &entry, &Footer::new(), &NEVER)?;
/// assert_eq!(rows[0].moves, "f5d6c3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Table {
    /// The folder of its parts: `positions`, `games`, ….
    pub name: &'static str,
    /// The columns, in the order of a file that is written.
    pub columns: &'static [Column],
    /// Whether values of optional columns may be missing: numbers and flags, never texts.
    pub nullable: bool,
}

/// What a manifest says of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// The number of rows.
    pub rows: u64,
    /// The size on disk.
    pub bytes: u64,
    /// The hash of the bytes.
    pub hash: ContentHash,
    /// The hash of the values, which does not depend on the Parquet writer.
    pub content: ContentHash,
}

/// The footer's own texts, by key.
pub type Footer = BTreeMap<String, String>;

impl Table {
    /// The Arrow schema; each field's `description` says meaning and unit.
    pub fn schema(&self) -> SchemaRef {
        let field = |column: &Column| {
            let description =
                HashMap::from([("description".to_owned(), column.description.to_owned())]);
            Field::new(
                column.name,
                column.data_type.clone(),
                self.is_nullable(column),
            )
            .with_metadata(description)
        };
        Arc::new(Schema::new(
            self.columns.iter().map(field).collect::<Vec<_>>(),
        ))
    }

    const fn is_nullable(&self, column: &Column) -> bool {
        column.is_optional && self.nullable
    }

    /// Joins columns, in the order of the table, to a batch of rows.
    pub fn batch(&self, columns: Vec<ArrayRef>) -> RecordBatch {
        RecordBatch::try_new(self.schema(), columns).expect("the columns are those of the table")
    }

    /// Publishes a part of these rows.
    ///
    /// # Errors
    ///
    /// A system error; no part is left behind.
    pub fn write_rows<R: TableRow>(
        &self,
        path: &Path,
        rows: &[R],
        footer: &Footer,
    ) -> Result<FileEntry, ArtifactError> {
        self.write(path, &self.batch(R::to_columns(rows)), footer)
    }

    /// Reads the rows of a part that a manifest lists, as [`Table::read`].
    ///
    /// # Errors
    ///
    /// Anything that is not as the manifest says, or a value that no row can have.
    pub fn read_rows<R: TableRow>(
        &self,
        path: &Path,
        entry: &FileEntry,
        footer: &Footer,
        stop: &AtomicBool,
    ) -> Result<Vec<R>, ArtifactError> {
        R::from_batch(&self.read(path, entry, footer, stop)?)
            .map_err(|reason| ArtifactError::damaged(path, reason))
    }

    /// Publishes a part.
    ///
    /// # Errors
    ///
    /// A system error; no part is left behind.
    pub fn write(
        &self,
        path: &Path,
        batch: &RecordBatch,
        footer: &Footer,
    ) -> Result<FileEntry, ArtifactError> {
        self.write_batches(path, || std::iter::once(batch.clone()), footer)
    }

    /// Publishes a large part: `batches` makes its rows one row group at a time, as often as it is
    /// called.
    ///
    /// # Errors
    ///
    /// A system error; no part is left behind.
    pub fn write_batches<B: Iterator<Item = RecordBatch>>(
        &self,
        path: &Path,
        batches: impl Fn() -> B,
        footer: &Footer,
    ) -> Result<FileEntry, ArtifactError> {
        let (entry, bytes) = self.encode(path, batches, footer, CREATED_BY)?;
        publish_bytes(path, &bytes)?;
        Ok(entry)
    }

    /// Checks that a part has the bytes that its values give: others with the same values are
    /// damaged, or say false statistics.
    ///
    /// # Errors
    ///
    /// Damage of any kind, or [`ArtifactError::Interrupted`].
    pub fn check_bytes(
        &self,
        path: &Path,
        found: &FileEntry,
        stop: &AtomicBool,
    ) -> Result<(), ArtifactError> {
        let batch = self.read(path, found, &Footer::new(), stop)?;
        let metadata = metadata_of(path)?;
        let footer = footer_of(&metadata)
            .into_iter()
            .filter(|(key, _)| key.starts_with("renma."))
            .collect();
        // Older parts name the library and its version.
        let created_by = metadata.file_metadata().created_by().unwrap_or_default();
        if self
            .encode(path, || std::iter::once(batch.clone()), &footer, created_by)?
            .0
            == *found
        {
            return Ok(());
        }
        Err(ArtifactError::damaged(
            path,
            "its bytes are not those that its values give",
        ))
    }

    /// A part as bytes, for the file `path`.
    fn encode<B: Iterator<Item = RecordBatch>>(
        &self,
        path: &Path,
        batches: impl Fn() -> B,
        footer: &Footer,
        created_by: &str,
    ) -> Result<(FileEntry, Vec<u8>), ArtifactError> {
        let (content, rows) = content_of(&self.schema(), &batches);
        let mut footer = footer.clone();
        footer.insert(CONTENT_KEY.into(), content.to_string());
        let mut bytes = Vec::new();
        let encoded = caught(|| {
            let properties = self
                .properties(&footer)
                .set_created_by(created_by.to_owned())
                .build();
            let mut writer = ArrowWriter::try_new(&mut bytes, self.schema(), Some(properties))?;
            batches().try_for_each(|batch| writer.write(&batch))?;
            writer.close()
        });
        let encoded = encoded
            .unwrap_or_else(|| Err(ParquetError::General("the writer gave up on it".to_owned())));
        encoded.map_err(|error| {
            let source = if lacks_memory() {
                io::ErrorKind::OutOfMemory.into()
            } else {
                io::Error::other(error)
            };
            ArtifactError::io("encode", path, source)
        })?;
        let entry = FileEntry {
            rows,
            bytes: bytes.len() as u64,
            hash: ContentHash::of(&bytes),
            content,
        };
        Ok((entry, bytes))
    }

    /// How parts of this table are encoded.
    pub(super) fn properties(&self, footer: &Footer) -> WriterPropertiesBuilder {
        let mut properties = writer_properties(footer);
        for column in self.columns {
            let encoding = match column.layout {
                Layout::Plain => Some(Encoding::PLAIN),
                Layout::Delta => Some(Encoding::DELTA_BINARY_PACKED),
                Layout::Dictionary => None,
            };
            properties =
                properties.set_column_dictionary_enabled(column.name.into(), encoding.is_none());
            if let Some(encoding) = encoding {
                properties = properties.set_column_encoding(column.name.into(), encoding);
            }
        }
        properties
    }

    /// Reads a part that a manifest lists, unless `stop` is raised: size, hash, schema, the keys of
    /// its footer that are in `footer`, rows and content are checked.
    ///
    /// # Errors
    ///
    /// Anything that is not as the manifest says, or [`ArtifactError::Interrupted`].
    pub fn read(
        &self,
        path: &Path,
        entry: &FileEntry,
        footer: &Footer,
        stop: &AtomicBool,
    ) -> Result<RecordBatch, ArtifactError> {
        let damaged = |reason: String| ArtifactError::damaged(path, reason);
        let part = self.open(path, read_listed(path, entry)?.into(), stop)?;
        check_footer(path, &part.footer, footer)?;
        if part.rows_left != entry.rows {
            return Err(damaged(format!(
                "it has {} rows, the manifest says {}",
                part.rows_left, entry.rows
            )));
        }
        let batch = self.joined(path, part)?;
        if content_hash(&batch) != entry.content {
            return Err(damaged(
                "its values are not those that the manifest lists".into(),
            ));
        }
        Ok(batch)
    }

    /// Checks a part that a manifest lists without decoding a row: size, hash, and the keys of its
    /// footer that are in `footer`.
    ///
    /// # Errors
    ///
    /// Anything that is not as the manifest says.
    pub fn check(path: &Path, entry: &FileEntry, footer: &Footer) -> Result<(), ArtifactError> {
        let bytes = read_listed(path, entry)?;
        let size = bytes.len() as u64;
        check_footer(
            path,
            &footer_of(&parse_metadata(path, size, bytes.into())?),
            footer,
        )
    }

    /// The compressed bytes of each column of a part, in the order of the table.
    ///
    /// # Errors
    ///
    /// A file that is not a part of this table.
    pub fn column_bytes(&self, path: &Path) -> Result<Vec<(&'static str, u64)>, ArtifactError> {
        let metadata = metadata_of(path)?;
        let size = |name: &str| {
            let columns = metadata
                .row_groups()
                .iter()
                .flat_map(RowGroupMetaData::columns);
            let of_name = columns.filter(|column| column.column_path().string() == name);
            of_name
                .map(|column| u64::try_from(column.compressed_size()).unwrap_or(0))
                .sum()
        };
        Ok(self
            .columns
            .iter()
            .map(|column| (column.name, size(column.name)))
            .collect())
    }

    /// Reads a part that no manifest mentions yet, as a resumed run finds it: its footer has the
    /// hash of its values.
    ///
    /// `rows_max` judges the footer before a row is decoded, and says how many rows there can be.
    ///
    /// # Errors
    ///
    /// Damage of any kind, an error of `rows_max`, or [`ArtifactError::Interrupted`] once `stop` is
    /// raised.
    pub fn read_unlisted(
        &self,
        path: &Path,
        rows_max: impl FnOnce(&Footer) -> Result<u64, ArtifactError>,
        stop: &AtomicBool,
    ) -> Result<(FileEntry, Footer, RecordBatch), ArtifactError> {
        let bytes = read_bounded(path, PART_SIZE_MAX)?;
        let (size, hash) = (bytes.len() as u64, ContentHash::of(&bytes));
        let mut part = self.open(path, bytes.into(), stop)?;
        let footer = std::mem::take(&mut part.footer);
        part.check_rows(rows_max(&footer)?)?;
        let batch = self.joined(path, part)?;
        let content = content_hash(&batch);
        if footer.get(CONTENT_KEY) != Some(&content.to_string()) {
            return Err(ArtifactError::damaged(
                path,
                "its values are not those of the hash in its footer",
            ));
        }
        let entry = FileEntry {
            rows: batch.num_rows() as u64,
            bytes: size,
            hash,
            content,
        };
        Ok((entry, footer, batch))
    }

    /// Decodes bytes of at most `rows_max` rows that are already known to be those that were
    /// written.
    ///
    /// # Errors
    ///
    /// Bytes that are not a file of this table, or more rows.
    pub fn decode(
        &self,
        path: &Path,
        bytes: Bytes,
        rows_max: u64,
    ) -> Result<RecordBatch, ArtifactError> {
        let batches = self.decode_batches(path, bytes, rows_max)?;
        self.joined(path, batches)
    }

    /// [`Table::decode`], some rows at a time, for large tables.
    ///
    /// # Errors
    ///
    /// Those of [`Table::decode`]; each batch may be an error.
    pub fn decode_batches<'p>(
        &self,
        path: &'p Path,
        bytes: Bytes,
        rows_max: u64,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, ArtifactError>> + use<'p>, ArtifactError>
    {
        let part = self.open(path, bytes, &NEVER)?;
        part.check_rows(rows_max)?;
        Ok(part)
    }

    /// What a part says of itself, whether or not its columns are those of this table. No row is
    /// read.
    ///
    /// # Errors
    ///
    /// A file that is not Parquet.
    pub fn read_footer(path: &Path) -> Result<Footer, ArtifactError> {
        metadata_of(path).map(|metadata| footer_of(&metadata))
    }

    /// The same of a file that a manifest lists, if it has the size listed there.
    ///
    /// # Errors
    ///
    /// Another size, or a file that is not Parquet.
    pub fn read_listed_footer(path: &Path, entry: &FileEntry) -> Result<Footer, ArtifactError> {
        let (_, size) = open_bounded(path, PART_SIZE_MAX)?;
        check_listed_size(path, size, entry)?;
        Self::read_footer(path)
    }

    /// Reads the footer of a part and checks its columns; no value is decoded yet.
    fn open<'p>(
        &self,
        path: &'p Path,
        bytes: Bytes,
        stop: &'p AtomicBool,
    ) -> Result<RecordBatches<'p>, ArtifactError> {
        let damaged = |reason: String| ArtifactError::damaged(path, reason);
        let size = bytes.len() as u64;
        let (builder, sizes) = pages::open(path, bytes, |_| true)?;
        let metadata = builder.metadata();
        let footer = footer_of(metadata);
        let order = self.order_in(builder.schema()).map_err(damaged)?;
        let count = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
        let rows = count(metadata.file_metadata().num_rows());
        let in_groups = metadata.row_groups().iter().fold(0, |sum: u64, group| {
            sum.saturating_add(count(group.num_rows()))
        });
        if rows != in_groups {
            return Err(damaged(format!(
                "it has {rows} rows, and its row groups have {in_groups}"
            )));
        }
        let size_max = rows
            .saturating_mul(ROW_SIZE_MAX)
            .saturating_add(COLUMN_SIZE_MIN);
        let columns = || {
            metadata
                .row_groups()
                .iter()
                .flat_map(RowGroupMetaData::columns)
                .zip(&sizes)
        };
        if let Some((column, size)) = columns().find(|(_, size)| size_max < **size) {
            let name = column.column_path();
            return Err(damaged(format!(
                "column {name} unpacks to {size} bytes: at most {size_max} for {rows} rows"
            )));
        }
        let texts = columns().filter(|(column, _)| column.column_type() == Type::BYTE_ARRAY);
        let text_size_max = texts.map(|(_, &size)| size).max().unwrap_or(0);
        let batch_rows =
            (TEXTS_SIZE_MAX / text_size_max.max(1)).clamp(1, BATCH_ROWS as u64) as usize;
        let reader = guarded(path, size, move || {
            builder.with_batch_size(batch_rows).build()
        })?;
        Ok(RecordBatches {
            path,
            size,
            stop,
            footer,
            reader: Some(reader),
            rows_left: rows,
            order,
            schema: self.schema(),
        })
    }

    /// The rows of a part together.
    fn joined(
        &self,
        path: &Path,
        batches: impl Iterator<Item = Result<RecordBatch, ArtifactError>>,
    ) -> Result<RecordBatch, ArtifactError> {
        let batches = batches.collect::<Result<Vec<_>, _>>()?;
        concat_batches(&self.schema(), &batches)
            .map_err(|error| ArtifactError::damaged(path, error.to_string()))
    }

    /// Where a file has each of the columns, whose types must be those of the table.
    fn order_in(&self, found: &Schema) -> Result<Vec<usize>, String> {
        let mut order = Vec::new();
        for column in self.columns {
            let (name, ours, nullable) = (column.name, &column.data_type, self.is_nullable(column));
            let (index, other) = found
                .column_with_name(name)
                .ok_or_else(|| format!("it has no column {name}"))?;
            let theirs = other.data_type();
            if theirs != ours {
                let theirs = visible(&theirs.to_string());
                return Err(format!(
                    "its column {name} has type {theirs}, {ours} expected"
                ));
            }
            if other.is_nullable() != nullable {
                let have = if other.is_nullable() {
                    "have"
                } else {
                    "not have"
                };
                return Err(format!("its column {name} may {have} values missing"));
            }
            order.push(index);
        }
        match found
            .fields()
            .iter()
            .find(|field| self.columns.iter().all(|known| known.name != field.name()))
        {
            Some(field) => Err(format!(
                "its column {} is not one of `{}`",
                visible(field.name()),
                self.name
            )),
            None if found.fields().len() != order.len() => {
                Err("two of its columns have one name".to_owned())
            }
            None => Ok(order),
        }
    }
}

/// How Parquet files are written, whatever their columns.
pub fn writer_properties(footer: &Footer) -> WriterPropertiesBuilder {
    let pairs = footer
        .iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    WriterProperties::builder()
        .set_created_by(CREATED_BY.to_owned())
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(
            ZstdLevel::try_new(3).expect("zstd has a level 3"),
        ))
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(pairs))
}

/// What the footer of a file says, without its rows.
fn metadata_of(path: &Path) -> Result<ParquetMetaData, ArtifactError> {
    let (file, size) = open_bounded(path, PART_SIZE_MAX)?;
    let last = |count: u64| {
        let mut bytes = Vec::new();
        (&file).seek(SeekFrom::Start(size.checked_sub(count).unwrap_or(size)))?;
        (&file).take(count).read_to_end(&mut bytes).map(|_| bytes)
    };
    // A file ends with the footer, its length in 4 bytes, and 4 letters.
    let footer = || -> io::Result<Bytes> {
        let length = last(8)?
            .first_chunk::<4>()
            .map_or(0, |length| u32::from_le_bytes(*length));
        Ok(last(u64::from(length) + 8)?.into())
    };
    let bytes = footer().map_err(|source| ArtifactError::io("read", path, source))?;
    parse_metadata(path, size, bytes)
}

/// What the footer at the end of these bytes says; the whole file has `size` bytes.
fn parse_metadata(path: &Path, size: u64, bytes: Bytes) -> Result<ParquetMetaData, ArtifactError> {
    guarded(path, size, move || {
        pages::check_footer(&bytes)?;
        ParquetMetaDataReader::new()
            .parse_and_finish(&bytes)
            .map_err(|error| visible(&error.to_string()))
    })
}

/// An error unless a footer says what is expected; it may say more.
fn check_footer(path: &Path, footer: &Footer, expected: &Footer) -> Result<(), ArtifactError> {
    let difference = expected
        .keys()
        .find_map(|key| difference_at(key, footer, expected));
    difference.map_or(Ok(()), |difference| {
        Err(ArtifactError::damaged(path, difference))
    })
}

/// What a footer says of a key, if the manifest expects something else.
pub fn difference_at(key: &str, footer: &Footer, expected: &Footer) -> Option<String> {
    let [found, listed] =
        [footer, expected].map(|side| side.get(key).map_or("nothing", String::as_str));
    let text = || {
        visible(&format!(
            "its footer says {key} = {found}, and by the manifest it is {listed}"
        ))
    };
    (footer.get(key) != expected.get(key)).then(text)
}

/// The texts in the footer of a file.
pub fn footer_of(metadata: &ParquetMetaData) -> Footer {
    let pairs = metadata
        .file_metadata()
        .key_value_metadata()
        .into_iter()
        .flatten();
    pairs
        .filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{StringArray, UInt64Array};
    use std::sync::atomic::Ordering;

    #[test]
    fn decoding_ends_at_the_batch_before_which_the_flag_is_raised() {
        static COLUMNS: [Column; 1] = [Column::new("number", DataType::UInt64, Layout::Delta, "")];
        let table = Table {
            name: "numbers",
            columns: &COLUMNS,
            nullable: false,
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.parquet");
        let numbers = UInt64Array::from_iter_values(0..3 * BATCH_ROWS as u64);
        let entry = table
            .write(&path, &table.batch(vec![Arc::new(numbers)]), &Footer::new())
            .unwrap();
        let stop = AtomicBool::new(false);
        let mut batches = table
            .open(&path, read_listed(&path, &entry).unwrap().into(), &stop)
            .unwrap();
        assert_eq!(batches.next().unwrap().unwrap().num_rows(), BATCH_ROWS);
        stop.store(true, Ordering::Relaxed);
        assert!(matches!(
            batches.next(),
            Some(Err(ArtifactError::Interrupted))
        ));
        assert!(batches.next().is_none());
        assert!(matches!(
            table.read(&path, &entry, &Footer::new(), &stop),
            Err(ArtifactError::Interrupted)
        ));
        let unlisted = table.read_unlisted(&path, |_| Ok(entry.rows), &stop);
        assert!(matches!(unlisted, Err(ArtifactError::Interrupted)));
        assert_eq!(
            table
                .read(&path, &entry, &Footer::new(), &NEVER)
                .unwrap()
                .num_rows() as u64,
            entry.rows
        );
    }

    #[test]
    fn parts_name_our_writer_and_those_that_name_a_library_stay_sound() {
        static COLUMNS: [Column; 1] = [Column::new("number", DataType::UInt64, Layout::Delta, "")];
        let table = Table {
            name: "numbers",
            columns: &COLUMNS,
            nullable: false,
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.parquet");
        let batch = table.batch(vec![Arc::new(UInt64Array::from_iter_values(0..1_000))]);
        let ours = table.write(&path, &batch, &Footer::new()).unwrap();
        assert_eq!(
            metadata_of(&path).unwrap().file_metadata().created_by(),
            Some("renma version 1")
        );
        table.check_bytes(&path, &ours, &NEVER).unwrap();
        let batches = || std::iter::once(batch.clone());
        let (older, bytes) = table
            .encode(&path, batches, &Footer::new(), "parquet-rs version 60.1.0")
            .unwrap();
        publish_bytes(&path, &bytes).unwrap();
        table.check_bytes(&path, &older, &NEVER).unwrap();
        assert_eq!(
            (older.content, older.hash == ours.hash),
            (ours.content, false)
        );
    }

    #[test]
    fn texts_are_decoded_a_few_rows_at_a_time_and_refused_if_they_are_too_long() {
        static COLUMNS: [Column; 1] = [Column::new("text", DataType::Utf8, Layout::Dictionary, "")];
        let table = Table {
            name: "texts",
            columns: &COLUMNS,
            nullable: false,
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("part.parquet");
        let rows_of_batches = |texts: Vec<String>| -> Result<Vec<usize>, String> {
            let texts = StringArray::from_iter_values(texts);
            table
                .write(&path, &table.batch(vec![Arc::new(texts)]), &Footer::new())
                .unwrap();
            let bytes = std::fs::read(&path).unwrap().into();
            let batches = table
                .decode_batches(&path, bytes, 1_000)
                .map_err(|error| error.to_string())?;
            batches
                .map(|batch| {
                    batch
                        .map(|batch| batch.num_rows())
                        .map_err(|error| error.to_string())
                })
                .collect()
        };
        assert_eq!(
            rows_of_batches(vec!["x".repeat(500); 1_000]),
            Ok(vec![1_000])
        );
        // Each text could be as long as the first one.
        let texts = (0..1_000)
            .map(|row| "x".repeat(if row == 0 { 300_000 } else { 1 }))
            .collect();
        let batches = rows_of_batches(texts).unwrap();
        assert_eq!(
            (batches.len(), batches.iter().sum::<usize>()),
            (2, 1_000),
            "{batches:?}"
        );
        let error = rows_of_batches(
            (0..1_000)
                .map(|row| format!("{row}").repeat(1_000))
                .collect(),
        )
        .unwrap_err();
        assert!(
            error.contains("unpacks to 2891276 bytes") && error.ends_with("for 1000 rows"),
            "{error}"
        );
        let error = rows_of_batches(vec!["x".repeat(5_000); 1_000]).unwrap_err();
        assert!(
            error.ends_with("the texts of 1000 rows have 5000000 bytes"),
            "{error}"
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_file_that_the_system_cannot_read_is_not_damaged() {
        // There is nothing at the address 0.
        let error = Table::read_footer(Path::new("/proc/self/mem")).unwrap_err();
        assert!(
            matches!(error, ArtifactError::Io { action: "read", .. }),
            "{error}"
        );
    }
}
