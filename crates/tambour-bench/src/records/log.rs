//! A log as servers write it, made from a seed: JSON, one event per record, 250 to 550 bytes.
//!
//! Four shapes of events; hosts, users, paths and user agents by Zipf's law; a trace id of 128 random bits in half of them.
//! Records do not depend on each other: what they share is their shapes and names, which is what a dictionary can learn.

use std::fmt::Write;
use tambour_record::Batch;
use tambour_report::random::Random;

const SERVICES: [&str; 12] = [
    "checkout-api",
    "catalog-search",
    "session-gateway",
    "payment-worker",
    "image-resizer",
    "recommendation",
    "inventory-sync",
    "notification-hub",
    "user-profile",
    "audit-trail",
    "order-router",
    "price-engine",
];
const REGIONS: [&str; 4] = ["eu-west-1", "eu-central-1", "us-east-1", "ap-south-1"];
const METHODS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];
const RESOURCES: [&str; 16] = [
    "orders",
    "customers",
    "products",
    "carts",
    "sessions",
    "invoices",
    "shipments",
    "reviews",
    "images",
    "prices",
    "vouchers",
    "addresses",
    "returns",
    "wishlists",
    "suppliers",
    "reports",
];
const BROWSERS: [&str; 6] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)",
    "okhttp/4.12.0 (Android 14; Pixel 8)",
    "python-requests/2.31.0",
];
const MESSAGES: [&str; 10] = [
    "connection pool exhausted, waiting for a free connection",
    "retrying request after upstream timeout",
    "cache entry expired, loading from database",
    "circuit breaker opened for downstream service",
    "message processed and acknowledged",
    "request body failed validation against schema",
    "token refreshed for session before expiry",
    "slow consumer detected, lag above threshold",
    "configuration reloaded from remote source",
    "background job finished within its deadline",
];

/// Draws ranks by Zipf's law.
struct Zipf {
    /// Sum of the weights up to each rank.
    sums: Vec<f64>,
}

impl Zipf {
    fn new(ranks: u32) -> Self {
        let mut sum = 0.0;
        let sums = (1..=ranks).map(|rank| {
            sum += 1.0 / f64::from(rank);
            sum
        });
        Self { sums: sums.collect() }
    }

    fn draw(&self, random: &mut Random) -> usize {
        let total = self.sums.last().copied().unwrap_or(0.0);
        let point = (random.number() >> 11) as f64 / (1_u64 << 53) as f64 * total;
        self.sums.partition_point(|sum| *sum < point)
    }
}

/// Makes the log.
pub(crate) struct Log {
    random: Random,
    hosts: Zipf,
    users: Zipf,
    paths: Zipf,
    agents: Zipf,
    services: Zipf,
    /// Milliseconds since 1970.
    now: u64,
}

impl Log {
    pub(crate) fn new(seed: u64) -> Self {
        let random = Random::new(seed);
        let (hosts, users, paths) = (Zipf::new(200), Zipf::new(20_000), Zipf::new(3000));
        let (agents, services) = (Zipf::new(60), Zipf::new(12));
        Self { random, hosts, users, paths, agents, services, now: 1_700_000_000_000 }
    }

    fn below(&mut self, end: u64) -> usize {
        usize::try_from(self.random.below(end)).unwrap_or(0)
    }

    /// One event after another, with its time in milliseconds, until there are this many bytes.
    pub(crate) fn batch(&mut self, bytes: usize) -> Batch {
        let mut batch = Batch::default();
        let mut text = String::new();
        while batch.bytes().len() < bytes {
            text.clear();
            self.event(&mut text);
            batch.push(text.as_bytes(), None);
        }
        batch
    }

    /// The next event. Text is written to a string, which cannot fail.
    fn event(&mut self, text: &mut String) {
        self.now += self.random.below(40);
        let seconds = self.now / 1000 % 86_400;
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        let day = 14 + self.now / 86_400_000 % 7;
        let (service, host) =
            (self.services.draw(&mut self.random), self.hosts.draw(&mut self.random));
        let level = ["INFO", "INFO", "INFO", "WARN", "DEBUG", "ERROR"][self.below(6)];
        let region = REGIONS[host % 4];
        let _ = write!(
            text,
            "{{\"@timestamp\":\"2023-11-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z\",\"level\":\"{level}\",\
             \"service\":\"{}\",\"host\":\"ip-10-{}-{}-{}.{region}.compute.internal\",\"pid\":{},",
            self.now % 1000,
            SERVICES[service % 12],
            host % 8,
            host * 7 % 250,
            host * 13 % 250,
            1000 + host * 17 % 8000,
        );
        match self.below(4) {
            0 => self.request(text),
            1 => self.message(text),
            2 => self.query(text),
            _ => self.audit(text),
        }
        if self.below(2) == 0 {
            let _ = write!(
                text,
                ",\"trace_id\":\"{:016x}{:016x}\"",
                self.random.number(),
                self.random.number()
            );
        }
        text.push('}');
    }

    fn user(&mut self) -> usize {
        self.users.draw(&mut self.random)
    }

    fn request(&mut self, text: &mut String) {
        let path = self.paths.draw(&mut self.random);
        let agent = self.agents.draw(&mut self.random);
        let status = [200, 200, 200, 200, 201, 204, 304, 400, 404, 500][self.below(10)];
        let _ = write!(
            text,
            "\"event\":\"http_request\",\"method\":\"{}\",\"path\":\"/api/v2/{}/{}\",\"status\":{status},\"bytes\":{},\
             \"duration_ms\":{},\"user_agent\":\"{} Build/{}\",\"user\":{{\"id\":\"u-{:06}\",\"plan\":\"{}\"}}",
            METHODS[path % 4],
            RESOURCES[path % 16],
            path * 31,
            self.random.below(50_000),
            self.random.below(900),
            BROWSERS[agent % 6],
            100 + agent,
            self.user(),
            ["free", "basic", "business"][path % 3],
        );
    }

    fn message(&mut self, text: &mut String) {
        let kind = self.below(10);
        let _ = write!(
            text,
            "\"event\":\"application\",\"logger\":\"com.example.{}.handler.RequestHandler\",\"thread\":\"worker-{}\",\
             \"message\":\"{}\",\"attempt\":{},\"queue\":\"{}-events\",\"elapsed_ms\":{},\"tenant\":\"tenant-{}\"",
            RESOURCES[kind],
            self.below(32),
            MESSAGES[kind],
            self.below(5),
            RESOURCES[kind + 3],
            self.random.below(5000),
            self.hosts.draw(&mut self.random),
        );
    }

    fn query(&mut self, text: &mut String) {
        let table = self.below(16);
        let _ = write!(
            text,
            "\"event\":\"db_query\",\"database\":\"shop_production\",\"statement\":\"SELECT id, status, updated_at FROM {} \
             WHERE customer_id = ? AND status = ? ORDER BY updated_at DESC LIMIT {}\",\"rows\":{},\"duration_us\":{},\
             \"pool\":{{\"active\":{},\"idle\":{}}},\"user\":{{\"id\":\"u-{:06}\"}}",
            RESOURCES[table],
            [10, 20, 50, 100][table % 4],
            self.below(100),
            self.random.below(90_000),
            self.below(40),
            self.below(40),
            self.user(),
        );
    }

    fn audit(&mut self, text: &mut String) {
        let action = self.below(6);
        let _ = write!(
            text,
            "\"event\":\"audit\",\"action\":\"{}\",\"actor\":{{\"id\":\"u-{:06}\",\"role\":\"{}\",\"ip\":\"192.168.{}.{}\"}},\
             \"target\":{{\"type\":\"{}\",\"id\":{}}},\"result\":\"{}\",\"reason\":\"policy {} evaluated for {}\"",
            ["login", "logout", "update", "delete", "grant", "export"][action],
            self.user(),
            ["customer", "operator", "administrator"][action % 3],
            self.below(256),
            self.below(256),
            RESOURCES[self.below(16)],
            self.random.below(10_000_000),
            ["allowed", "denied"][action % 2],
            ["default-deny", "business-hours", "least-privilege"][action % 3],
            SERVICES[action],
        );
    }
}

#[cfg(test)]
mod tests {
    use super::Log;

    #[test]
    fn events_are_json_of_the_promised_length_and_depend_on_the_seed_only() {
        let batch = Log::new(1).batch(400_000);
        assert_eq!(batch, Log::new(1).batch(400_000));
        assert_ne!(batch, Log::new(2).batch(400_000));
        for record in batch.iter() {
            serde_json::from_slice::<serde_json::Value>(record).unwrap();
        }
        let band = batch.iter().filter(|record| (250..=550).contains(&record.len())).count();
        assert_eq!(band, batch.len(), "{:?}", batch.lengths().min().zip(batch.lengths().max()));
        let has_trace = |record: &[u8]| record.windows(10).any(|at| at == b"\"trace_id\"");
        let traced = batch.iter().filter(|record| has_trace(record)).count();
        assert!((batch.len() / 3..batch.len() * 3 / 4).contains(&traced));
    }
}
