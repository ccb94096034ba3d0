//! Sessions: the tables, functions and settings that queries run with.

use crate::SqlError;
use crate::describe::{self, TypeName};
use crate::execution::Query;
use crate::explain;
use crate::fill::{Bounds, Filling};
use crate::generated;
use crate::guard;
use crate::merged::{self, Merged};
use crate::placed::Placed;
use crate::records::RecordTable;
use crate::results;
use crate::system::{self, Registry, SystemTable};
use crate::temporary::Temporaries;
use crate::unknown;
use crate::vocabulary;
use arrow::datatypes::{DataType, Field, SchemaRef};
use datafusion::catalog::{MemorySchemaProvider, SchemaProvider};
use datafusion::common::{ScalarValue, TableReference};
use datafusion::config::Dialect;
use datafusion::error::DataFusionError;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, ScalarUDF};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::Query as Ast;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use tambour_dialect::{self as dialect, Ending, Fill, Prepared, Switches, Task};
use tambour_part::BlockCache;
use tambour_part::types::{DataType as PartType, Strings, TYPE_KEY};
use tambour_record::View;
use tambour_scan::provider::TambourTable;
use tambour_scan::scan_options::ScanOptions;
use tambour_table::Table;
use tambour_table::schema::expression::Expression;
use tambour_table::schema::{ColumnDefinition, ColumnKind, TableDefinition};

/// How a session runs its queries.
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Partitions that may run at the same time.
    pub threads: usize,
    /// Bytes that sorts, joins and groups may hold before they spill; `None`: no limit.
    pub memory_bytes: Option<u64>,
    /// Where to spill; `None`: the system's directory for temporary files.
    pub spill_directory: Option<PathBuf>,
    /// Rows per batch of a scan at least.
    pub batch_rows: usize,
    /// Results that depend on nothing but data and query: one partition, so neither the order of rows without ORDER BY nor
    /// sums of floats vary.
    pub deterministic: bool,
    /// Strings as bytes instead of text: also those that are not UTF-8 can be read.
    pub binary_strings: bool,
    /// Statements may change tables; otherwise they are refused.
    pub write: bool,
    /// A directory of tables, in which statements may make, remove and rename them; [`Session::register_database`] opens
    /// those that are there.
    pub database: Option<PathBuf>,
    /// Where the data of `INSERT … FORMAT` are: a file, or `-` for standard input.
    pub input: Option<PathBuf>,
    /// Bytes of decoded blocks that are kept for small reads of the same rows; `None`: none are.
    pub block_cache_bytes: Option<u64>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        Self {
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: None,
            spill_directory: None,
            batch_rows: 8192,
            deterministic: false,
            binary_strings: false,
            write: false,
            database: None,
            input: None,
            block_cache_bytes: None,
        }
    }
}

/// Name of the only catalog.
const CATALOG: &str = "tambour";
/// Bytes that a merge of sorted runs may read ahead, all runs together.
const READ_AHEAD: usize = 64 << 20;
/// Consumers of memory that are named when a query runs out of it.
const NAMED_CONSUMERS: usize = 3;

/// A set of tables to query.
pub struct Session {
    context: SessionContext,
    pub(crate) registry: Registry,
    /// Names and columns of tables that were handed over as batches.
    pub(crate) handed: RwLock<Vec<(String, Vec<String>)>>,
    pub(crate) batch_rows: usize,
    pub(crate) strings: Strings,
    pub(crate) threads: usize,
    /// Bytes of memory for operators, and for rows that are written.
    pub(crate) memory_bytes: Option<u64>,
    /// Statements may change tables.
    pub(crate) write: bool,
    /// Tables that live as long as this.
    pub(crate) temporaries: Temporaries,
    /// What SET asked for.
    switches: RwLock<Switches>,
    /// The directory of tables.
    pub(crate) database: Option<PathBuf>,
    /// The data of `INSERT … FORMAT`.
    pub(crate) input: Option<PathBuf>,
    /// Decoded blocks of all tables.
    blocks: Option<Arc<BlockCache>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("registry", &self.registry).finish_non_exhaustive()
    }
}

impl Session {
    /// A session without tables; `system` is there.
    pub fn new(options: &SessionOptions) -> Result<Self, SqlError> {
        Self::with(options, |builder| builder)
    }
    /// The same with what else the engine shall have: a planner for several workers.
    pub fn with(
        options: &SessionOptions,
        add: impl FnOnce(SessionStateBuilder) -> SessionStateBuilder,
    ) -> Result<Self, SqlError> {
        crate::compute_defaults();
        let context = tambour_plan::context(config(options), runtime(options)?, add);
        register_functions(&context)?;
        let registry = Registry::default();
        let schema = MemorySchemaProvider::new();
        for kind in system::Kind::ALL {
            let table =
                SystemTable::new(kind, Arc::clone(&registry)).map_err(|cause| SqlError::Table {
                    name: format!("{}.{}", system::SCHEMA, kind.name()),
                    cause: Box::new(cause),
                })?;
            schema.register_table(kind.name().to_owned(), Arc::new(table))?;
        }
        let marks = system::MarksFunction::new(Arc::clone(&registry));
        context.register_udtf(system::MarksFunction::NAME, Arc::new(marks));
        generated::register_tables(&schema)?;
        vocabulary::register_tables(&schema)?;
        if let Some(catalog) = context.catalog(CATALOG) {
            catalog.register_schema(system::SCHEMA, Arc::new(schema))?;
        }
        let strings = if options.binary_strings { Strings::Binary } else { Strings::Utf8 };
        let (batch_rows, threads) = (options.batch_rows.max(1), options.threads.max(1));
        if let Some(catalog) = context.catalog(CATALOG) {
            let merged = Merged::new(&registry, strings, batch_rows);
            catalog.register_schema(dialect::marks::MERGED, Arc::new(merged))?;
            let placed = Placed::new(&registry, strings, batch_rows);
            catalog.register_schema(dialect::marks::PLACES, Arc::new(placed))?;
        }
        let (handed, write, switches) = (RwLock::default(), options.write, RwLock::default());
        let (database, input) = (options.database.clone(), options.input.clone());
        Ok(Self {
            context,
            registry,
            handed,
            batch_rows,
            strings,
            threads,
            memory_bytes: options.memory_bytes,
            write,
            temporaries: Temporaries::default(),
            switches,
            database,
            input,
            blocks: options.block_cache_bytes.map(BlockCache::new),
        })
    }
    /// The cache of decoded blocks, if there is one.
    pub fn block_cache(&self) -> Option<&BlockCache> {
        self.blocks.as_deref()
    }
    /// Adds a table under its own name; `t` and `default.t` both find it.
    pub fn register(&self, table: Arc<Table>) -> Result<(), SqlError> {
        let name = table.name().to_owned();
        self.register_as(&name, table)
    }
    /// Adds a table under another name.
    pub fn register_as(&self, name: &str, table: Arc<Table>) -> Result<(), SqlError> {
        let mut registered = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        if registered.iter().any(|(other, _)| other == name) {
            return Err(SqlError::Duplicate { name: name.to_owned() });
        }
        let provider = Arc::new(self.provider(&table));
        self.context.register_table(TableReference::bare(name), provider)?;
        registered.push((name.to_owned(), table));
        Ok(())
    }
    /// Adds a table of a server's disk: queries name it with its database, `shop.orders`.
    pub fn register_in_database(&self, table: Arc<Table>) -> Result<(), SqlError> {
        let Some(database) = table.database().filter(|it| *it != system::DATABASE) else {
            return self.register(table);
        };
        let name = format!("{database}.{}", table.name());
        let mut registered = self.registry.write().unwrap_or_else(PoisonError::into_inner);
        if registered.iter().any(|(other, _)| *other == name) {
            return Err(SqlError::Duplicate { name });
        }
        if let Some(catalog) = self.context.catalog(CATALOG)
            && catalog.schema(database).is_none()
        {
            catalog.register_schema(database, Arc::new(MemorySchemaProvider::new()))?;
        }
        let place = TableReference::partial(database, table.name());
        self.context.register_table(place, Arc::new(self.provider(&table)))?;
        registered.push((name, table));
        Ok(())
    }
    /// A table as queries see it.
    pub(crate) fn provider(&self, table: &Arc<Table>) -> TambourTable {
        if let Some(cache) = &self.blocks {
            table.cache_blocks(cache);
        }
        TambourTable::new(Arc::clone(table), self.strings, self.batch_rows)
    }
    /// Adds a category of a record store as a table: [`crate::records`].
    pub fn register_records(&self, name: &str, view: Arc<View>) -> Result<(), SqlError> {
        if self.context.table_exist(TableReference::bare(name))? {
            return Err(SqlError::Duplicate { name: name.to_owned() });
        }
        let provider = RecordTable::new(view, self.strings, self.batch_rows)?;
        self.context.register_table(TableReference::bare(name), Arc::new(provider))?;
        Ok(())
    }
    /// The tables in the order of registration, with their names.
    pub fn tables(&self) -> Vec<(String, Arc<Table>)> {
        system::registered(&self.registry)
    }
    /// Parses and plans one statement, ClickHouse's dialect included. One that changes a table is carried out at once; what
    /// it did is among the notes.
    pub async fn sql(&self, text: &str) -> Result<Query, SqlError> {
        crate::administration::check(text)?;
        let plain = crate::write::without_settings(text)?;
        let text = plain.as_deref().unwrap_or(text);
        if dialect::begins_with(text, ["CHECK", "TABLE"]) {
            return self.check_table(text);
        }
        let told = if let Some(told) = Box::pin(self.altered(text)).await? {
            told
        } else if let Some(asked) = dialect::temporary(text)? {
            Box::pin(self.keep(&asked)).await?
        } else if dialect::is_create_table(text) {
            Box::pin(self.create_table(text)).await?
        } else if dialect::begins_with(text, ["EXCHANGE", "TABLES"]) {
            self.exchange_tables(text)?
        } else {
            let prepared = dialect::prepare_shown(text, &self.catalog())?;
            let Task::Change(change) = &prepared.task else {
                return self.planned(prepared, text).await;
            };
            Box::pin(self.change(change)).await?
        };
        let plan = LogicalPlanBuilder::empty(false).build()?;
        let frame = self.context.execute_logical_plan(plan).await?;
        Ok(Query { frame, format: None, notes: vec![told], totals: None, fill: None })
    }
    /// ALTER TABLE, of which the parser sees single commands at most.
    async fn altered(&self, text: &str) -> Result<Option<String>, SqlError> {
        if dialect::begins_with(text, ["ALTER", "TABLE"]) {
            self.alter_table(text).await
        } else {
            Ok(None)
        }
    }
    /// Plans a query that was taken out of a statement.
    pub(crate) async fn query_of(&self, query: &Ast) -> Result<Query, SqlError> {
        let prepared = dialect::prepare_query(query, &self.catalog())?;
        self.planned(prepared, "").await
    }
    /// The same with one table more, whose ALIAS columns are those of a definition.
    pub(crate) async fn query_with(
        &self,
        query: &Ast,
        (table, columns): (String, Vec<String>),
        definition: Option<&TableDefinition>,
    ) -> Result<Query, SqlError> {
        let mut catalog = self.catalog();
        let aliases = definition.map_or(&[][..], |it| it.unstored.as_slice());
        let aliases: Vec<(String, String)> = aliases.iter().filter_map(alias).collect();
        if !aliases.is_empty() {
            catalog.aliases.insert(table.clone(), aliases);
        }
        catalog.insert(table, columns);
        self.planned(dialect::prepare_query(query, &catalog)?, "").await
    }
    pub(crate) async fn planned(&self, prepared: Prepared, text: &str) -> Result<Query, SqlError> {
        let Prepared { statement, format, notes, task, ending } = prepared;
        let switches = self.switched(&task, ending.switches);
        // One for the whole query: it holds a name for each function, and too much for the stack.
        let state = Box::new(self.context.state());
        let plan = if matches!(task, Task::Nothing | Task::Switch(_)) {
            LogicalPlanBuilder::empty(false).build()?
        } else {
            self.plan(&state, statement, text, switches).await?
        };
        guard::check(&plan)?;
        if let Some((explained, is_run)) = explain::wanted(&plan) {
            let lines = Box::pin(self.explain(explained, is_run)).await?;
            let frame = self.context.read_batch(lines)?;
            return Ok(Query { frame, format, notes, totals: None, fill: None });
        }
        if ending.has_prewhere && merged::is_in(&plan)? {
            return Err(SqlError::refused("PREWHERE with FINAL", dialect::BEFORE_THE_MERGE));
        }
        self.check_view(&plan)?;
        if task == Task::Rows {
            check_results(plan.schema().inner())?;
        }
        let has_effect = matches!(plan, LogicalPlan::Ddl(_) | LogicalPlan::Statement(_));
        let frame = match task {
            Task::Rows if !has_effect => DataFrame::new(*state, plan),
            Task::Rows | Task::Nothing | Task::Switch(_) | Task::Change(_) => {
                self.context.execute_logical_plan(plan).await?
            }
            Task::Description => {
                let columns = describe::plain(plan.schema().inner());
                self.context.read_batch(describe::columns(&columns)?)?
            }
            Task::Columns(table) => {
                let columns = self.columns_of(&table, plan.schema().inner());
                self.context.read_batch(describe::columns(&columns)?)?
            }
            Task::Listing(listing) => self.listed(&listing, plan.schema().inner())?,
            Task::Definition(table) => self.definition(table).await?,
        };
        let Ending { totals, fill, .. } = ending;
        let totals = match totals {
            Some(statement) => {
                let state = Box::new(self.context.state());
                let plan = self.plan(&state, statement, text, switches).await?;
                Some(self.context.execute_logical_plan(plan).await?)
            }
            None => None,
        };
        let fill = match &fill {
            Some(fill) => {
                let schema = results::restored(frame.schema().inner());
                Some(Filling::new(fill, &Box::pin(self.bounds(fill)).await?, schema)?)
            }
            None => None,
        };
        Ok(Query { frame, format, notes, totals, fill })
    }
    async fn plan(
        &self,
        state: &SessionState,
        statement: Statement,
        text: &str,
        switches: Switches,
    ) -> Result<LogicalPlan, SqlError> {
        let mut planned = Box::pin(state.statement_to_plan(statement.clone())).await;
        // Each time a column is found that was missing, another one may be.
        while let Err(error) = &planned
            && crate::records::widen(state, error, text).await?
        {
            planned = Box::pin(state.statement_to_plan(statement.clone())).await;
        }
        let planned = planned.map_err(|error| self.explained(error, text))?;
        let is_merged = switches.merged == Some(true);
        let planned = if is_merged { self.everywhere(planned)? } else { planned };
        Ok(tambour_plan::keep_types(tambour_plan::present(planned, switches)?)?)
    }
    /// The switches for a statement; those of SET stay.
    fn switched(&self, task: &Task, own: Switches) -> Switches {
        let mut kept = self.switches.write().unwrap_or_else(PoisonError::into_inner);
        if let Task::Switch(given) = task {
            *kept = given.or(*kept);
        }
        own.or(*kept)
    }
    /// The constants of WITH FILL.
    async fn bounds(&self, fill: &Fill) -> Result<Bounds, SqlError> {
        let mut bounds = Bounds::default();
        let places = [&mut bounds.from, &mut bounds.to, &mut bounds.step];
        for (expr, place) in [&fill.from, &fill.to, &fill.step].into_iter().zip(places) {
            let Some(expr) = expr else { continue };
            let query = dialect::parse_query(&format!("SELECT {expr}"))?;
            let statement = dialect::prepare_query(&query, &self.catalog())?.statement;
            let state = Box::new(self.context.state());
            let plan = self.plan(&state, statement, "", Switches::default()).await?;
            let batches = self.context.execute_logical_plan(plan).await?.collect().await?;
            let value = batches.iter().find(|batch| batch.num_rows() == 1);
            *place =
                value.map(|batch| ScalarValue::try_from_array(batch.column(0), 0)).transpose()?;
        }
        Ok(bounds)
    }
    /// The columns of the tables.
    pub(crate) fn catalog(&self) -> dialect::Catalog {
        let names = |table: &Table| table.columns().iter().map(|it| it.name.clone()).collect();
        let handed = self.handed.read().unwrap_or_else(PoisonError::into_inner).clone();
        let own = |(name, table): (String, Arc<Table>)| {
            (system::place(&name, &table).1.to_owned(), names(&table))
        };
        let tables = self.tables();
        let samplings = tables.iter().filter_map(|(name, table)| {
            Some((system::place(name, table).1.to_owned(), sampling(table)?))
        });
        let samplings = samplings.collect();
        let mut catalog: dialect::Catalog = tables.iter().cloned().map(own).chain(handed).collect();
        catalog.samplings = samplings;
        catalog.parts =
            tables.iter().map(|(name, table)| system::place(name, table).1.to_owned()).collect();
        for (name, table) in &tables {
            let Some(definition) = table.definition() else { continue };
            let name = system::place(name, table).1;
            let hidden = definition
                .columns
                .iter()
                .filter(|it| it.clauses.kind == ColumnKind::Materialized)
                .map(|it| it.column.name.clone());
            let hidden: Vec<String> = hidden.collect();
            if !hidden.is_empty() {
                catalog.hidden.insert(name.to_owned(), hidden);
            }
            let aliases: Vec<(String, String)> =
                definition.unstored.iter().filter_map(alias).collect();
            if !aliases.is_empty() {
                catalog.aliases.insert(name.to_owned(), aliases);
            }
        }
        catalog
    }
    /// The CREATE TABLE statement of a table.
    async fn definition(&self, name: TableReference) -> Result<DataFrame, SqlError> {
        let known = self.table_of(&name);
        if let Some(statement) = known.and_then(|table| system::statement(name.table(), &table)) {
            return Ok(self.context.read_batch(describe::definition(&statement.to_string())?)?);
        }
        let provider = self.context.table_provider(name.clone()).await?;
        let Some(statement) = provider.get_table_definition() else {
            return Err(SqlError::refused(
                format!("SHOW CREATE TABLE {name}"),
                "its definition is not known",
            ));
        };
        Ok(self.context.read_batch(describe::definition(statement)?)?)
    }
    /// Views must not stand in for tables: `system.tables` and the shell would go on showing those.
    fn check_view(&self, plan: &LogicalPlan) -> Result<(), SqlError> {
        let Some(name) = guard::view(plan) else { return Ok(()) };
        let place = name.clone().resolve(CATALOG, system::DATABASE);
        let reason = if *place.schema != *system::DATABASE {
            "views are in the database default only"
        } else if self.tables().iter().any(|(table, _)| **table == *place.table) {
            "there is a table of that name"
        } else {
            return Ok(());
        };
        Err(SqlError::refused(format!("a view named {name}"), reason))
    }
    /// What is not there, by the names that were written.
    fn explained(&self, error: DataFusionError, statement: &str) -> SqlError {
        if let Some(name) = unknown::function(&error, statement) {
            let similar = unknown::similar(&name, self.function_names());
            return SqlError::UnknownFunction { name, similar };
        }
        let Some(name) = unknown::table(&error) else { return error.into() };
        let own = format!("{CATALOG}.{}.", system::DATABASE);
        let name = name.strip_prefix(&own).unwrap_or(name);
        let name = name.strip_prefix(&format!("{CATALOG}.")).unwrap_or(name);
        let marks = [dialect::marks::MERGED, dialect::marks::PLACES];
        let own = marks.iter().find_map(|mark| name.strip_prefix(mark)?.strip_prefix('.'));
        let name = own.unwrap_or(name).to_owned();
        let tables = if name.starts_with(&format!("{}.", system::SCHEMA)) {
            self.system_tables()
        } else {
            self.tables().into_iter().map(|(name, _)| name).collect()
        };
        SqlError::UnknownTable { name, tables }
    }
    /// Names of the system tables, with their database.
    fn system_tables(&self) -> Vec<String> {
        let schema = self.context.catalog(CATALOG).and_then(|it| it.schema(system::SCHEMA));
        let mut names = schema.map(|schema| schema.table_names()).unwrap_or_default();
        names.sort_unstable();
        names.into_iter().map(|name| format!("{}.{name}", system::SCHEMA)).collect()
    }
    /// Names of all functions, for completion.
    pub fn function_names(&self) -> Vec<String> {
        vocabulary::function_names(&self.context.state())
    }
    /// DataFusion's own context, for what is not covered here.
    pub fn context(&self) -> &SessionContext {
        &self.context
    }
}

/// The name of an ALIAS column, and what computes it.
fn alias(column: &ColumnDefinition) -> Option<(String, String)> {
    let expression = column.clauses.default.as_ref();
    let expression = expression.filter(|_| column.clauses.kind == ColumnKind::Alias)?;
    let (name, data_type) = (&column.column.name, &column.column.data_type);
    Some((name.clone(), format!("CAST({expression} AS {data_type})")))
}

/// What a table is sampled by, if its statement says so and the expression is one that keys may have.
fn sampling(table: &Table) -> Option<dialect::Sampling> {
    let expression = table.definition()?.clauses.sample_by.clone()?;
    let bits = match Expression::parse(&expression).ok()?.data_type(table.columns()).ok()? {
        PartType::UInt8 => 8,
        PartType::UInt16 => 16,
        PartType::UInt32 => 32,
        PartType::UInt64 => 64,
        _ => return None,
    };
    Some(dialect::Sampling { expression, bits })
}

/// Adds the functions that plans may call, wherever they run.
pub(crate) fn register_functions(context: &SessionContext) -> Result<(), SqlError> {
    tambour_plan::register(context)?;
    context.register_udf(ScalarUDF::new_from_impl(TypeName::new()));
    generated::register(context);
    Ok(())
}

/// ClickHouse shows an interval as a number without its unit, the engine as a text: neither is what was asked for.
fn check_results(schema: &SchemaRef) -> Result<(), SqlError> {
    if let Some(field) = schema.fields().iter().find(|field| is_lost(field)) {
        return Err(SqlError::refused(
            format!("the result {:?}", field.name()),
            "its type (a UUID, an IPv6, a wide integer) is lost on the way; \
                     convert it by toString first",
        ));
    }
    match schema.fields().iter().find(|field| is_interval(field)) {
        Some(field) => Err(SqlError::refused(
            format!("the interval {:?} as a result", field.name()),
            "add it to a date or time",
        )),
        None => Ok(()),
    }
}

/// True if a field is an interval or has one in it.
fn is_interval(field: &Field) -> bool {
    match field.data_type() {
        DataType::Interval(_) | DataType::Duration(_) => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => {
            is_interval(item)
        }
        DataType::Struct(fields) => fields.iter().any(|field| is_interval(field)),
        _ => false,
    }
}

/// True if a field has plain bytes in it where nothing says what they mean: as a text they would be wrong.
fn is_lost(field: &Field) -> bool {
    if field.metadata().contains_key(TYPE_KEY) {
        return false;
    }
    match field.data_type() {
        DataType::FixedSizeBinary(_) => true,
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => is_lost(item),
        DataType::Struct(fields) => fields.iter().any(|field| is_lost(field)),
        _ => false,
    }
}

fn config(options: &SessionOptions) -> SessionConfig {
    let partitions = if options.deterministic { 1 } else { options.threads.max(1) };
    let mut config = SessionConfig::new()
        .with_target_partitions(partitions)
        .with_information_schema(true)
        .with_option_extension(
            ScanOptions::of_environment().within(options.memory_bytes, partitions),
        )
        .with_default_catalog_and_schema(CATALOG, system::DATABASE);
    let settings = config.options_mut();
    settings.sql_parser.dialect = Dialect::ClickHouse;
    // ClickHouse's names of columns and functions differ by case.
    settings.sql_parser.enable_ident_normalization = false;
    // Rows of a subquery come in its order, as in ClickHouse: a LIMIT outside and aggregates show it.
    settings.sql_parser.enable_subquery_sort_elimination = false;
    "nulls_last".clone_into(&mut settings.sql_parser.default_null_ordering);
    settings.execution.sort_pushdown_buffer_capacity = READ_AHEAD;
    // `min(a), min(b + 1)`: the engine filters by the best `a` so far, and drops rows that `min(b + 1)` needs.
    settings.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    config
}

/// Memory and disk for the operators of queries.
pub fn runtime(options: &SessionOptions) -> Result<Arc<RuntimeEnv>, SqlError> {
    let mut builder = RuntimeEnvBuilder::new();
    if let Some(bytes) = options.memory_bytes {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let names = NonZeroUsize::new(NAMED_CONSUMERS).unwrap_or(NonZeroUsize::MIN);
        // Every sort, join and group gets a fair share: those that come late can spill too.
        let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), names);
        builder = builder.with_memory_pool(Arc::new(pool));
    }
    if let Some(directory) = &options.spill_directory {
        builder = builder.with_temp_file_path(directory);
    }
    Ok(builder.build_arc()?)
}
