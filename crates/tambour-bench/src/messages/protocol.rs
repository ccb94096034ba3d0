//! Messages of a protocol: JSON-RPC calls of many clients, each with its own session, device and user agent.

use std::fmt::Write;
use tambour_report::random::Random;

const METHODS: [&str; 8] = [
    "feed.list",
    "presence.update",
    "message.send",
    "cart.addItem",
    "orders.get",
    "search.query",
    "telemetry.push",
    "profile.update",
];
const SYSTEMS: [&str; 5] = [
    "Macintosh; Intel Mac OS X 10_15_7",
    "Windows NT 10.0; Win64; x64",
    "X11; Linux x86_64",
    "Linux; Android 14; Pixel 8",
    "iPhone; CPU iPhone OS 17_4 like Mac OS X",
];
const LOCALES: [&str; 6] = ["en-US", "de-DE", "fr-FR", "ja-JP", "pt-BR", "en-GB"];
const WORDS: [&str; 24] = [
    "drum", "column", "marble", "order", "invoice", "river", "garden", "window", "paper", "silver",
    "north", "coffee", "summer", "train", "bridge", "market", "yellow", "engine", "letter",
    "music", "stone", "harbour", "winter", "light",
];

/// A client.
pub(super) struct Client {
    session: u128,
    device: u64,
    user: u64,
    agent: String,
    locale: &'static str,
    calls: u64,
    milliseconds: u64,
}

impl Client {
    pub(super) fn new(random: &mut Random) -> Self {
        let system = pick(random, &SYSTEMS);
        let (major, build) = (110 + random.below(16), random.below(6000));
        let agent = format!(
            "Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.{build}.{}",
            random.below(200)
        );
        Self {
            session: u128::from(random.number()) << 64 | u128::from(random.number()),
            device: random.number() >> 16,
            user: random.below(40_000_000),
            agent,
            locale: pick(random, &LOCALES),
            calls: random.below(50),
            milliseconds: 1_790_000_000_000 + random.below(10_000_000_000),
        }
    }

    /// Its next message.
    pub(super) fn message(&mut self, random: &mut Random) -> Vec<u8> {
        self.calls += 1;
        self.milliseconds += 20 + random.below(60_000);
        // Two draws: some methods are called far more often than others.
        let place = random.below(METHODS.len() as u64).min(random.below(METHODS.len() as u64));
        let method = METHODS[usize::try_from(place).unwrap_or(0)];
        let mut text = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"{method}","params":{{"session":"{:032x}","device":"{:012x}","locale":"{}","ts":{},"#,
            self.calls, self.session, self.device, self.locale, self.milliseconds
        );
        let user = self.user;
        let _ = match method {
            "feed.list" => write!(
                text,
                r#""user":{user},"limit":{},"cursor":"{:016x}""#,
                10 * (1 + random.below(5)),
                random.number()
            ),
            "presence.update" => write!(
                text,
                r#""user":{user},"status":"{}","idle":{}"#,
                pick(random, &["online", "away", "busy"]),
                random.below(900)
            ),
            "message.send" => write!(
                text,
                r#""user":{user},"to":{},"text":"{}""#,
                random.below(40_000_000),
                sentence(random)
            ),
            "cart.addItem" => write!(
                text,
                r#""user":{user},"sku":"SKU-{:06}","quantity":{},"price":{}.{:02}"#,
                random.below(900_000),
                1 + random.below(4),
                random.below(300),
                random.below(100)
            ),
            "orders.get" => write!(
                text,
                r#""order":"{:08X}","expand":["items","shipping"]"#,
                random.below(1 << 32)
            ),
            "search.query" => write!(
                text,
                r#""q":"{} {}","page":{},"filters":{{"stock":true,"max":{}}}"#,
                pick(random, &WORDS),
                pick(random, &WORDS),
                1 + random.below(5),
                10 * random.below(100)
            ),
            "telemetry.push" => write!(
                text,
                r#""events":[{{"n":"click","x":{},"y":{},"d":{}}},{{"n":"scroll","x":0,"y":{},"d":{}}}]"#,
                random.below(1920),
                random.below(1080),
                random.below(400),
                random.below(9000),
                random.below(4000)
            ),
            _ => write!(
                text,
                r#""user":{user},"fields":{{"newsletter":{},"theme":"{}"}}"#,
                random.below(2) == 0,
                pick(random, &["dark", "light", "system"])
            ),
        };
        let _ = write!(text, r#"}},"ua":"{}"}}"#, self.agent);
        text.into_bytes()
    }
}

fn pick<T: Copy>(random: &mut Random, list: &[T]) -> T {
    list[usize::try_from(random.below(list.len() as u64)).unwrap_or(0)]
}

fn sentence(random: &mut Random) -> String {
    let words = (0..2 + random.below(6)).map(|_| pick(random, &WORDS));
    words.collect::<Vec<_>>().join(" ")
}
