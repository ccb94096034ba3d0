//! Input that is bad on purpose: an answer or an error, and never a panic.

#[cfg(test)]
mod tests {
    use arrow::array::RecordBatch;
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

    fn hex(text: &str) -> String {
        let digits: Vec<String> = text.bytes().map(|byte| format!("{byte:02x}")).collect();
        digits.concat()
    }
}
