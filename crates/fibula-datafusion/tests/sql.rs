//! The functions in SQL, on columns and literals, and what is wrong with them.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, StringViewArray, UInt32Array};
use datafusion::prelude::SessionContext;
use fibula_arrow::{Compiled, Embedded, How, Invalid};
use std::sync::Arc;

const ADDRESSES: [Option<&str>; 5] =
    [Some("10.1.2.3"), None, Some("10.2.3.4"), Some("192.0.2.1"), Some("2001:db8::1")];
const ORIGINS: [Option<u32>; 5] = [Some(64501), None, Some(64500), None, Some(64502)];

/// A context with the functions, and the tables `flows` (text), `views` and `numbers` (integers).
fn context(how: impl Into<How>) -> SessionContext {
    let how = how.into();
    let text = b"10.0.0.0/8 64500\n10.1.0.0/16 64501\n2001:db8::/32 64502\n";
    let tables = fibula_io::table::parse(text, &fibula_io::table::ReadOptions::default()).unwrap().tables;
    let compiled = Arc::new(Compiled::of_tables(&tables).unwrap());
    let context = SessionContext::new();
    context.register_udf(fibula_datafusion::lookup("origin", Arc::clone(&compiled), how.clone()));
    context.register_udf(fibula_datafusion::contains("known", compiled, how));
    let numbers = UInt32Array::from(vec![0x0A01_0203, 0x0A02_0304, 0xC000_0201]);
    let columns: [(&str, ArrayRef); 3] = [
        ("flows", Arc::new(StringArray::from(ADDRESSES.to_vec()))),
        ("views", Arc::new(StringViewArray::from(ADDRESSES.to_vec()))),
        ("numbers", Arc::new(numbers)),
    ];
    for (name, column) in columns {
        let batch = RecordBatch::try_from_iter_with_nullable([("src", column, true)]).unwrap();
        context.register_batch(name, batch).unwrap();
    }
    context
}

/// Returns the one column of a query's answer, or its error.
async fn ask(context: &SessionContext, query: &str) -> Result<ArrayRef, String> {
    let frame = context.sql(query).await.map_err(|error| error.to_string())?;
    let batches = frame.collect().await.map_err(|error| error.to_string())?;
    let [batch] = &*batches else { return Err(format!("{} batches", batches.len())) };
    Ok(Arc::clone(batch.column(0)))
}

#[tokio::test]
async fn columns_of_every_kind() {
    let context = context(Invalid::Error);
    for table in ["flows", "views"] {
        let found = ask(&context, &format!("SELECT origin(src) FROM {table}")).await.unwrap();
        let found: Vec<_> = found.as_primitive::<UInt32Type>().iter().collect();
        assert_eq!(found, ORIGINS, "{table}");
    }
    let found = ask(&context, "SELECT origin(src) FROM numbers").await.unwrap();
    let found: Vec<_> = found.as_primitive::<UInt32Type>().iter().collect();
    assert_eq!(found, [Some(64501), Some(64500), None]);
    let found = ask(&context, "SELECT known(src) FROM flows").await.unwrap();
    let found: Vec<_> = found.as_boolean().iter().collect();
    assert_eq!(found, [Some(true), None, Some(true), Some(false), Some(true)]);
}

#[tokio::test]
async fn literals_filters_and_groups() {
    let context = context(Invalid::Error);
    for (literal, origin) in [("'10.1.2.3'", Some(64501)), ("'::1'", None), ("NULL", None)] {
        let found = ask(&context, &format!("SELECT origin({literal})")).await.unwrap();
        let found: Vec<_> = found.as_primitive::<UInt32Type>().iter().collect();
        assert_eq!(found, [origin], "{literal}");
    }
    let found = ask(&context, "SELECT src FROM flows WHERE known(src) ORDER BY origin(src)").await.unwrap();
    assert_eq!(found.len(), 3);
    assert_eq!(found.as_string::<i32>().value(0), "10.2.3.4");
    let query = "SELECT count(*) FROM flows GROUP BY origin(src) HAVING origin(src) = 64500";
    assert_eq!(ask(&context, query).await.unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_no_address_is_null_or_an_error_and_another_type_one_of_the_plan() {
    let error = ask(&context(Invalid::Error), "SELECT origin('nobody')").await.unwrap_err();
    assert!(error.contains("\"nobody\" is not an IPv4 or IPv6 address"), "{error}");
    let found = ask(&context(Invalid::Null), "SELECT origin('nobody')").await.unwrap();
    assert!(found.is_null(0));
    let how = How { clean: true, embedded: Embedded::mapped(), ..How::default() };
    let found = ask(&context(how), "SELECT origin('[::ffff:10.1.2.3]:53')").await.unwrap();
    assert_eq!(found.as_primitive::<UInt32Type>().value(0), 64501);
    let error = context(Invalid::Null).sql("SELECT origin(1.5)").await.unwrap_err().to_string();
    assert!(error.contains("holds no addresses"), "{error}");
}
