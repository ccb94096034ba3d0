//! Messages on many connections: speed, size and memory of compressing them.
//!
//! Every contender has the two ends of all connections. Messages come in a random order of connections. The first third of
//! them warms up and fills the memory; the rest is timed, in processor time of the thread, a batch of messages at a time:
//! first all are encoded, then all are decoded and compared. Every pass begins with new ends; passes of the contenders take
//! turns. Dictionaries are trained on messages of other connections.
//!
//! Memory is counted twice: as the libraries declare it, and as the process grew in the first pass.

mod contender;
mod measure;
mod output;
mod protocol;

pub use contender::Way;
pub use measure::Timing;

use crate::BenchError;
use crate::input::Input;
use contender::{CHECK, Shared};
use tambour_message::Trainer;
use tambour_report::random::Random;

/// Bytes of the dictionaries.
const DICTIONARY_BYTES: usize = 64 << 10;
/// Messages that dictionaries are trained on, at most.
const SAMPLES_MAX: usize = 20_000;

/// What to measure, and how often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Connections.
    pub connections: usize,
    /// Messages of each connection, on average.
    pub messages: usize,
    /// Passes of every contender; at least one.
    pub rounds: usize,
    /// Seed of messages and their order.
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { connections: 10_000, messages: 30, rounds: 3, seed: 1 }
    }
}

/// All that was measured.
#[derive(Clone, Debug)]
pub struct Results {
    /// What was asked for.
    pub settings: Settings,
    /// Number of messages.
    pub messages: usize,
    /// Their bytes.
    pub bytes: usize,
    /// One per contender, in the order of [`Way::ALL`].
    pub timings: Vec<Timing>,
}

impl Results {
    /// What was measured of a contender.
    pub fn of(&self, way: Way) -> Option<&Timing> {
        self.timings.iter().find(|timing| timing.way == way)
    }
}

/// Messages, each with its connection.
type Messages = Vec<(usize, Vec<u8>)>;

/// Measures. Without inputs, messages are generated; lines of inputs are messages, those of a connection one after another.
pub fn run(
    inputs: &[Input],
    settings: &Settings,
    observe: &mut dyn FnMut(&str),
) -> Result<Results, BenchError> {
    let (samples, messages) = if inputs.is_empty() {
        (generated(SAMPLES_MAX / 30, settings, 1), generated(settings.connections, settings, 2))
    } else {
        given(inputs, settings)?
    };
    let shared = train(&samples)?;
    let timings = measure::all(&messages, &shared, settings, observe)?;
    let bytes = messages.iter().map(|(_, message)| message.len()).sum();
    Ok(Results { settings: settings.clone(), messages: messages.len(), bytes, timings })
}

fn generated(connections: usize, settings: &Settings, stream: u64) -> Messages {
    let mut random = Random::new(settings.seed.wrapping_mul(1000).wrapping_add(stream));
    let mut clients: Vec<_> =
        (0..connections).map(|_| protocol::Client::new(&mut random)).collect();
    let mut messages = Vec::with_capacity(connections * settings.messages);
    for _ in 0..connections * settings.messages {
        let connection = usize::try_from(random.below(connections as u64)).unwrap_or(0);
        messages.push((connection, clients[connection].message(&mut random)));
    }
    messages
}

/// Lines of files: the first fifth is for training.
fn given(inputs: &[Input], settings: &Settings) -> Result<(Messages, Messages), BenchError> {
    let lines = inputs.iter().flat_map(|input| input.bytes.split(|&byte| byte == b'\n'));
    let lines: Vec<&[u8]> = lines.filter(|line| !line.is_empty()).collect();
    let split = lines.len() / 5;
    if split < 100 {
        return Err(BenchError::NoInput { what: "the first fifth of the messages".to_owned() });
    }
    let number = |lines: &[&[u8]]| -> Messages {
        let line = |(place, line): (usize, &&[u8])| (place / settings.messages, line.to_vec());
        lines.iter().enumerate().map(line).collect()
    };
    let mut messages = number(&lines[split..]);
    let connections = messages.last().map_or(1, |&(last, _)| last + 1);
    messages.truncate(settings.connections.min(connections) * settings.messages);
    // Connections in a random order, each with its messages in theirs.
    let mut order: Vec<usize> = messages.iter().map(|&(connection, _)| connection).collect();
    Random::new(settings.seed).shuffle(&mut order);
    let mut queues = vec![std::collections::VecDeque::new(); connections];
    for (connection, message) in messages {
        queues[connection].push_back(message);
    }
    let next = |connection: usize| Some((connection, queues[connection].pop_front()?));
    Ok((number(&lines[..split]), order.into_iter().filter_map(next).collect()))
}

fn train(samples: &Messages) -> Result<Shared, BenchError> {
    let failed =
        |error: tambour_message::MessageError| BenchError::Message { reason: error.to_string() };
    let mut trainer = Trainer::default().with_check(CHECK);
    let (mut bytes, mut lengths) = (Vec::new(), Vec::new());
    for (connection, sample) in samples.iter().take(SAMPLES_MAX) {
        trainer.add_from(*connection as u64, sample).map_err(failed)?;
        bytes.extend_from_slice(sample);
        lengths.push(sample.len());
    }
    let dictionary = trainer.train().map_err(failed)?.to_bytes();
    let mut zstd = vec![0; DICTIONARY_BYTES];
    let trained = zstd_safe::train_from_buffer(&mut zstd[..], &bytes, &lengths);
    let length = trained.map_err(|code| BenchError::Message {
        reason: zstd_safe::get_error_name(code).to_owned(),
    })?;
    zstd.truncate(length);
    Ok(Shared::new(dictionary, &zstd))
}

#[cfg(test)]
mod tests {
    use super::{Results, Settings, Way, run};
    use crate::findings::Findings;
    use crate::input::Input;
    use tambour_report::Machine;

    fn small(inputs: &[Input]) -> Results {
        let settings = Settings { connections: 40, messages: 10, rounds: 1, seed: 5 };
        run(inputs, &settings, &mut |_| {}).unwrap()
    }

    #[test]
    fn every_contender_is_measured_and_told() {
        let results = small(&[]);
        assert_eq!(results.timings.len(), Way::ALL.len());
        let ratio = |way| results.of(way).unwrap().ratio();
        assert!(ratio(Way::TambourPinned) > ratio(Way::Tambour));
        assert!(ratio(Way::SingleDictionary) > ratio(Way::Single));
        let text = results.table().to_text();
        for way in Way::ALL {
            assert!(text.contains(way.name()), "{text}");
        }
        let json = results.to_json(&Machine::default());
        assert_eq!(json["contenders"].as_array().map(Vec::len), Some(6));
        let page = results.page(Machine::default()).render().unwrap();
        assert!(page.contains("id=\"speeds\"") && page.contains("id=\"memory\""));
    }

    #[test]
    fn lines_of_a_file_are_messages() {
        let line =
            |i: usize| format!("{{\"event\":\"open\",\"number\":{i},\"of\":\"{}\"}}\n", i * i);
        let bytes = (0..1000).map(line).collect::<String>().into_bytes();
        let results = small(&[Input { name: "lines".to_owned(), bytes }]);
        assert_eq!(results.messages, 400);
        assert!(results.of(Way::Tambour).unwrap().ratio() > 2.0);
    }
}
