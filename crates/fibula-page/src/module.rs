//! The boundary to the browser, in WebAssembly: bytes in, bytes out.
//!
//! JavaScript asks for [`room`], writes there, calls [`read`] or [`ask`], and copies the output.
//! There is one thread. The names are the module's own: C has a `read` already.
#![allow(unsafe_code, reason = "names that JavaScript finds; no input is trusted")]

use crate::{Pictures, Shown, answer, plain_name};
use fibula_io::Budget;
use fibula_io::table::{ReadOptions, parse};
use std::sync::{Mutex, MutexGuard, PoisonError};

static STATE: Mutex<State> = Mutex::new(State {
    input: Vec::new(),
    output: Vec::new(),
    total: -1,
    tables: Vec::new(),
    pictures: None,
});

struct State {
    input: Vec<u8>,
    output: Vec<u8>,
    /// How many rows there are, of which the output may have some; -1 if that was not asked.
    total: i32,
    tables: Vec<Shown>,
    pictures: Option<Pictures>,
}

/// What a table may take: half of the memory that there can be.
const MEMORY: u64 = 2 << 30;

/// What a call returns.
const GOOD: i32 = 0;
const TRUNCATED: i32 = 1;
const REFUSED: i32 = -1;

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn put(&mut self, result: Result<crate::Answer, String>) -> i32 {
        let total = result.as_ref().ok().and_then(|answer| answer.total);
        self.total = total.and_then(|total| total.try_into().ok()).unwrap_or(-1);
        let (output, status) = match result {
            Ok(answer) => (answer.body, if answer.is_truncated { TRUNCATED } else { GOOD }),
            Err(what) => (what.into_bytes(), REFUSED),
        };
        self.output = output;
        status
    }
}

/// Makes room for the input, and returns where.
#[unsafe(export_name = "fibula_room")]
extern "C" fn room(bytes: usize) -> *mut u8 {
    let mut state = state();
    state.input = vec![0; bytes];
    state.input.as_mut_ptr()
}

/// Reads the input as a file, whose name its first `name` bytes are. It replaces a table of the
/// same name, and the output is its name as questions call it.
#[unsafe(export_name = "fibula_read")]
extern "C" fn read(name: usize) -> i32 {
    let mut state = state();
    let input = std::mem::take(&mut state.input);
    let (name, file) = input.split_at(name.min(input.len()));
    let name = plain_name(&String::from_utf8_lossy(name));
    let generation = state.tables.iter().map(|shown| shown.generation).max().unwrap_or(0) + 1;
    let budget = Budget { memory: MEMORY, routes: u64::MAX };
    let options = ReadOptions { budget: Some(budget), ..ReadOptions::default() };
    let result = match parse(file, &options) {
        Ok(loaded) => {
            drop(input);
            state.tables.retain(|shown| shown.name != name);
            state.tables.push(Shown::new(&name, generation, loaded));
            Ok(crate::Answer { body: name.into_bytes(), is_truncated: false, total: None })
        }
        Err(error) => Err(error.to_string()),
    };
    state.put(result)
}

/// Answers the input, a question with its path and parameters.
#[unsafe(export_name = "fibula_ask")]
extern "C" fn ask() -> i32 {
    let mut state = state();
    let input = std::mem::take(&mut state.input);
    let State { tables, pictures, .. } = &mut *state;
    let pictures = pictures.get_or_insert_default();
    let result = answer(tables, pictures, &String::from_utf8_lossy(&input));
    state.put(result)
}

/// Returns where the output is, until the next call.
#[unsafe(export_name = "fibula_output")]
extern "C" fn output() -> *const u8 {
    state().output.as_ptr()
}

/// Returns the bytes of the output.
#[unsafe(export_name = "fibula_output_bytes")]
extern "C" fn output_bytes() -> usize {
    state().output.len()
}

/// Returns how many rows there are to the last question; -1 if it did not ask that.
#[unsafe(export_name = "fibula_total")]
extern "C" fn total() -> i32 {
    state().total
}
