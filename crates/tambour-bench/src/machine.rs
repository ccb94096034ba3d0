//! Where and how figures were measured. A figure without this is a rumour.

use tambour_kernel::variant::Isa;

/// The machine, and the run as its caller knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Name of the processor.
    pub cpu: String,
    /// Processors that this process may use.
    pub threads: usize,
    /// Highest instruction set level in use.
    pub isa: String,
    /// Bytes of memory; 0 where the system does not tell.
    pub memory_bytes: u64,
    /// Operating system and architecture.
    pub system: String,
    /// Version or commit of what was measured.
    pub commit: String,
    /// The command that measured.
    pub command: String,
    /// When, as text.
    pub date: String,
}

impl Machine {
    /// This machine, with `isa` as the level in use; commit, command and date are for the caller to fill in.
    pub fn detect(isa: Isa) -> Self {
        let cpu_info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let memory_info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        Self {
            cpu: cpu_name(&cpu_info),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            isa: isa.name().to_owned(),
            memory_bytes: memory_bytes(&memory_info),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            ..Self::default()
        }
    }

    /// All of it, for the JSON of a benchmark.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "cpu": self.cpu,
            "threads": self.threads,
            "isa": self.isa,
            "memory_bytes": self.memory_bytes,
            "system": self.system,
            "commit": self.commit,
            "command": self.command,
            "date": self.date,
        })
    }

    /// Name and value of every line of the block, in the order of the page.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let memory = match self.memory_bytes {
            0 => "unknown".to_owned(),
            bytes => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
        };
        let lines = [
            ("CPU", format!("{} ({} threads)", self.cpu, self.threads)),
            ("ISA", self.isa.clone()),
            ("Memory", memory),
            ("System", self.system.clone()),
            ("Commit", self.commit.clone()),
            ("Command", self.command.clone()),
            ("Date", self.date.clone()),
        ];
        lines.into_iter().filter(|(_, value)| !value.is_empty()).collect()
    }
}

/// `model name` of Linux on x86-64; elsewhere the architecture.
fn cpu_name(cpu_info: &str) -> String {
    field(cpu_info, "model name").unwrap_or(std::env::consts::ARCH).to_owned()
}

/// `MemTotal`, which Linux tells in KiB.
fn memory_bytes(memory_info: &str) -> u64 {
    let kibibytes = field(memory_info, "MemTotal").and_then(|text| text.split(' ').next());
    kibibytes.and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) * 1024
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(found, _)| found.trim() == name)?;
    Some(value.trim())
}

#[cfg(test)]
mod tests {
    use super::{cpu_name, memory_bytes};

    #[test]
    fn linux_files_are_understood() {
        let cpu_info = "processor\t: 0\nmodel name\t: AMD EPYC\nmodel name\t: other\n";
        assert_eq!(cpu_name(cpu_info), "AMD EPYC");
        assert_eq!(cpu_name("nothing"), std::env::consts::ARCH);
        assert_eq!(memory_bytes("MemFree: 1 kB\nMemTotal:       24 kB\n"), 24 * 1024);
        assert_eq!(memory_bytes(""), 0);
    }
}
