//! The extension as SQLite loads it: this program has an SQLite of its own, which knows nothing of the VFS before.

#![expect(unsafe_code, reason = "loading is a call of C")]

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, OpenFlags, ffi};
    use std::ffi::{CStr, CString};
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::OnceLock;

    /// Builds the library, which cargo does not do for the tests of its own package, and tells where it is.
    fn library() -> &'static Path {
        static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
        LIBRARY.get_or_init(|| {
            let output = Command::new(env!("CARGO"))
                .args(["build", "--quiet", "--locked", "--package", "tambour-sqlite-extension"])
                .arg("--message-format=json")
                .current_dir(env!("CARGO_MANIFEST_DIR"))
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let messages = String::from_utf8(output.stdout).unwrap();
            let files = messages.lines().filter_map(|line| {
                let message: serde_json::Value = serde_json::from_str(line).ok()?;
                message["filenames"].as_array().cloned()
            });
            let mut files = files.flatten().filter_map(|file| file.as_str().map(PathBuf::from));
            let name = format!(
                "{}tambour_sqlite{}",
                std::env::consts::DLL_PREFIX,
                std::env::consts::DLL_SUFFIX
            );
            files.find(|file| file.file_name().is_some_and(|found| *found == *name)).unwrap()
        })
    }

    /// Loads the library by an entry point, or by what SQLite finds itself.
    fn load(connection: &Connection, entry: Option<&CStr>) -> Result<(), String> {
        let path = CString::new(library().to_str().unwrap()).unwrap();
        let entry = entry.map_or(std::ptr::null(), CStr::as_ptr);
        let mut message = std::ptr::null_mut();
        // SAFETY: the connection lives longer than the handle.
        let handle = unsafe { connection.handle() };
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_enable_load_extension(handle, 1) };
        // SAFETY: the connection is open; both texts end with a zero byte.
        let code =
            unsafe { ffi::sqlite3_load_extension(handle, path.as_ptr(), entry, &raw mut message) };
        if code == ffi::SQLITE_OK {
            return Ok(());
        }
        // SAFETY: SQLite leaves a message with every error of this call.
        Err(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned())
    }

    fn open(path: &Path) -> Connection {
        let uri = format!("file:{}?vfs=tambour", path.display());
        Connection::open_with_flags(uri, OpenFlags::default()).unwrap()
    }

    #[test]
    fn loads_by_every_entry_point_and_again_and_stays() {
        let one = Connection::open_in_memory().unwrap();
        let entries = [
            None,
            Some(c"sqlite3_extension_init"),
            Some(c"sqlite3_tamboursqlite_init"),
            Some(c"sqlite3_tambour_init"),
        ];
        for entry in entries.into_iter().chain(entries) {
            load(&one, entry).unwrap();
        }
        // The VFS is there when the connection that loaded it is gone.
        drop(one);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("drums.db");
        let connection = open(&path);
        connection
            .execute_batch("CREATE TABLE drum (name TEXT); INSERT INTO drum VALUES ('snare')")
            .unwrap();
        load(&connection, None).unwrap();
        let copy = directory.path().join("copy.db");
        connection
            .execute_batch(&format!("VACUUM INTO 'file:{}?vfs=tambour'", copy.display()))
            .unwrap();
        // A name alone means the VFS of the connection; a plain file has to be asked for.
        let (beside, plain) =
            (directory.path().join("beside.db"), directory.path().join("plain.db"));
        connection
            .execute_batch(&format!(
                "VACUUM INTO '{}'; VACUUM INTO 'file:{}?vfs=unix'",
                beside.display(),
                plain.display()
            ))
            .unwrap();
        assert_eq!(&std::fs::read(&plain).unwrap()[..15], b"SQLite format 3");
        let other = directory.path().join("other.db");
        connection
            .execute_batch(&format!(
                "ATTACH 'file:{}?vfs=unix' AS plain; ATTACH '{}' AS other; \
                 CREATE TABLE other.drum AS SELECT * FROM plain.drum",
                plain.display(),
                other.display()
            ))
            .unwrap();
        drop(connection);
        for path in [&path, &copy, &beside, &other] {
            assert_eq!(&std::fs::read(path).unwrap()[..8], b"TAMBPAGE");
            let name: String =
                open(path).query_row("SELECT name FROM drum", [], |row| row.get(0)).unwrap();
            assert_eq!(name, "snare");
        }
    }

    /// A table of routines of an SQLite that is too old; only the places that are asked for are filled.
    #[test]
    fn an_older_sqlite_is_told_what_it_takes() {
        type Entry = unsafe extern "C" fn(
            *mut ffi::sqlite3,
            *mut *mut std::ffi::c_char,
            *const *const std::ffi::c_void,
        ) -> std::ffi::c_int;
        unsafe extern "C" {
            fn dlopen(path: *const std::ffi::c_char, flags: i32) -> *mut std::ffi::c_void;
            fn dlsym(
                library: *mut std::ffi::c_void,
                name: *const std::ffi::c_char,
            ) -> *mut std::ffi::c_void;
        }
        extern "C" fn version() -> *const std::ffi::c_char {
            c"3.8.2".as_ptr()
        }
        extern "C" fn number() -> i32 {
            3_008_002
        }
        let mut routines = [std::ptr::null::<std::ffi::c_void>(); 100];
        routines[66] = (version as extern "C" fn() -> *const std::ffi::c_char) as *const _;
        routines[67] = (number as extern "C" fn() -> i32) as *const _;
        routines[68] = (ffi::sqlite3_malloc as unsafe extern "C" fn(i32) -> _) as *const _;
        let path = CString::new(library().to_str().unwrap()).unwrap();
        let mut message = std::ptr::null_mut();
        // SAFETY: the path ends with a zero byte.
        let library = unsafe { dlopen(path.as_ptr(), 2) };
        // SAFETY: the library is there.
        let entry = unsafe { dlsym(library, c"sqlite3_extension_init".as_ptr()) };
        // SAFETY: this is the type of the entry point.
        let entry = unsafe { std::mem::transmute::<*mut std::ffi::c_void, Entry>(entry) };
        // SAFETY: the table has the places up to that of the version, and one for memory.
        let code = unsafe { entry(std::ptr::null_mut(), &raw mut message, routines.as_ptr()) };
        assert_eq!(code, ffi::SQLITE_ERROR);
        // SAFETY: an error comes with a message.
        let message = unsafe { CStr::from_ptr(message) }.to_str().unwrap();
        assert!(message.contains("3.14.0") && message.contains("3.8.2"), "{message}");
    }

    /// With the shell, where the machine has one.
    #[test]
    fn the_shell_loads_it() {
        let directory = tempfile::tempdir().unwrap();
        let script = format!(
            ".load {}\n.open file:{}/a.db?vfs=tambour\nCREATE TABLE t (a);\nINSERT INTO t VALUES (7);\n\
             SELECT a FROM t;\n.vfsname\n",
            library().display(),
            directory.path().display()
        );
        let Ok(mut shell) = Command::new("sqlite3")
            .arg("-batch")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
        else {
            println!("no sqlite3 shell here: not tried");
            return;
        };
        std::io::Write::write_all(&mut shell.stdin.take().unwrap(), script.as_bytes()).unwrap();
        let output = shell.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "7\ntambour\n");
        assert_eq!(&std::fs::read(directory.path().join("a.db")).unwrap()[..8], b"TAMBPAGE");
    }
}
