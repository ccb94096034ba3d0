//! Any text as a CREATE TABLE statement; what is understood is printed so that it is understood again.
#![no_main]
use tambour_table::schema::TableDefinition;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(definition) = TableDefinition::parse(text) {
        let printed = definition.to_string();
        assert_eq!(TableDefinition::parse(&printed).expect(&printed), definition, "{printed}");
    }
});
