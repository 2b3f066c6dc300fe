//! Tables on disk: one Parquet file a part, its columns typed once, its bytes repeatable.

use super::error::ArtifactError;
use super::hash::{ContentHash, FieldHasher};
use super::publish::{publish_bytes, read_bounded};
use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// Rows of a row group at most.
const ROW_GROUP_ROWS: usize = 1 << 18;

/// A larger part is refused before it is read.
const PART_SIZE_MAX: u64 = 4 << 30;

/// A part that claims more rows is refused before anything is allocated for them.
const PART_ROWS_MAX: i64 = 1 << 28;

/// How the values of a column are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// As they are: for bitboards, which repeat too little for a dictionary.
    Plain,
    /// The first bytes of all values, then the second, …: for scores.
    Split,
    /// Differences: for ids that ascend.
    Delta,
    /// A dictionary: for small numbers, flags and short texts.
    Dictionary,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub data_type: DataType,
    /// How it is laid out.
    pub layout: Layout,
    /// Meaning and unit, kept in the file.
    pub description: &'static str,
}

impl Column {
    /// A column.
    #[must_use]
    pub const fn new(name: &'static str, data_type: DataType, layout: Layout, description: &'static str) -> Self {
        Self { name, data_type, layout, description }
    }
}

/// The columns of a kind of file.
#[derive(Debug)]
pub struct Table {
    /// The folder of its parts: `positions`, `games`, ….
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// Those whose values may be missing: numbers and flags, never texts.
    pub nullable: &'static [&'static str],
}

/// What a manifest says of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Rows.
    pub rows: u64,
    /// Bytes on disk.
    pub bytes: u64,
    /// The hash of the bytes.
    pub hash: ContentHash,
    /// The hash of the values, which does not depend on the Parquet writer.
    pub content: ContentHash,
}

thread_local! {
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread is decoding foreign bytes: a panic then becomes an error, and is not worth a word of its own.
#[must_use]
pub fn is_decoding() -> bool {
    DECODING.get()
}

/// Decodes foreign bytes; `None` if the parser panics, as damaged footers can make it (measured: 4 of 900).
pub fn guarded<T>(decode: impl FnOnce() -> T) -> Option<T> {
    DECODING.set(true);
    let result = catch_unwind(AssertUnwindSafe(decode));
    DECODING.set(false);
    result.ok()
}

/// The footer's own texts, by key.
pub type Footer = BTreeMap<String, String>;

impl Table {
    /// The Arrow schema; each field's `description` says meaning and unit.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        let field = |column: &Column| {
            let description = HashMap::from([("description".to_owned(), column.description.to_owned())]);
            let nullable = self.nullable.contains(&column.name);
            Field::new(column.name, column.data_type.clone(), nullable).with_metadata(description)
        };
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }

    /// Joins columns, in the order of the table, to a batch of rows.
    ///
    /// # Panics
    ///
    /// If the columns are not those of the table, which would be our own mistake.
    #[must_use]
    pub fn batch(&self, columns: Vec<ArrayRef>) -> RecordBatch {
        RecordBatch::try_new(self.schema(), columns).expect("the columns are those of the table")
    }

    /// Publishes a part.
    ///
    /// # Errors
    ///
    /// Whatever the system refuses; then there is no part.
    pub fn write(&self, path: &Path, batch: &RecordBatch, footer: &Footer) -> Result<FileEntry, ArtifactError> {
        let content = content_hash(batch);
        let mut footer = footer.clone();
        footer.insert("renma.content".into(), content.to_string());
        let bytes = self
            .encode(batch, &footer)
            .map_err(|error| ArtifactError::io("encode", path, std::io::Error::other(error)))?;
        publish_bytes(path, &bytes)?;
        Ok(FileEntry {
            rows: batch.num_rows() as u64,
            bytes: bytes.len() as u64,
            hash: ContentHash::of(&bytes),
            content,
        })
    }

    fn encode(&self, batch: &RecordBatch, footer: &Footer) -> parquet::errors::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let properties = self.properties(footer);
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties))?;
        writer.write(batch)?;
        writer.close()?;
        Ok(bytes)
    }

    fn properties(&self, footer: &Footer) -> WriterProperties {
        let pairs = footer.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
        let mut properties = WriterProperties::builder()
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3).expect("zstd has a level 3")))
            .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_key_value_metadata(Some(pairs));
        for column in self.columns {
            let encoding = match column.layout {
                Layout::Plain => Some(Encoding::PLAIN),
                Layout::Split => Some(Encoding::BYTE_STREAM_SPLIT),
                Layout::Delta => Some(Encoding::DELTA_BINARY_PACKED),
                Layout::Dictionary => None,
            };
            properties = properties.set_column_dictionary_enabled(column.name.into(), encoding.is_none());
            if let Some(encoding) = encoding {
                properties = properties.set_column_encoding(column.name.into(), encoding);
            }
        }
        properties.build()
    }

    /// Reads a part that a manifest vouches for: size, hash, schema, rows and content are checked.
    ///
    /// # Errors
    ///
    /// Anything that is not as the manifest says.
    pub fn read(&self, path: &Path, entry: &FileEntry) -> Result<RecordBatch, ArtifactError> {
        let damaged = |reason: String| ArtifactError::damaged(path, reason);
        let (batch, _) = self.decode(path, read_listed(path, entry)?)?;
        if batch.num_rows() as u64 != entry.rows {
            return Err(damaged(format!("it has {} rows, the manifest says {}", batch.num_rows(), entry.rows)));
        }
        if content_hash(&batch) != entry.content {
            return Err(damaged("its values are not those the manifest vouches for".into()));
        }
        Ok(batch)
    }

    /// The compressed bytes of each column of a part, in the order of the table.
    ///
    /// # Errors
    ///
    /// A file that is no part of this table.
    pub fn column_bytes(&self, path: &Path) -> Result<Vec<(&'static str, u64)>, ArtifactError> {
        let bytes = read_bounded(path, PART_SIZE_MAX)?;
        let read = catch_unwind(|| ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)));
        let Ok(Ok(builder)) = read else {
            return Err(ArtifactError::damaged(path, "its footer cannot be read"));
        };
        let groups = builder.metadata().row_groups();
        let size = |index: usize| {
            let columns = groups.iter().filter_map(|group| group.columns().get(index));
            columns.map(|column| u64::try_from(column.compressed_size()).unwrap_or(0)).sum()
        };
        let sizes = self.columns.iter().enumerate().map(|(index, column)| (column.name, size(index)));
        Ok(sizes.collect())
    }

    /// Reads a part that no manifest mentions yet, as a resumed run finds it: its footer vouches for its values.
    ///
    /// # Errors
    ///
    /// Damage of any kind.
    pub fn read_unlisted(&self, path: &Path) -> Result<(FileEntry, Footer, RecordBatch), ArtifactError> {
        let bytes = read_bounded(path, PART_SIZE_MAX)?;
        let (size, hash) = (bytes.len() as u64, ContentHash::of(&bytes));
        let (batch, footer) = self.decode(path, bytes)?;
        let content = content_hash(&batch);
        if footer.get("renma.content") != Some(&content.to_string()) {
            return Err(ArtifactError::damaged(path, "its values are not those its footer vouches for"));
        }
        let entry = FileEntry { rows: batch.num_rows() as u64, bytes: size, hash, content };
        Ok((entry, footer, batch))
    }

    /// Decodes bytes that are already known to be those that were written.
    ///
    /// # Errors
    ///
    /// Bytes that are not a file of this table.
    pub fn decode(&self, path: &Path, bytes: Vec<u8>) -> Result<(RecordBatch, Footer), ArtifactError> {
        let reason = match guarded(|| self.decode_unguarded(bytes)) {
            Some(Ok(decoded)) => return Ok(decoded),
            Some(Err(reason)) => reason,
            None => "the Parquet reader gave up on it".to_owned(),
        };
        Err(ArtifactError::damaged(path, reason))
    }

    /// What a part says of itself, whether or not its columns are those of this table.
    ///
    /// # Errors
    ///
    /// A file that is not Parquet.
    pub fn read_footer(path: &Path) -> Result<Footer, ArtifactError> {
        let bytes = read_bounded(path, PART_SIZE_MAX)?;
        match guarded(|| ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes))) {
            Some(Ok(builder)) => {
                let pairs = builder.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
                Ok(pairs.into_iter().filter_map(|pair| Some((pair.key, pair.value?))).collect())
            }
            _ => Err(ArtifactError::damaged(path, "its footer cannot be read")),
        }
    }

    fn decode_unguarded(&self, bytes: Vec<u8>) -> Result<(RecordBatch, Footer), String> {
        let text = |error: parquet::errors::ParquetError| error.to_string();
        let builder = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).map_err(text)?;
        let schema = self.schema();
        if builder.schema().fields() != schema.fields() {
            return Err(format!("its columns are not those of `{}`", self.name));
        }
        let metadata = builder.metadata().file_metadata();
        if !(0..=PART_ROWS_MAX).contains(&metadata.num_rows()) {
            return Err(format!("it claims {} rows", metadata.num_rows()));
        }
        let pairs = metadata.key_value_metadata().cloned().unwrap_or_default();
        let footer = pairs.into_iter().filter_map(|pair| Some((pair.key, pair.value?))).collect();
        let batches = builder.with_batch_size(1 << 16).build().map_err(text)?;
        let batches = batches.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        let batch = concat_batches(&schema, &batches).map_err(|error| error.to_string())?;
        Ok((batch, footer))
    }
}

/// The bytes of a part, if they are those that a manifest vouches for.
///
/// # Errors
///
/// A missing file, or one of another size or hash.
pub fn read_listed(path: &Path, entry: &FileEntry) -> Result<Vec<u8>, ArtifactError> {
    let damaged = |reason: String| ArtifactError::damaged(path, reason);
    let bytes = match read_bounded(path, PART_SIZE_MAX) {
        Err(ArtifactError::Missing { .. }) => return Err(damaged("it is gone, and the manifest lists it".into())),
        other => other?,
    };
    if bytes.len() as u64 != entry.bytes {
        return Err(damaged(format!("it has {} bytes, the manifest says {}", bytes.len(), entry.bytes)));
    }
    if ContentHash::of(&bytes) != entry.hash {
        return Err(damaged("its hash is not the one in the manifest".into()));
    }
    Ok(bytes)
}

/// The hash of a batch's values, column by column; where values may be missing, those that are count as zero, and which
/// are there is a column of its own.
fn content_hash(batch: &RecordBatch) -> ContentHash {
    let mut hasher = FieldHasher::new("table");
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        let mut values = value_bytes(column);
        if field.is_nullable() {
            let valid: Vec<u8> = (0..column.len()).map(|row| u8::from(column.is_valid(row))).collect();
            let width = values.len().checked_div(valid.len()).unwrap_or(0);
            for (value, _) in values.chunks_exact_mut(width.max(1)).zip(&valid).filter(|(_, valid)| **valid == 0) {
                value.fill(0);
            }
            hasher.field(field.name(), &values);
            hasher.field(&format!("{} is known", field.name()), &valid);
        } else {
            hasher.field(field.name(), &values);
        }
    }
    hasher.finish()
}

fn value_bytes(column: &dyn Array) -> Vec<u8> {
    match column.data_type() {
        DataType::Boolean => column.as_boolean().values().iter().map(u8::from).collect(),
        DataType::Utf8 => {
            let texts = column.as_string::<i32>().iter().map(Option::unwrap_or_default);
            texts.flat_map(|text| (text.len() as u32).to_le_bytes().into_iter().chain(text.bytes())).collect()
        }
        _ => {
            let data = column.to_data();
            let width = data.data_type().primitive_width().expect("tables hold numbers, flags and texts");
            data.buffers()[0].as_slice()[data.offset() * width..][..data.len() * width].to_vec()
        }
    }
}
