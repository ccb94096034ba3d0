//! Every example program runs to its end; what it claims, it asserts itself.
#![expect(clippy::tests_outside_test_module, reason = "this file is tests alone")]

/// Each as a module, so that nothing but this test is linked.
macro_rules! examples {
    ($($name:ident: $path:literal,)+) => {
        $(
            #[path = $path]
            mod $name;
        )+
        $(
            #[test]
            fn $name() {
                $name::main().unwrap();
            }
        )+
    };
}

examples! {
    import_query: "../examples/import_query.rs",
    scan_filter: "../examples/scan_filter.rs",
    export_parquet: "../examples/export_parquet.rs",
    record_store: "../examples/record_store.rs",
    page_store: "../examples/page_store.rs",
    messages: "../examples/messages.rs",
    lz4: "../examples/lz4.rs",
    integers_hashes: "../examples/integers_hashes.rs",
}
