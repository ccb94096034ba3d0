//! Walks over statements.
//!
//! The parser's walk is compiled anew for each type of visitor, over all nodes of its tree: a megabyte of program each, and seconds of a
//! build. Here it is compiled for two types, and whatever visits is called through them.

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};
use std::ops::ControlFlow;

/// Lets a visitor see a node and all below it.
pub(crate) fn walk<V: Visitor>(node: &impl Visit, visitor: &mut V) -> ControlFlow<V::Break> {
    let mut held = Held { visitor, broke: None };
    let _ = node.visit(&mut Any(&mut held));
    held.ended()
}

/// The same, and change them.
pub(crate) fn walk_mut<V: VisitorMut>(
    node: &mut impl VisitMut,
    visitor: &mut V,
) -> ControlFlow<V::Break> {
    let mut held = Held { visitor, broke: None };
    let _ = node.visit(&mut AnyMut(&mut held));
    held.ended()
}

/// Lets a function see all expressions, those that hold others first.
pub(crate) fn walk_expressions<B>(
    node: &impl Visit,
    look: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    struct Looking<F>(F);
    impl<B, F: FnMut(&Expr) -> ControlFlow<B>> Visitor for Looking<F> {
        type Break = B;
        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
            (self.0)(expr)
        }
    }
    walk(node, &mut Looking(look))
}

/// A visitor, and why it broke off.
struct Held<'a, V, B> {
    visitor: &'a mut V,
    broke: Option<B>,
}

impl<V, B> Held<'_, V, B> {
    fn noted(&mut self, flow: ControlFlow<B>) -> ControlFlow<()> {
        match flow {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(reason) => {
                self.broke = Some(reason);
                ControlFlow::Break(())
            }
        }
    }
    fn ended(self) -> ControlFlow<B> {
        self.broke.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }
}

struct Any<'a>(&'a mut dyn Visitor<Break = ()>);
struct AnyMut<'a>(&'a mut dyn VisitorMut<Break = ()>);

type Seen<'a, T> = &'a T;
type Changed<'a, T> = &'a mut T;

/// Passes all calls on.
macro_rules! passing {
    ($visitor:ident, $any:ident, $node:ident, $(($name:ident, $type:ty)),+ $(,)?) => {
        impl<V: $visitor> $visitor for Held<'_, V, V::Break> {
            type Break = ();
            $(fn $name(&mut self, node: $node<'_, $type>) -> ControlFlow<()> {
                let flow = self.visitor.$name(node);
                self.noted(flow)
            })+
        }
        impl $visitor for $any<'_> {
            type Break = ();
            $(fn $name(&mut self, node: $node<'_, $type>) -> ControlFlow<()> {
                self.0.$name(node)
            })+
        }
    };
    ($visitor:ident, $any:ident, $node:ident) => {
        passing!(
            $visitor,
            $any,
            $node,
            (pre_visit_query, Query),
            (post_visit_query, Query),
            (pre_visit_select, Select),
            (post_visit_select, Select),
            (pre_visit_relation, ObjectName),
            (post_visit_relation, ObjectName),
            (pre_visit_table_factor, TableFactor),
            (post_visit_table_factor, TableFactor),
            (pre_visit_expr, Expr),
            (post_visit_expr, Expr),
            (pre_visit_statement, Statement),
            (post_visit_statement, Statement),
            (pre_visit_value, ValueWithSpan),
            (post_visit_value, ValueWithSpan),
        );
    };
}

passing!(Visitor, Any, Seen);
passing!(VisitorMut, AnyMut, Changed);
