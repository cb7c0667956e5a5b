//! The boundary to DuckDB, with all of the crate's `unsafe` code. What it offers is safe:
//! [`vectors`] know their types and lengths, and check both.
//!
//! DuckDB calls the functions here with pointers that are valid for the call. It owns what they
//! point to. What it is handed for longer (bind and init data) goes back to a destructor. A
//! panic becomes an error of the query.

use crate::function::{Scalar, Table};
use libduckdb_sys as sys;
use std::ffi::{CStr, CString, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock, PoisonError};

pub(crate) use sys::duckdb_hugeint as HugeInt;

/// The version of DuckDB's functions that is asked for: every release from 1.2 on has it.
const VERSION: &CStr = c"v1.2.0";

/// DuckDB's functions. Those that [`VERSION`] does not have are `None`.
static FUNCTIONS: OnceLock<sys::duckdb_ext_api_v1> = OnceLock::new();

/// Calls a function of DuckDB's.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        match $crate::duckdb::FUNCTIONS.get().and_then(|functions| functions.$name) {
            Some(function) => function($($argument),*),
            None => unreachable!("DuckDB has this function since version 1.2"),
        }
    };
}

// After `call!`, which it uses.
mod vectors;

pub(crate) use vectors::{Number, Output, Texts, Vector};

/// Copies the functions of [`VERSION`]: DuckDB frees its table of them once the extension is
/// loaded.
///
/// # Safety
/// `table` is DuckDB's.
unsafe fn copied(table: *const c_void) -> sys::duckdb_ext_api_v1 {
    /// What follows differs between releases, and so does the length of the table.
    const BYTES: usize = offset_of!(sys::duckdb_ext_api_v1, duckdb_create_instance_cache);
    let mut functions = MaybeUninit::<sys::duckdb_ext_api_v1>::zeroed();
    // SAFETY: zeros are `None` in each entry, and each release from 1.2 on has the entries before
    // that.
    unsafe {
        table.cast::<u8>().copy_to_nonoverlapping(functions.as_mut_ptr().cast(), BYTES);
        functions.assume_init()
    }
}

/// Called by DuckDB when it loads the extension. Returns whether that went well.
///
/// # Safety
/// DuckDB calls it with pointers that are valid for the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fibula_init_c_api(
    info: sys::duckdb_extension_info,
    access: *const sys::duckdb_extension_access,
) -> bool {
    // SAFETY: the pointers are valid, as the caller promises, and DuckDB sets all three functions.
    unsafe {
        let (Some(get_api), Some(get_database), Some(set_error)) =
            ((*access).get_api, (*access).get_database, (*access).set_error)
        else {
            return false;
        };
        let table = get_api(info, VERSION.as_ptr());
        if table.is_null() {
            return false; // DuckDB is older, and has set the error
        }
        FUNCTIONS.get_or_init(|| copied(table));
        let mut connection = null_mut();
        if call!(duckdb_connect(*get_database(info), &raw mut connection)) != sys::DuckDBSuccess {
            set_error(info, c"fibula cannot connect to the database".as_ptr());
            return false;
        }
        let registered = guarded(|| crate::register(&Database(connection)));
        call!(duckdb_disconnect(&raw mut connection));
        if let Err(error) = &registered {
            set_error(info, terminated(error).as_ptr());
        }
        registered.is_ok()
    }
}

/// Calls `function`, and makes an error of a panic: none may reach DuckDB.
fn guarded<R>(function: impl FnOnce() -> Result<R, String>) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(function)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given");
        Err(format!("fibula panicked: {said}"))
    })
}

/// Returns a text for C, up to a zero byte.
fn terminated(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

/// Hands a value to DuckDB, which gives it back to [`dropped`].
fn handed<T: Send>(value: T) -> *mut c_void {
    Box::into_raw(Box::new(value)).cast()
}

/// Called by DuckDB, once, with what [`handed`] made of the same type.
unsafe extern "C" fn dropped<T>(value: *mut c_void) {
    // SAFETY: as said above.
    drop(unsafe { Box::from_raw(value.cast::<T>()) });
}

/// A type in SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    Boolean,
    UTinyInt,
    UInteger,
    BigInt,
    UBigInt,
    Double,
    HugeInt,
    USmallInt,
    Varchar,
    Blob,
    /// `STRUCT(ip_type UTINYINT, address HUGEINT, mask USMALLINT)`.
    InetStruct,
    /// The type of the extension `inet`: the same under a name of its own.
    Inet,
}

impl Type {
    /// DuckDB's number of the type.
    fn id(self) -> sys::DUCKDB_TYPE {
        match self {
            Self::Boolean => sys::DUCKDB_TYPE_DUCKDB_TYPE_BOOLEAN,
            Self::UTinyInt => sys::DUCKDB_TYPE_DUCKDB_TYPE_UTINYINT,
            Self::UInteger => sys::DUCKDB_TYPE_DUCKDB_TYPE_UINTEGER,
            Self::BigInt => sys::DUCKDB_TYPE_DUCKDB_TYPE_BIGINT,
            Self::UBigInt => sys::DUCKDB_TYPE_DUCKDB_TYPE_UBIGINT,
            Self::Double => sys::DUCKDB_TYPE_DUCKDB_TYPE_DOUBLE,
            Self::HugeInt => sys::DUCKDB_TYPE_DUCKDB_TYPE_HUGEINT,
            Self::USmallInt => sys::DUCKDB_TYPE_DUCKDB_TYPE_USMALLINT,
            Self::Varchar => sys::DUCKDB_TYPE_DUCKDB_TYPE_VARCHAR,
            Self::Blob => sys::DUCKDB_TYPE_DUCKDB_TYPE_BLOB,
            Self::InetStruct | Self::Inet => sys::DUCKDB_TYPE_DUCKDB_TYPE_STRUCT,
        }
    }
}

/// A type, as DuckDB's functions take it.
struct LogicalType(sys::duckdb_logical_type);

impl LogicalType {
    fn of(wanted: Type) -> Self {
        // SAFETY: there are as many types as names, and DuckDB copies both.
        unsafe {
            if !matches!(wanted, Type::InetStruct | Type::Inet) {
                return Self(call!(duckdb_create_logical_type(wanted.id())));
            }
            let fields = [Type::UTinyInt, Type::HugeInt, Type::USmallInt].map(Self::of);
            let mut types = fields.each_ref().map(|field| field.0);
            let mut names = [c"ip_type", c"address", c"mask"].map(CStr::as_ptr);
            let (types, names, count) = (types.as_mut_ptr(), names.as_mut_ptr(), fields.len() as u64);
            let inet = call!(duckdb_create_struct_type(types, names, count));
            if wanted == Type::Inet {
                call!(duckdb_logical_type_set_alias(inet, c"INET".as_ptr()));
            }
            Self(inet)
        }
    }
}

impl Drop for LogicalType {
    fn drop(&mut self) {
        // SAFETY: the type was created by `of`, and nobody else destroys it.
        unsafe { call!(duckdb_destroy_logical_type(&raw mut self.0)) }
    }
}

/// A connection to the database that loads the extension.
pub(crate) struct Database(sys::duckdb_connection);

impl Database {
    /// Makes `S` a function.
    pub(crate) fn add_scalar<S: Scalar>(&self) -> Result<(), String> {
        let (first, returns) = (LogicalType::of(S::FIRST), LogicalType::of(S::RETURNS));
        // SAFETY: what is handed over was created here, and DuckDB copies it.
        unsafe {
            let mut set = call!(duckdb_create_scalar_function_set(S::NAME.as_ptr()));
            for &second in S::SECOND {
                let mut function = call!(duckdb_create_scalar_function());
                call!(duckdb_scalar_function_set_name(function, S::NAME.as_ptr()));
                call!(duckdb_scalar_function_add_parameter(function, first.0));
                for rest in [Some(second), S::THIRD].into_iter().flatten() {
                    call!(duckdb_scalar_function_add_parameter(function, LogicalType::of(rest).0));
                }
                call!(duckdb_scalar_function_set_return_type(function, returns.0));
                call!(duckdb_scalar_function_set_function(function, Some(call_scalar::<S>)));
                call!(duckdb_add_scalar_function_to_set(set, function));
                call!(duckdb_destroy_scalar_function(&raw mut function));
            }
            let state = call!(duckdb_register_scalar_function_set(self.0, set));
            call!(duckdb_destroy_scalar_function_set(&raw mut set));
            registered(state, S::NAME)
        }
    }

    /// Makes `T` a function.
    pub(crate) fn add_table<T: Table>(&self) -> Result<(), String> {
        let text = LogicalType::of(Type::Varchar);
        // SAFETY: what is handed over was created here, and DuckDB copies it.
        unsafe {
            let mut function = call!(duckdb_create_table_function());
            call!(duckdb_table_function_set_name(function, T::NAME.as_ptr()));
            call!(duckdb_table_function_add_parameter(function, text.0));
            call!(duckdb_table_function_add_named_parameter(function, T::OPTION.as_ptr(), text.0));
            call!(duckdb_table_function_set_bind(function, Some(bind_table::<T>)));
            call!(duckdb_table_function_set_init(function, Some(begin_table::<T>)));
            call!(duckdb_table_function_set_function(function, Some(fill_table::<T>)));
            let state = call!(duckdb_register_table_function(self.0, function));
            call!(duckdb_destroy_table_function(&raw mut function));
            registered(state, T::NAME)
        }
    }
}

fn registered(state: sys::duckdb_state, name: &CStr) -> Result<(), String> {
    if state == sys::DuckDBSuccess {
        Ok(())
    } else {
        Err(format!("{} cannot be registered", name.to_string_lossy()))
    }
}

/// Called by DuckDB for a chunk of rows.
unsafe extern "C" fn call_scalar<S: Scalar>(
    info: sys::duckdb_function_info,
    input: sys::duckdb_data_chunk,
    output: sys::duckdb_vector,
) {
    // SAFETY: DuckDB hands over a flat chunk of the columns that were registered, and a flat vector
    // with as many rows.
    unsafe {
        let answered = guarded(|| {
            let rows = call!(duckdb_data_chunk_get_size(input)) as usize;
            let columns = 0..call!(duckdb_data_chunk_get_column_count(input));
            let column = |at| Vector::new(call!(duckdb_data_chunk_get_vector(input, at)), rows);
            let columns: Vec<Vector<'_>> = columns.map(column).collect();
            S::call(&columns, &mut Output::new(output, rows))
        });
        if let Err(error) = answered {
            call!(duckdb_scalar_function_set_error(info, terminated(&error).as_ptr()));
        }
    }
}

/// Takes the text of an argument; `None` if it is null or was not given.
///
/// # Safety
/// `value` is null or a value of DuckDB's that nobody else destroys.
unsafe fn taken(mut value: sys::duckdb_value) -> Option<String> {
    if value.is_null() {
        return None;
    }
    // SAFETY: as the caller promises. The text is DuckDB's until it is freed.
    unsafe {
        let is_null = call!(duckdb_is_null_value(value));
        let text = if is_null { null_mut() } else { call!(duckdb_get_varchar(value)) };
        call!(duckdb_destroy_value(&raw mut value));
        if text.is_null() {
            return None;
        }
        let owned = CStr::from_ptr(text).to_string_lossy().into_owned();
        call!(duckdb_free(text.cast()));
        Some(owned)
    }
}

/// Called by DuckDB to learn the columns.
unsafe extern "C" fn bind_table<T: Table>(info: sys::duckdb_bind_info) {
    // SAFETY: `info` is valid for the call. DuckDB copies names and types. What is asked goes back
    // to the destructor of its type.
    unsafe {
        let argument = taken(call!(duckdb_bind_get_parameter(info, 0)));
        let option = taken(call!(duckdb_bind_get_named_parameter(info, T::OPTION.as_ptr())));
        match guarded(|| T::bind(argument, option)) {
            Ok(asked) => {
                for (name, column) in T::columns(&asked) {
                    let (name, column) = (terminated(name), LogicalType::of(column));
                    call!(duckdb_bind_add_result_column(info, name.as_ptr(), column.0));
                }
                call!(duckdb_bind_set_bind_data(info, handed(asked), Some(dropped::<T::Asked>)));
            }
            Err(error) => call!(duckdb_bind_set_error(info, terminated(&error).as_ptr())),
        }
    }
}

/// Called by DuckDB when a query begins.
unsafe extern "C" fn begin_table<T: Table>(info: sys::duckdb_init_info) {
    // SAFETY: `info` is valid for the call, and has what `bind_table` handed over. The rows go back
    // to the destructor of their type.
    unsafe {
        let asked = &*call!(duckdb_init_get_bind_data(info)).cast::<T::Asked>();
        match guarded(|| Ok(T::begin(asked))) {
            Ok(rows) => {
                let rows = handed(Mutex::new(rows));
                call!(duckdb_init_set_init_data(info, rows, Some(dropped::<Mutex<T::Rows>>)));
            }
            Err(error) => call!(duckdb_init_set_error(info, terminated(&error).as_ptr())),
        }
    }
}

/// Called by DuckDB for the next rows. A chunk without rows is the end.
unsafe extern "C" fn fill_table<T: Table>(info: sys::duckdb_function_info, output: sys::duckdb_data_chunk) {
    // SAFETY: `info` has what `bind_table` and `begin_table` handed over. The chunk has the columns
    // that `bind_table` named, with room for as many rows as a vector has.
    unsafe {
        let filled = guarded(|| {
            let asked = &*call!(duckdb_function_get_bind_data(info)).cast::<T::Asked>();
            let rows = &*call!(duckdb_function_get_init_data(info)).cast::<Mutex<T::Rows>>();
            let most = call!(duckdb_vector_size()) as usize;
            let columns = 0..call!(duckdb_data_chunk_get_column_count(output));
            let output = |at| Output::new(call!(duckdb_data_chunk_get_vector(output, at)), most);
            let mut columns: Vec<Output<'_>> = columns.map(output).collect();
            T::fill(asked, &mut rows.lock().unwrap_or_else(PoisonError::into_inner), most, &mut columns)
        });
        match filled {
            Ok(count) => call!(duckdb_data_chunk_set_size(output, count as u64)),
            Err(error) => call!(duckdb_function_set_error(info, terminated(&error).as_ptr())),
        }
    }
}
