//! `INSERT INTO t FORMAT CSV 1,"a"`: data after the name of their format, which need not be tokens of SQL.

/// `INSERT INTO t FORMAT CSV` and the data after it, which go on to the end of the text; `None` if there are none.
pub fn split_data(sql: &str) -> Option<(&str, &str)> {
    let mut words = Words { text: sql, at: 0 };
    if !words.next()?.eq_ignore_ascii_case("INSERT") {
        return None;
    }
    loop {
        let word = words.next()?;
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        if is("VALUES") || is("SELECT") || is("WITH") || is("FROM") {
            return None;
        }
        if is("FORMAT") {
            break;
        }
    }
    // Rows of VALUES are SQL.
    if words.next()?.eq_ignore_ascii_case("VALUES") {
        return None;
    }
    let (statement, data) = sql.split_at_checked(words.at)?;
    let data = data.trim_start_matches([' ', '\t', '\u{c}']);
    let data = data.strip_prefix('\r').unwrap_or(data);
    let data = data.strip_prefix('\n').unwrap_or(data);
    let is_over = data.trim_start().is_empty() || data.trim_start().starts_with(';');
    (!is_over && !data.starts_with("--")).then_some((statement, data))
}

/// Bare words outside of parentheses, quotes and comments.
struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let mut depth = 0_usize;
        loop {
            let rest = self.text.get(self.at..)?;
            let first = rest.chars().next()?;
            let is_part = |it: char| it.is_alphanumeric() || it == '_';
            let length = match first {
                '\'' | '"' | '`' => quoted(rest, first)?,
                '-' if rest.starts_with("--") => rest.find('\n')?,
                '/' if rest.starts_with("/*") => rest.find("*/")? + 2,
                '(' => {
                    depth += 1;
                    1
                }
                ')' => {
                    depth = depth.saturating_sub(1);
                    1
                }
                it if is_part(it) => {
                    let length = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
                    if depth == 0 {
                        self.at += length;
                        return rest.get(..length);
                    }
                    length
                }
                other => other.len_utf8(),
            };
            self.at += length;
        }
    }
}

/// The length of what is in quotes.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == quote {
            return Some(at + 1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::split_data;

    #[test]
    fn data_begin_after_the_name_of_the_format() {
        let json = "INSERT INTO t (a, `format`) FORMAT JSONEachRow {\"a\": 1}\n{\"a\": 2}";
        let (statement, data) = split_data(json).unwrap();
        assert_eq!(statement, "INSERT INTO t (a, `format`) FORMAT JSONEachRow");
        assert_eq!(data, "{\"a\": 1}\n{\"a\": 2}");
        assert_eq!(split_data("/* x */ insert into t format TSV\n\tit's\n").unwrap().1, "\tit's\n");
        assert_eq!(split_data("INSERT INTO t FORMAT CSV \n 1").unwrap().1, " 1");
    }

    #[test]
    fn other_statements_have_none() {
        for text in [
            "INSERT INTO t FORMAT CSV",
            "INSERT INTO t FORMAT CSV ;\n",
            "INSERT INTO t FORMAT CSV; SELECT 1",
            "INSERT INTO t FORMAT Values (1)",
            "INSERT INTO t VALUES (1)",
            "INSERT INTO t SELECT 1 FORMAT CSV",
            "INSERT INTO t (format) SELECT 1",
            "SELECT 1 FORMAT CSV x",
            "",
        ] {
            assert_eq!(split_data(text), None, "{text}");
        }
    }
}
