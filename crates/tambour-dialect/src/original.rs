//! Tables that have an alias may also be called by their own name, as in ClickHouse: `FROM events AS e WHERE events.id = 1`.

use super::ambiguous;
use super::array_join::is_array;
use crate::walk::walk_mut;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, VisitorMut,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Writes the aliases where a query calls tables by their own names.
pub(super) fn by_aliases(query: &mut Query) {
    let SetExpr::Select(select) = &mut *query.body else { return };
    let aliases = aliases(select);
    if aliases.is_empty() {
        return;
    }
    let mut renaming = Renaming { aliases: &aliases, depth: 0 };
    // Nothing breaks off.
    let _ = walk_mut(&mut **select, &mut renaming);
    for item in &mut select.projection {
        if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) =
            item
            && let [part] = name.0.as_mut_slice()
            && let Some(alias) = part.as_ident().and_then(|name| aliases.get(&name.value))
        {
            *part = ObjectNamePart::Identifier(alias.clone());
        }
    }
    let Some(order_by) = &mut query.order_by else { return };
    if let OrderByKind::Expressions(items) = &mut order_by.kind {
        for item in items {
            let _ = walk_mut(&mut item.expr, &mut renaming);
        }
    }
}

/// The aliases of tables, by the names that no other table in FROM has.
fn aliases(select: &Select) -> BTreeMap<String, Ident> {
    // What ARRAY JOIN names are columns, which keep their names beside those of their elements.
    if select.from.iter().flat_map(|it| &it.joins).any(|join| is_array(&join.join_operator)) {
        return BTreeMap::new();
    }
    let joins = select.from.iter().flat_map(|it| it.joins.iter().map(|join| &join.relation));
    let factors: Vec<&TableFactor> =
        select.from.iter().map(|it| &it.relation).chain(joins).collect();
    let taken: BTreeSet<String> =
        factors.iter().filter_map(|it| ambiguous::name(it)).map(|name| name.value).collect();
    let mut found = BTreeMap::new();
    let mut twice = BTreeSet::new();
    for factor in factors {
        let TableFactor::Table { name, alias: Some(alias), args: None, .. } = factor else {
            continue;
        };
        let Some(own) = name.0.last().and_then(|part| part.as_ident()) else { continue };
        if taken.contains(&own.value) {
            continue;
        }
        if found.insert(own.value.clone(), alias.name.clone()).is_some() {
            twice.insert(own.value.clone());
        }
    }
    found.retain(|name, _| !twice.contains(name));
    found
}

/// Renames the tables of columns, but not in queries inside, which have tables of their own.
struct Renaming<'a> {
    aliases: &'a BTreeMap<String, Ident>,
    depth: usize,
}

impl VisitorMut for Renaming<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }
    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if self.depth == 0
            && let Expr::CompoundIdentifier(parts) = expr
            && let [first, _, ..] = parts.as_mut_slice()
            && let Some(alias) = self.aliases.get(&first.value)
        {
            *first = alias.clone();
        }
        ControlFlow::Continue(())
    }
}
