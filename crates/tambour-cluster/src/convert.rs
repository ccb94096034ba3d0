//! Expressions on the wire. The engine's own form of a function call is a name and drops what the types of its result are
//! called in ClickHouse; here the call carries both, and what has no form is refused.

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::{Result, exec_datafusion_err, exec_err, not_impl_err};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::registry::FunctionRegistry;
use datafusion::physical_expr::expressions::{CastExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::from_proto::{
    parse_physical_expr_with_converter, parse_physical_exprs,
};
use datafusion_proto::physical_plan::to_proto::serialize_physical_expr_with_converter;
use datafusion_proto::physical_plan::{
    PhysicalExtensionCodec, PhysicalPlanDecodeContext, PhysicalPlanNodeExt,
    PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::physical_expr_node::ExprType;
use datafusion_proto::protobuf::{PhysicalExprNode, PhysicalPlanNode, PhysicalScalarUdfNode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is sent of a call beside its arguments.
#[derive(Debug, Serialize, Deserialize)]
struct Call {
    what: What,
    /// The metadata of the result.
    metadata: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, Deserialize)]
enum What {
    /// A function that every session has by name.
    Named,
    /// A function that was made for this query.
    Made(String),
    /// Not a call but a literal, the only argument.
    Literal,
}

/// The form of expressions.
#[derive(Clone, Default)]
pub(crate) struct Converter {
    /// The functions of the session that sends; a function that is sent by name must be the one that it has.
    pub(crate) session: Option<Arc<TaskContext>>,
}

impl Converter {
    fn call(
        &self,
        call: &ScalarFunctionExpr,
        expr: &Arc<dyn PhysicalExpr>,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<PhysicalExprNode> {
        let field = call.return_field(&Schema::empty())?;
        let what = match tambour_sql::travel::function_text(call.fun()) {
            Some(text) => What::Made(text),
            None => What::Named,
        };
        if let (What::Named, Some(session)) = (&what, &self.session)
            && session.udf(call.name())?.as_ref() != call.fun()
        {
            return not_impl_err!("the function {} of this query cannot be sent", call.name());
        }
        let metadata = field.metadata().clone().into_iter().collect();
        let definition = text_of(&Call { what, metadata })?;
        let mut node = serialize_physical_expr_with_converter(expr, codec, self)?;
        match &mut node.expr_type {
            Some(ExprType::ScalarUdf(udf)) => udf.fun_definition = Some(definition),
            _ => return exec_err!("the call of {} cannot be sent", call.name()),
        }
        Ok(node)
    }

    fn literal(
        &self,
        literal: &Literal,
        expr: &Arc<dyn PhysicalExpr>,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<PhysicalExprNode> {
        let node = serialize_physical_expr_with_converter(expr, codec, self)?;
        let field = literal.return_field(&Schema::empty())?;
        if field.metadata().is_empty() {
            return Ok(node);
        }
        let metadata = field.metadata().clone().into_iter().collect();
        let udf = PhysicalScalarUdfNode {
            name: "literal".to_owned(),
            args: vec![node],
            fun_definition: Some(text_of(&Call { what: What::Literal, metadata })?),
            ..PhysicalScalarUdfNode::default()
        };
        Ok(PhysicalExprNode { expr_id: None, expr_type: Some(ExprType::ScalarUdf(udf)) })
    }

    fn called(
        &self,
        udf: &PhysicalScalarUdfNode,
        schema: &Schema,
        context: &PhysicalPlanDecodeContext<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let text = udf.fun_definition.as_deref().unwrap_or_default();
        let call: Call = serde_json::from_slice(text)
            .map_err(|error| exec_datafusion_err!("the call of {:?}: {error}", udf.name))?;
        let arguments = parse_physical_exprs(&udf.args, context, schema, self)?;
        let metadata: std::collections::HashMap<String, String> =
            call.metadata.into_iter().collect();
        let function = match call.what {
            What::Named => context.task_ctx().udf(&udf.name)?,
            What::Made(text) => match tambour_sql::travel::function_of(&text) {
                Some(function) => Arc::new(function),
                None => return exec_err!("{text} is not a function"),
            },
            What::Literal => {
                let [only] = arguments.as_slice() else { return exec_err!("not a literal") };
                let Some(literal) = only.downcast_ref::<Literal>() else {
                    return exec_err!("not a literal");
                };
                let metadata = FieldMetadata::from(metadata);
                let value = literal.value().clone();
                return Ok(Arc::new(Literal::new_with_metadata(value, Some(metadata))));
            }
        };
        let Some(data_type) = &udf.return_type else {
            return exec_err!("the call of {:?} has no type", udf.name);
        };
        let data_type = DataType::try_from(data_type)
            .map_err(|error| exec_datafusion_err!("the type of {:?}: {error}", udf.name))?;
        let field =
            Field::new(&udf.return_field_name, data_type, udf.nullable).with_metadata(metadata);
        let options = Arc::clone(context.task_ctx().session_config().options());
        Ok(Arc::new(ScalarFunctionExpr::new(
            &udf.name,
            function,
            arguments,
            Arc::new(field),
            options,
        )))
    }
}

fn text_of(call: &Call) -> Result<Vec<u8>> {
    serde_json::to_vec(call).map_err(|error| exec_datafusion_err!("{error}"))
}

impl PhysicalProtoConverterExtension for Converter {
    fn proto_to_execution_plan(
        &self,
        proto: &PhysicalPlanNode,
        context: &PhysicalPlanDecodeContext<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        proto.try_into_physical_plan_with_context(context, self)
    }

    fn execution_plan_to_proto(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<PhysicalPlanNode> {
        PhysicalPlanNode::try_from_physical_plan_with_converter(Arc::clone(plan), codec, self)
    }

    fn proto_to_physical_expr(
        &self,
        proto: &PhysicalExprNode,
        schema: &Schema,
        context: &PhysicalPlanDecodeContext<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        match &proto.expr_type {
            Some(ExprType::ScalarUdf(udf)) => self.called(udf, schema, context),
            _ => parse_physical_expr_with_converter(proto, schema, context, self),
        }
    }

    fn physical_expr_to_proto(
        &self,
        expr: &Arc<dyn PhysicalExpr>,
        codec: &dyn PhysicalExtensionCodec,
    ) -> Result<PhysicalExprNode> {
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            return self.call(call, expr, codec);
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return self.literal(literal, expr, codec);
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>()
            && cast.target_metadata().is_some_and(|metadata| !metadata.is_empty())
        {
            return not_impl_err!("a cast to a type of ClickHouse's own cannot be sent");
        }
        serialize_physical_expr_with_converter(expr, codec, self)
    }
}
