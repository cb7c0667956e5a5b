//! Lookups as scalar functions of DataFusion, for its SQL and its data frames.
//!
//! ```text
//! table, snapshot ──▶ Compiled ──▶ lookup("origin", …)  ──▶ SELECT origin(src) FROM flows
//!                              └─▶ contains("known", …) ──▶ SELECT … WHERE known(src)
//! ```
//!
//! ```
//! use datafusion::prelude::SessionContext;
//! use fibula_arrow::{Compiled, Invalid};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let table = b"10.0.0.0/8 64500\n10.1.0.0/16 64501\n";
//! let tables = fibula_io::table::parse(table, &Default::default())?.tables;
//! let compiled = Arc::new(Compiled::of_tables(&tables)?);
//!
//! let context = SessionContext::new();
//! context.register_udf(fibula_datafusion::lookup("origin", compiled, Invalid::Null));
//! let found = context.sql("SELECT origin('10.1.2.3') = 64501 AS same").await?.collect().await?;
//! assert!(found[0].column(0).to_data().buffers()[0][0] == 1);
//! # Ok(())
//! # }
//! ```
//!
//! An argument is a column of any type that [`fibula_arrow`] reads addresses from; another type is
//! an error of the plan. Null gives null.

use arrow_array::{ArrayRef, new_empty_array, new_null_array};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use fibula_arrow::{Compiled, How, Values};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Returns a function `name(address)`: the value of the longest prefix that matches, of the type of
/// the table's values; null where none matches. Values of several fields are structs. O(1) a row.
///
/// [`How`], or [`Invalid`](fibula_arrow::Invalid) alone, says what is read as an address, and what
/// one that is none gives: null, or an error that names its row of a batch.
#[must_use]
pub fn lookup(name: &str, compiled: Arc<Compiled>, how: impl Into<How>) -> ScalarUDF {
    function(name, Question::Lookup, compiled, how.into())
}

/// Returns a function `name(address)`: whether any prefix matches. O(1) a row.
///
/// `how` is as [`lookup`]'s.
#[must_use]
pub fn contains(name: &str, compiled: Arc<Compiled>, how: impl Into<How>) -> ScalarUDF {
    function(name, Question::Contains, compiled, how.into())
}

fn function(name: &str, question: Question, compiled: Arc<Compiled>, how: How) -> ScalarUDF {
    let signature = Signature::any(1, Volatility::Immutable);
    let values = Values::structs(compiled.next_hops());
    ScalarUDF::from(Function { name: name.to_owned(), signature, question, compiled, values, how })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    Lookup,
    Contains,
}

#[derive(Debug)]
struct Function {
    name: String,
    signature: Signature,
    question: Question,
    compiled: Arc<Compiled>,
    values: Values,
    how: How,
}

impl Function {
    /// Returns the type of the answers.
    fn data_type(&self) -> DataType {
        match self.question {
            Question::Lookup => self.values.data_type().clone(),
            Question::Contains => DataType::Boolean,
        }
    }

    fn answer(&self, column: &ArrayRef) -> Result<ArrayRef> {
        if *column.data_type() == DataType::Null {
            return Ok(new_null_array(&self.data_type(), column.len()));
        }
        let answer = match self.question {
            Question::Lookup => fibula_arrow::lookup_counted(column, &*self.compiled, &self.how)
                .map(|(indices, _)| self.values.plain(&indices)),
            Question::Contains => fibula_arrow::contains(column, &*self.compiled, self.how.clone())
                .map(|contained| Arc::new(contained) as ArrayRef),
        };
        answer.map_err(|error| DataFusionError::Execution(format!("{}: {error}", self.name)))
    }
}

/// Two functions are one if they answer the same from the same compiled table.
impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        let is_same = (&self.name, self.question, &self.how) == (&other.name, other.question, &other.how);
        is_same && Arc::ptr_eq(&self.compiled, &other.compiled)
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, self.question, &self.how, Arc::as_ptr(&self.compiled)).hash(state);
    }
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Tells, as part of the plan, a column that holds no addresses.
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [address] = types else { return internal_err!("{} takes one address", self.name) };
        self.answer(&new_empty_array(address))?;
        Ok(self.data_type())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &*arguments.args {
            [ColumnarValue::Array(column)] => Ok(ColumnarValue::Array(self.answer(column)?)),
            [ColumnarValue::Scalar(address)] => {
                let answer = self.answer(&address.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&answer, 0)?))
            }
            _ => internal_err!("{} takes one address", self.name),
        }
    }
}
