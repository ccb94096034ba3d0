//! Plans on the wire.
//!
//! A plan is sent as one node of ours, [`Envelope`], whose content is written and read by this codec alone: so that every
//! expression goes through [`Converter`], which the engine's own codec would pass by. Inside are the engine's nodes in the
//! engine's form, our scan and our aggregate.

use crate::convert::Converter;
use crate::errand::{ErrandExec, Errands};
use crate::tables::Tables;
use crate::wire::WIRE;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, exec_datafusion_err, exec_err, not_impl_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PhysicalExpr,
    PlanProperties, ReplaceChildrenOptions,
};
use datafusion_distributed::DistributedCodec;
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_proto_converter, physical_plan_to_bytes_with_proto_converter,
};
use datafusion_proto::physical_plan::{
    ComposedPhysicalExtensionCodec, PhysicalExtensionCodec, PhysicalPlanDecodeContext,
    PhysicalProtoConverterExtension,
};
use datafusion_proto::protobuf::PhysicalExprNode;
use std::fmt;
use std::sync::Arc;
use tambour_sql::exec::{Sent, TambourScanExec};
use tambour_sql::travel;

/// Bytes of a plan at most.
const PLAN_BYTES_MAX: usize = 64 << 20;

/// A node of ours. On the wire: its number, then its bytes; of a scan, each piece with its length in front.
#[derive(Debug)]
enum Node {
    /// A whole plan.
    Plan(Vec<u8>),
    /// A scan with its filters.
    Scan(Box<Sent>, Vec<Vec<u8>>),
    /// A partial aggregate with groups by position: the engine's operator over nothing. Its input is the node's.
    Groups(Vec<u8>),
    /// An aggregate over sorted rows, the same way.
    Runs(Vec<u8>),
    /// An errand.
    Errand(String),
}

impl Node {
    fn write(&self, buffer: &mut Vec<u8>) -> Result<()> {
        buffer.extend_from_slice(&WIRE.to_le_bytes());
        match self {
            Self::Plan(bytes) => {
                buffer.push(1);
                buffer.extend_from_slice(bytes);
            }
            Self::Scan(sent, filters) => {
                buffer.push(2);
                let sent =
                    serde_json::to_vec(sent).map_err(|error| exec_datafusion_err!("{error}"))?;
                for piece in std::iter::once(&sent).chain(filters) {
                    let length = u32::try_from(piece.len())
                        .map_err(|_| exec_datafusion_err!("a scan of {} bytes", piece.len()))?;
                    buffer.extend_from_slice(&length.to_le_bytes());
                    buffer.extend_from_slice(piece);
                }
            }
            Self::Groups(bytes) => {
                buffer.push(3);
                buffer.extend_from_slice(bytes);
            }
            Self::Runs(bytes) => {
                buffer.push(4);
                buffer.extend_from_slice(bytes);
            }
            Self::Errand(errand) => {
                buffer.push(5);
                buffer.extend_from_slice(errand.as_bytes());
            }
        }
        Ok(())
    }

    fn read(buffer: &[u8]) -> Result<Self> {
        let Some((wire, rest)) = buffer.split_first_chunk::<4>() else {
            return exec_err!("a node of {} bytes is not one of Tambour's", buffer.len());
        };
        let wire = u32::from_le_bytes(*wire);
        if wire != WIRE {
            return exec_err!("a node in form {wire}; this program speaks form {WIRE}");
        }
        if rest.len() > PLAN_BYTES_MAX {
            return exec_err!("a plan of {} bytes; {PLAN_BYTES_MAX} is the limit", rest.len());
        }
        match rest.split_first() {
            Some((1, bytes)) => Ok(Self::Plan(bytes.to_vec())),
            Some((2, bytes)) => {
                let mut pieces = pieces(bytes)?.into_iter();
                let sent = pieces.next().unwrap_or_default();
                let sent = serde_json::from_slice(sent)
                    .map_err(|error| exec_datafusion_err!("a scan that cannot be read: {error}"))?;
                Ok(Self::Scan(sent, pieces.map(<[u8]>::to_vec).collect()))
            }
            Some((3, bytes)) => Ok(Self::Groups(bytes.to_vec())),
            Some((4, bytes)) => Ok(Self::Runs(bytes.to_vec())),
            Some((5, bytes)) => Ok(Self::Errand(String::from_utf8_lossy(bytes).into_owned())),
            Some((other, _)) => exec_err!("there is no node {other}"),
            None => exec_err!("a node without a number"),
        }
    }
}

/// The pieces of a node, each with its length in front.
fn pieces(mut bytes: &[u8]) -> Result<Vec<&[u8]>> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let piece = bytes.split_first_chunk::<4>().and_then(|(length, rest)| {
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            rest.split_at_checked(length)
        });
        let Some((piece, rest)) = piece else {
            return exec_err!("a node that ends in the middle");
        };
        pieces.push(piece);
        bytes = rest;
    }
    Ok(pieces)
}

/// Writes and reads nodes of ours.
#[derive(Clone, Debug, Default)]
pub(crate) struct Codec {
    /// Where a worker's tables are; `None` on the coordinator, which reads no plans.
    pub(crate) tables: Option<Arc<Tables>>,
    /// Who does other work than queries.
    pub(crate) errands: Option<Arc<dyn Errands>>,
}

impl Codec {
    /// The engine's codec and this one, as the engine itself composes them.
    fn composed(&self) -> ComposedPhysicalExtensionCodec {
        ComposedPhysicalExtensionCodec::new(vec![
            Arc::new(DistributedCodec {}),
            Arc::new(self.clone()),
        ])
    }

    /// A plan as bytes; an error if there is anything in it that cannot be sent.
    pub(crate) fn encode(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        session: &Arc<TaskContext>,
    ) -> Result<Vec<u8>> {
        let converter = Converter { session: Some(Arc::clone(session)) };
        let bytes =
            physical_plan_to_bytes_with_proto_converter(plan, &self.composed(), &converter)?;
        Ok(bytes.to_vec())
    }

    fn scan(
        &self,
        sent: Sent,
        filters: &[Vec<u8>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Some(tables) = &self.tables else {
            return exec_err!("this is not a worker: it opens no tables");
        };
        let table = tables.open(&sent.scan)?;
        let schema = TambourScanExec::read_schema(&sent.scan, &table)?;
        let composed = self.composed();
        let decode = PhysicalPlanDecodeContext::new(context, &composed);
        let filters = filters
            .iter()
            .map(|filter| {
                let proto = expression(filter)?;
                converter.proto_to_physical_expr(&proto, &schema, &decode)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(TambourScanExec::received(table, sent, filters)?))
    }

    /// The engine's operator for an aggregate of ours.
    fn stock(
        &self,
        stock: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
    ) -> Result<Arc<AggregateExec>> {
        let [input] = inputs else { return exec_err!("an aggregate has one input") };
        let stock = physical_plan_from_bytes_with_proto_converter(
            stock,
            context,
            &self.composed(),
            &Converter::default(),
        )?;
        let stock = stock.replace_children(
            vec![Arc::clone(input)],
            ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
        )?;
        if let Some(stock) = stock.downcast_ref::<AggregateExec>() {
            return Ok(Arc::new(stock.clone()));
        }
        exec_err!("an aggregate was expected, not {}", stock.name())
    }
}

fn expression(bytes: &[u8]) -> Result<PhysicalExprNode> {
    use prost::Message;
    PhysicalExprNode::decode(bytes).map_err(|error| exec_datafusion_err!("an expression: {error}"))
}

impl PhysicalExtensionCodec for Codec {
    fn try_decode(
        &self,
        buffer: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match Node::read(buffer)? {
            Node::Plan(bytes) => physical_plan_from_bytes_with_proto_converter(
                &bytes,
                context,
                &self.composed(),
                &Converter::default(),
            ),
            Node::Errand(errand) => {
                let runner = self.errands.clone().zip(self.tables.clone());
                Ok(Arc::new(ErrandExec::new(errand, runner)))
            }
            Node::Scan(sent, filters) => self.scan(*sent, &filters, context, converter),
            Node::Groups(stock) => {
                let stock = self.stock(&stock, inputs, context)?;
                travel::groups_over(stock).map_err(|error| exec_datafusion_err!("{error}"))
            }
            Node::Runs(stock) => {
                let stock = self.stock(&stock, inputs, context)?;
                travel::runs_over(stock).map_err(|error| exec_datafusion_err!("{error}"))
            }
        }
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        buffer: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        use prost::Message;
        let node = if let Some(envelope) = node.downcast_ref::<Envelope>() {
            Node::Plan(self.encode(Arc::clone(&envelope.plan), &envelope.session)?)
        } else if let Some(scan) = node.downcast_ref::<TambourScanExec>() {
            let (sent, filters) = scan.sent();
            let filters = filters
                .iter()
                .map(|filter| {
                    let proto = converter.physical_expr_to_proto(filter, &self.composed())?;
                    Ok(proto.encode_to_vec())
                })
                .collect::<Result<Vec<_>>>()?;
            Node::Scan(Box::new(sent), filters)
        } else if let Some(stock) = travel::groups_stock(node.as_ref()) {
            let empty = Arc::new(EmptyExec::new(stock.input().schema()));
            let stock = Arc::clone(stock) as Arc<dyn ExecutionPlan>;
            let stock = stock.replace_children(
                vec![empty],
                ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute),
            )?;
            let proto = converter.execution_plan_to_proto(&stock, &self.composed())?;
            let bytes = proto.encode_to_vec();
            if travel::is_runs(node.as_ref()) { Node::Runs(bytes) } else { Node::Groups(bytes) }
        } else if let Some(errand) = node.downcast_ref::<ErrandExec>() {
            Node::Errand(errand.errand().to_owned())
        } else {
            return not_impl_err!("{} cannot be sent to a worker", node.name());
        };
        node.write(buffer)
    }
}

/// A plan on its way.
pub(crate) struct Envelope {
    plan: Arc<dyn ExecutionPlan>,
    session: Arc<TaskContext>,
}

impl Envelope {
    pub(crate) fn new(plan: Arc<dyn ExecutionPlan>, session: Arc<TaskContext>) -> Self {
        Self { plan, session }
    }
}

impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl DisplayAs for Envelope {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Envelope")
    }
}

impl ExecutionPlan for Envelope {
    fn name(&self) -> &'static str {
        "Envelope"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        self.plan.properties()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }
    fn apply_expressions(
        &self,
        _visit: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }
    fn with_new_children(
        self: Arc<Self>,
        _children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }
    fn execute(
        &self,
        _partition: usize,
        _context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        exec_err!("a plan on its way is not executed")
    }
}
