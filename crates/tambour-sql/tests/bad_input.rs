//! Input that is bad on purpose: an answer or an error, and never a panic.

#[cfg(test)]
mod tests {
    use arrow::array::RecordBatch;
    use arrow::util::display::{ArrayFormatter, FormatOptions};
    use std::sync::{Arc, Mutex};
    use tambour_sql::{Session, SessionOptions, SqlError};

    /// The number of rows of an answer, on a stack as deep as the command line's.
    fn rows_with(options: &SessionOptions, query: &str) -> Result<usize, SqlError> {
        let (options, query) = (options.clone(), query.to_owned());
        let work = move || -> Result<usize, SqlError> {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let session = Session::new(&options)?;
                let mut execution = session.sql(&query).await?.execute().await?;
                Ok(execution.collect().await?.iter().map(RecordBatch::num_rows).sum())
            })
        };
        std::thread::Builder::new().stack_size(8 << 20).spawn(work).unwrap().join().unwrap()
    }

    fn rows(query: &str) -> Result<usize, SqlError> {
        rows_with(&SessionOptions::default(), query)
    }

    #[test]
    fn exponential_patterns_take_linear_time() {
        let text = "a".repeat(30_000);
        for pattern in ["(a*)*b", "(a|aa)+$", "(a+)+b", "(.*)(.*)(.*)(.*)x"] {
            for call in ["match", "extract", "countMatches"] {
                let query = format!("SELECT {call}('{text}', '{pattern}')");
                assert_eq!(rows(&query).ok(), Some(1), "{call} {pattern}");
            }
        }
        // Too large for the machine that matches: an error.
        assert!(rows("SELECT match('a', '((a{1000}){1000}){1000}')").is_err());
    }

    #[test]
    fn a_hundred_levels_of_parentheses() {
        let query = format!("SELECT {}1{}", "(".repeat(100), ")".repeat(100));
        assert_eq!(rows(&query).ok(), Some(1));
    }

    #[test]
    fn a_hundred_levels_of_functions() {
        let query = format!("SELECT {}-1{}", "abs(".repeat(100), ")".repeat(100));
        assert!(rows(&query).is_ok_and(|rows| rows == 1));
    }

    #[test]
    fn a_hundred_levels_of_queries() {
        let mut query = "SELECT 1 AS a".to_owned();
        for _ in 0..100 {
            query = format!("SELECT a FROM ({query})");
        }
        // What is too deep is told so.
        if let Err(error) = rows(&query) {
            assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn thousands_of_levels_are_an_error() {
        for (open, close) in [("(", ")"), ("[", "]"), ("abs(", ")"), ("(SELECT ", ")")] {
            let query = format!("SELECT {}1{}", open.repeat(5_000), close.repeat(5_000));
            assert!(rows(&query).is_err(), "{open}");
        }
    }

    #[test]
    fn a_query_of_a_megabyte() {
        let query = format!("SELECT length('{}')", "x".repeat(1 << 20));
        assert_eq!(rows(&query).ok(), Some(1));
        let list: Vec<String> = (0..150_000).map(|number| number.to_string()).collect();
        let query = format!("SELECT number FROM numbers(10) WHERE number IN ({})", list.join(", "));
        assert!(query.len() > 1 << 20);
        assert_eq!(rows(&query).ok(), Some(10));
    }

    #[test]
    fn a_trillion_numbers_and_a_limit() {
        assert_eq!(rows("SELECT * FROM numbers(1000000000000) LIMIT 5").ok(), Some(5));
        assert_eq!(
            rows("SELECT number * 2 FROM numbers(1000000000000) WHERE number % 3 = 1 LIMIT 5").ok(),
            Some(5)
        );
    }

    #[test]
    fn groups_that_do_not_fit_into_memory_are_an_error_or_spill() {
        let options =
            SessionOptions { memory_bytes: Some(8 << 20), threads: 2, ..SessionOptions::default() };
        let query =
            "SELECT count() FROM (SELECT number AS k, count() FROM numbers(1000000) GROUP BY k)";
        match rows_with(&options, query) {
            Ok(rows) => assert_eq!(rows, 1),
            Err(error) => {
                let mut text = error.to_string();
                let mut cause = std::error::Error::source(&error);
                while let Some(inner) = cause {
                    text += &format!(" {inner}");
                    cause = inner.source();
                }
                assert!(text.to_lowercase().contains("memory"), "{text}");
            }
        }
        // With enough of it the answer is the same as ever.
        assert_eq!(rows(query).ok(), Some(1));
    }

    #[test]
    fn json_that_is_no_json() {
        for json in ["", "{", "nonsense", "{\"a\":", "[1,2", "\\xFF", "{\"a\":1}{"] {
            for call in [
                "JSONExtractInt({}, 'a')",
                "JSONHas({}, 'a')",
                "JSONLength({})",
                "JSONExtractRaw({})",
                "isValidJSON({})",
                "simpleJSONExtractInt({}, 'a')",
                "JSONExtract({}, 'a', 'Array(UInt8)')",
            ] {
                let query =
                    format!("SELECT {}", call.replace("{}", &format!("unhex('{}')", hex(json))));
                assert_eq!(rows(&query).ok(), Some(1), "{query}");
            }
        }
    }

    /// Arguments that no function was made for: bytes that are not UTF-8, NULLs, and values of any type.
    const ODD: &[&str] = &[
        "",
        "NULL",
        "unhex('ff6180')",
        "text, unhex('c3')",
        "text, NULL",
        "[1, 2], text",
        "text, -9223372036854775808",
        "text, text, text",
        "nan, -inf, 18446744073709551615",
    ];

    #[test]
    fn every_function_takes_odd_arguments() {
        let panics = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&panics);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| seen.lock().unwrap().push(info.to_string())));
        let work = || {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
            runtime.block_on(odd_calls(&panics))
        };
        let thread = std::thread::Builder::new().stack_size(8 << 20);
        let outcome = std::thread::scope(|scope| thread.spawn_scoped(scope, work).unwrap().join());
        std::panic::set_hook(before);
        let (calls, answered, bad) = outcome.unwrap();
        assert!(bad.is_empty(), "{bad:#?}");
        assert!(calls > 9_000 && answered > calls / 20, "{answered} of {calls} answered");
    }

    /// Calls of all functions, how many were answered, and those that panicked.
    async fn odd_calls(panics: &Mutex<Vec<String>>) -> (usize, usize, Vec<String>) {
        let session = Arc::new(Session::new(&SessionOptions::default()).unwrap());
        let names = texts(&session, "SELECT name FROM system.functions").await.unwrap();
        let (mut calls, mut answered, mut bad) = (0, 0, Vec::new());
        for name in names.iter().filter(|name| !name.starts_with("sleep")) {
            for arguments in ODD {
                let query = format!(
                    "SELECT toString({name}({arguments})) FROM \
                     (SELECT arrayJoin([unhex('ff61'), 'a', '']) AS text)"
                );
                let call = tokio::spawn({
                    let (session, query) = (Arc::clone(&session), query.clone());
                    async move { texts(&session, &query).await.is_ok() }
                });
                answered += usize::from(call.await.unwrap_or(false));
                calls += 1;
                bad.extend(panics.lock().unwrap().drain(..).map(|it| format!("{query}: {it}")));
            }
        }
        (calls, answered, bad)
    }

    /// The first column of an answer.
    async fn texts(session: &Session, query: &str) -> Result<Vec<String>, SqlError> {
        let mut execution = session.sql(query).await?.execute().await?;
        let batches = execution.collect().await?;
        let options = FormatOptions::default();
        let mut found = Vec::new();
        for batch in &batches {
            let values = ArrayFormatter::try_new(batch.column(0), &options).unwrap();
            found.extend((0..batch.num_rows()).map(|row| values.value(row).to_string()));
        }
        Ok(found)
    }

    fn hex(text: &str) -> String {
        let digits: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        digits.concat()
    }
}
