//! Columns of keys, read where they are: numpy arrays and everything that speaks Arrow's C interface.

use crate::signals::Signals;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Int8Type, Int16Type, Int32Type, Int64Type,
    UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, DictionaryArray};
use arrow_schema::DataType;
use mayhap_store::{EachBatch, HostError, TypedBatch, TypedKeys};
use numpy::ndarray::{ArrayView1, ArrayView2};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyImportError, PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use pyo3_arrow::input::AnyArray;
use std::ops::ControlFlow;

/// Keys of a batch.
const CHUNK: usize = 1024;

/// A column, kept alive while it is read.
pub enum Column<'py> {
    /// Of anything that exports Arrow: pyarrow, polars, pandas, DuckDB.
    Arrow(Vec<ArrayRef>),
    /// A numpy array of integers.
    Integers(Integers<'py>),
    /// A numpy array of byte strings, one row each, filled up with zeros.
    Fixed(PyReadonlyArray2<'py, u8>),
    /// An array of Python objects.
    Objects(Bound<'py, PyList>),
}

/// One variant for each width.
macro_rules! widths {
    ($($Width:ident $int:ty as $wide:ty, $Batch:ident, $kind:literal $bytes:literal;)*) => {
        pub enum Integers<'py> {
            $($Width(PyReadonlyArray1<'py, $int>),)*
        }

        impl<'py> Integers<'py> {
            fn from(array: &Bound<'py, PyAny>, kind: char, bytes: usize) -> PyResult<Option<Self>> {
                Ok(match (kind, bytes) {
                    $(($kind, $bytes) => Some(Integers::$Width(array.extract()?)),)*
                    _ => None,
                })
            }

            fn view(&self) -> View<'_> {
                match self {
                    $(Integers::$Width(array) => View::$Width(array.as_array()),)*
                }
            }
        }

        /// What is read without the interpreter's lock.
        pub enum View<'a> {
            $($Width(ArrayView1<'a, $int>),)*
            Fixed(ArrayView2<'a, u8>),
            Arrow(&'a [ArrayRef]),
        }

        impl View<'_> {
            fn integers(&self, pass: &mut Pass<'_, '_>) -> Option<ControlFlow<()>> {
                Some(match self {
                    $(View::$Width(array) => {
                        // In place where it can be: 64 bits, side by side.
                        let mut wide: Vec<$wide> = Vec::with_capacity(CHUNK);
                        let mut numbers = array.iter();
                        loop {
                            wide.clear();
                            wide.extend(numbers.by_ref().take(CHUNK).map(|number| <$wide>::from(*number)));
                            if wide.is_empty() {
                                break ControlFlow::Continue(());
                            }
                            if pass.go(TypedBatch::$Batch(&wide)).is_break() {
                                break ControlFlow::Break(());
                            }
                        }
                    })*
                    View::Fixed(_) | View::Arrow(_) => return None,
                })
            }

            fn len(&self) -> usize {
                match self {
                    $(View::$Width(array) => array.len(),)*
                    View::Fixed(rows) => rows.nrows(),
                    View::Arrow(chunks) => {
                        chunks.iter().map(|chunk| chunk.len() - chunk.logical_null_count()).sum()
                    }
                }
            }
        }
    };
}

widths! {
    I8 i8 as i64, Signed, 'i' 1;
    I16 i16 as i64, Signed, 'i' 2;
    I32 i32 as i64, Signed, 'i' 4;
    I64 i64 as i64, Signed, 'i' 8;
    U8 u8 as u64, Unsigned, 'u' 1;
    U16 u16 as u64, Unsigned, 'u' 2;
    U32 u32 as u64, Unsigned, 'u' 4;
    U64 u64 as u64, Unsigned, 'u' 8;
}

impl<'py> Column<'py> {
    /// The column that an object is, if it is one.
    pub fn from(object: &Bound<'py, PyAny>) -> PyResult<Option<Column<'py>>> {
        let py = object.py();
        if is_numpy(object)? {
            return Column::of_numpy(object).map(Some);
        }
        if object.hasattr(intern!(py, "__arrow_c_array__"))?
            || object.hasattr(intern!(py, "__arrow_c_stream__"))?
        {
            match object.extract::<AnyArray>() {
                Ok(array) => return Column::of_arrow(array).map(Some),
                // pandas exports with pyarrow's help, and has numpy if there is none.
                Err(error) if error.is_instance_of::<PyImportError>(py) => {}
                Err(error) => return Err(error),
            }
        }
        // pandas again: its own columns of earlier releases, indexes.
        if object.hasattr(intern!(py, "to_numpy"))? {
            let array = object.call_method0(intern!(py, "to_numpy"))?;
            if is_numpy(&array)? {
                return Column::of_numpy(&array).map(Some);
            }
        }
        Ok(None)
    }

    fn of_arrow(array: AnyArray) -> PyResult<Column<'py>> {
        let (mut chunks, field) = array.into_chunked_array()?.into_inner();
        // A table of one column is that column.
        if let DataType::Struct(fields) = field.data_type() {
            if fields.len() != 1 {
                return Err(PyTypeError::new_err(format!(
                    "a table of {} columns holds no keys: choose a column",
                    fields.len()
                )));
            }
            let column = |chunk: &ArrayRef| chunk.as_struct().column(0).clone();
            chunks = chunks.iter().map(column).collect();
        }
        if let Some(chunk) = chunks.first().filter(|chunk| !is_keys(chunk.data_type())) {
            return Err(PyTypeError::new_err(format!(
                "a column of {} holds no keys: columns of text, bytes and integers do",
                chunk.data_type()
            )));
        }
        Ok(Column::Arrow(chunks))
    }

    fn of_numpy(array: &Bound<'py, PyAny>) -> PyResult<Column<'py>> {
        let py = array.py();
        let dimensions: usize = array.getattr(intern!(py, "ndim"))?.extract()?;
        if dimensions != 1 {
            return Err(PyValueError::new_err(format!(
                "an array of {dimensions} dimensions, and one is wanted: use .ravel()"
            )));
        }
        let dtype = array.getattr(intern!(py, "dtype"))?;
        let kind: char = dtype.getattr(intern!(py, "kind"))?.extract()?;
        let bytes: usize = dtype.getattr(intern!(py, "itemsize"))?.extract()?;
        match kind {
            'i' | 'u' => {
                let native: bool = dtype.getattr(intern!(py, "isnative"))?.extract()?;
                let flags = array.getattr(intern!(py, "flags"))?;
                let aligned: bool = flags.getattr(intern!(py, "aligned"))?.extract()?;
                let array = match native && aligned {
                    true => array.clone(),
                    // Another machine's byte order, or a field of packed records: copied.
                    false => array.call_method1(
                        intern!(py, "astype"),
                        (dtype.call_method1(intern!(py, "newbyteorder"), ("=",))?,),
                    )?,
                };
                if let Some(integers) = Integers::from(&array, kind, bytes)? {
                    return Ok(Column::Integers(integers));
                }
            }
            'S' if bytes > 0 => {
                let contiguous = py.import("numpy")?.call_method1("ascontiguousarray", (array,))?;
                let rows = contiguous
                    .call_method1("view", ("u1",))?
                    .call_method1("reshape", ((contiguous.len()?, bytes),))?;
                return Ok(Column::Fixed(rows.extract()?));
            }
            'S' | 'U' | 'O' => {
                let list = array.call_method0(intern!(py, "tolist"))?.cast_into::<PyList>()?;
                return Ok(Column::Objects(list));
            }
            _ => {}
        }
        Err(PyTypeError::new_err(format!(
            "an array of {dtype} holds no keys: arrays of integers, strings and byte strings do"
        )))
    }

    /// What is read without the interpreter's lock; `None` of objects.
    pub fn view(&self) -> Option<View<'_>> {
        match self {
            Column::Arrow(chunks) => Some(View::Arrow(chunks)),
            Column::Integers(integers) => Some(integers.view()),
            Column::Fixed(rows) => Some(View::Fixed(rows.as_array())),
            Column::Objects(_) => None,
        }
    }

    /// For each place whether there is a key, where some are null.
    pub fn validity(&self) -> Option<Vec<bool>> {
        let Column::Arrow(chunks) = self else { return None };
        if chunks.iter().all(|chunk| chunk.logical_null_count() == 0) {
            return None;
        }
        let mut valid = Vec::new();
        for chunk in chunks {
            match chunk.logical_nulls() {
                Some(nulls) => valid.extend(nulls.iter()),
                None => valid.extend(std::iter::repeat_n(true, chunk.len())),
            }
        }
        Some(valid)
    }
}

/// Whether it is a numpy array; numpy is not imported to find out.
fn is_numpy(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let modules = py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?;
    let Some(numpy) = modules.cast::<PyDict>()?.get_item(intern!(py, "numpy"))? else {
        return Ok(false);
    };
    // A module that is being imported, or none at all.
    match numpy.getattr(intern!(py, "ndarray")) {
        Ok(class) => object.is_instance(&class),
        Err(_) => Ok(false),
    }
}

/// Whether an Arrow column can hold keys.
fn is_keys(data_type: &DataType) -> bool {
    use DataType as T;
    match data_type {
        T::Dictionary(_, values) => is_keys(values),
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Binary | T::LargeBinary | T::BinaryView => true,
        T::FixedSizeBinary(_) | T::Null => true,
        other => other.is_integer(),
    }
}

/// Hands batches on until somebody wants no more.
struct Pass<'a, 'b> {
    each: &'a mut EachBatch<'b>,
    signals: Signals,
    batches: u32,
    interrupted: Option<HostError>,
}

impl Pass<'_, '_> {
    fn go(&mut self, batch: TypedBatch<'_>) -> ControlFlow<()> {
        self.batches = self.batches.wrapping_add(1);
        if self.batches.is_multiple_of(16)
            && let Err(error) = self.signals.check()
        {
            self.interrupted = Some(error);
            return ControlFlow::Break(());
        }
        (self.each)(batch)
    }

    fn slices<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) -> ControlFlow<()> {
        let (mut keys, mut chunk) = (keys, Vec::with_capacity(CHUNK));
        loop {
            chunk.clear();
            chunk.extend(keys.by_ref().take(CHUNK));
            if chunk.is_empty() {
                return ControlFlow::Continue(());
            }
            self.go(TypedBatch::Bytes(&chunk))?;
        }
    }

    fn numbers(&mut self, keys: impl Iterator<Item = Number>) -> ControlFlow<()> {
        let (mut keys, mut chunk) = (keys.peekable(), Vec::with_capacity(CHUNK));
        while keys.peek().is_some() {
            chunk.clear();
            match keys.peek() {
                Some(Number::Signed(_)) => {
                    chunk.extend(keys.by_ref().take(CHUNK).map(Number::bits));
                    let signed: Vec<i64> = chunk.iter().map(|bits| bits.cast_signed()).collect();
                    self.go(TypedBatch::Signed(&signed))?;
                }
                _ => {
                    chunk.extend(keys.by_ref().take(CHUNK).map(Number::bits));
                    self.go(TypedBatch::Unsigned(&chunk))?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn column(&mut self, column: &dyn Array) -> ControlFlow<()> {
        use DataType as T;
        match column.data_type() {
            T::Utf8 => self.slices(column.as_string::<i32>().iter().flatten().map(str::as_bytes)),
            T::LargeUtf8 => {
                self.slices(column.as_string::<i64>().iter().flatten().map(str::as_bytes))
            }
            T::Utf8View => self.slices(column.as_string_view().iter().flatten().map(str::as_bytes)),
            T::Binary => self.slices(column.as_binary::<i32>().iter().flatten()),
            T::LargeBinary => self.slices(column.as_binary::<i64>().iter().flatten()),
            T::BinaryView => self.slices(column.as_binary_view().iter().flatten()),
            T::FixedSizeBinary(_) => self.slices(column.as_fixed_size_binary().iter().flatten()),
            T::Int8 => self.primitive::<Int8Type>(column),
            T::Int16 => self.primitive::<Int16Type>(column),
            T::Int32 => self.primitive::<Int32Type>(column),
            T::Int64 => self.primitive::<Int64Type>(column),
            T::UInt8 => self.primitive::<UInt8Type>(column),
            T::UInt16 => self.primitive::<UInt16Type>(column),
            T::UInt32 => self.primitive::<UInt32Type>(column),
            T::UInt64 => self.primitive::<UInt64Type>(column),
            T::Dictionary(keys, _) => match **keys {
                T::Int8 => self.dictionary::<Int8Type>(column),
                T::Int16 => self.dictionary::<Int16Type>(column),
                T::Int32 => self.dictionary::<Int32Type>(column),
                T::Int64 => self.dictionary::<Int64Type>(column),
                T::UInt8 => self.dictionary::<UInt8Type>(column),
                T::UInt16 => self.dictionary::<UInt16Type>(column),
                T::UInt32 => self.dictionary::<UInt32Type>(column),
                T::UInt64 => self.dictionary::<UInt64Type>(column),
                _ => ControlFlow::Continue(()),
            },
            // Nothing but nulls; others were refused.
            _ => ControlFlow::Continue(()),
        }
    }

    fn primitive<T: ArrowPrimitiveType<Native: Integer>>(
        &mut self,
        column: &dyn Array,
    ) -> ControlFlow<()> {
        let column = column.as_primitive::<T>();
        self.numbers(column.iter().flatten().map(Integer::number))
    }

    /// Each place's value is looked up: the values are few.
    fn dictionary<K: ArrowDictionaryKeyType<Native: TryInto<usize>>>(
        &mut self,
        column: &dyn Array,
    ) -> ControlFlow<()> {
        let column = column.as_dictionary::<K>();
        let values = column.values().as_ref();
        use DataType as T;
        match values.data_type() {
            T::Utf8 => self.looked_up(column, |i| values.as_string::<i32>().value(i).as_bytes()),
            T::LargeUtf8 => {
                self.looked_up(column, |i| values.as_string::<i64>().value(i).as_bytes())
            }
            T::Utf8View => self.looked_up(column, |i| values.as_string_view().value(i).as_bytes()),
            T::Binary => self.looked_up(column, |i| values.as_binary::<i32>().value(i)),
            T::LargeBinary => self.looked_up(column, |i| values.as_binary::<i64>().value(i)),
            T::BinaryView => self.looked_up(column, |i| values.as_binary_view().value(i)),
            T::FixedSizeBinary(_) => {
                self.looked_up(column, |i| values.as_fixed_size_binary().value(i))
            }
            T::Int8 => self.looked_up_numbers::<K, Int8Type>(column),
            T::Int16 => self.looked_up_numbers::<K, Int16Type>(column),
            T::Int32 => self.looked_up_numbers::<K, Int32Type>(column),
            T::Int64 => self.looked_up_numbers::<K, Int64Type>(column),
            T::UInt8 => self.looked_up_numbers::<K, UInt8Type>(column),
            T::UInt16 => self.looked_up_numbers::<K, UInt16Type>(column),
            T::UInt32 => self.looked_up_numbers::<K, UInt32Type>(column),
            T::UInt64 => self.looked_up_numbers::<K, UInt64Type>(column),
            _ => ControlFlow::Continue(()),
        }
    }

    fn looked_up<'k, K: ArrowDictionaryKeyType<Native: TryInto<usize>>>(
        &mut self,
        column: &'k DictionaryArray<K>,
        value: impl Fn(usize) -> &'k [u8],
    ) -> ControlFlow<()> {
        self.slices(places(column).map(value))
    }

    fn looked_up_numbers<
        K: ArrowDictionaryKeyType<Native: TryInto<usize>>,
        T: ArrowPrimitiveType<Native: Integer>,
    >(
        &mut self,
        column: &DictionaryArray<K>,
    ) -> ControlFlow<()> {
        let values = column.values().as_primitive::<T>();
        self.numbers(places(column).map(|i| values.value(i).number()))
    }
}

/// Where the values of a dictionary column are, without nulls: of its places and of its values.
fn places<K: ArrowDictionaryKeyType<Native: TryInto<usize>>>(
    column: &DictionaryArray<K>,
) -> impl Iterator<Item = usize> {
    let values = column.values();
    let place = |key: K::Native| key.try_into().ok();
    column.keys().iter().flatten().filter_map(place).filter(|i| values.is_valid(*i))
}

/// An integer of a column, by its sign's type.
#[derive(Clone, Copy)]
enum Number {
    Signed(i64),
    Unsigned(u64),
}

impl Number {
    fn bits(self) -> u64 {
        match self {
            Number::Signed(number) => number.cast_unsigned(),
            Number::Unsigned(number) => number,
        }
    }
}

trait Integer {
    fn number(self) -> Number;
}

macro_rules! integers {
    ($($int:ty => $Sign:ident),*) => {$(
        impl Integer for $int {
            fn number(self) -> Number {
                Number::$Sign(self.into())
            }
        }
    )*};
}

integers!(i8 => Signed, i16 => Signed, i32 => Signed, i64 => Signed);
integers!(u8 => Unsigned, u16 => Unsigned, u32 => Unsigned, u64 => Unsigned);

impl TypedKeys for View<'_> {
    fn count(&self) -> Option<u64> {
        Some(self.len() as u64)
    }

    fn each(&self, each: &mut EachBatch<'_>) -> Result<(), HostError> {
        let mut pass = Pass { each, signals: Signals::new(), batches: 0, interrupted: None };
        if self.integers(&mut pass).is_none() {
            _ = match self {
                View::Fixed(rows) => pass.slices(rows.outer_iter().map(fixed)),
                View::Arrow(chunks) => {
                    chunks.iter().try_for_each(|chunk| pass.column(chunk.as_ref()))
                }
                _ => ControlFlow::Continue(()),
            };
        }
        pass.interrupted.map_or(Ok(()), Err)
    }
}

/// A byte string without the zeros that fill it up.
fn fixed<'k>(row: ArrayView1<'k, u8>) -> &'k [u8] {
    let bytes = row.to_slice().unwrap_or_default();
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &bytes[..used]
}
