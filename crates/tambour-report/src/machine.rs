//! Where and how figures were measured. A figure without this is a rumour.

use crate::clock;
use std::path::Path;
use tambour_kernel::variant::Isa;

/// The machine, and the run as its caller knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// Name of the processor.
    pub cpu: String,
    /// What tells processors of one name apart: maker, family, model, stepping. Empty where the system does not tell.
    pub model: String,
    /// Caches that a core sees, the nearest first. Empty where the system does not tell.
    pub caches: String,
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
            model: cpu_model(&cpu_info),
            caches: caches(Path::new("/sys/devices/system/cpu/cpu0/cache")),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            isa: isa.name().to_owned(),
            memory_bytes: memory_bytes(&memory_info),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            ..Self::default()
        }
    }

    /// This machine and this run: its command line and the commit of the build, now.
    pub fn of_this_run(isa: Isa) -> Self {
        let version = env!("CARGO_PKG_VERSION");
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        Self {
            // Release builds know from which commit they are (build.rs).
            commit: match option_env!("TAMBOUR_COMMIT") {
                Some(commit) => format!("{version} ({commit})"),
                None => version.to_owned(),
            },
            command: words.collect::<Vec<_>>().join(" "),
            date: clock::today(),
            ..Self::detect(isa)
        }
    }

    /// All of it, for the JSON of a benchmark.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "cpu": self.cpu,
            "model": self.model,
            "caches": self.caches,
            "threads": self.threads,
            "isa": self.isa,
            "memory_bytes": self.memory_bytes,
            "system": self.system,
            "commit": self.commit,
            "command": self.command,
            "date": self.date,
        })
    }

    /// The same lines as on the page, for JSON that has them by name.
    pub fn named(&self) -> serde_json::Map<String, serde_json::Value> {
        let lines = self.lines().into_iter();
        lines.map(|(name, value)| (name.to_owned(), value.into())).collect()
    }

    /// Name and value of every line of the block, in the order of the page.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let memory = match self.memory_bytes {
            0 => "unknown".to_owned(),
            bytes => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
        };
        let lines = [
            ("CPU", format!("{} ({} threads)", self.cpu, self.threads)),
            ("Model", self.model.clone()),
            ("Caches", self.caches.clone()),
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

/// Maker, family, model and stepping of Linux on x86-64; implementer, part and revision on AArch64.
fn cpu_model(cpu_info: &str) -> String {
    let names = [
        ("vendor_id", ""),
        ("cpu family", "family "),
        ("model", "model "),
        ("stepping", "stepping "),
        ("CPU implementer", "implementer "),
        ("CPU part", "part "),
        ("CPU revision", "revision "),
    ];
    let told = names
        .iter()
        .filter_map(|(name, word)| field(cpu_info, name).map(|value| format!("{word}{value}")));
    told.collect::<Vec<_>>().join(", ")
}

/// What Linux says of the caches of a core: `L1 data 32K, L1 instruction 32K, L2 512K, L3 32768K`.
fn caches(directory: &Path) -> String {
    let cache = |index: usize| {
        let read = |name: &str| {
            let path = directory.join(format!("index{index}")).join(name);
            std::fs::read_to_string(path).ok().map(|text| text.trim().to_lowercase())
        };
        let (level, kind, size) = (read("level")?, read("type")?, read("size")?.to_uppercase());
        let kind = if kind == "unified" { String::new() } else { format!(" {kind}") };
        Some(format!("L{level}{kind} {size}"))
    };
    (0..8).map_while(cache).collect::<Vec<_>>().join(", ")
}

/// Bytes of memory of this machine; 0 where the system does not tell.
pub fn total_memory() -> u64 {
    memory_bytes(&std::fs::read_to_string("/proc/meminfo").unwrap_or_default())
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
    use super::{caches, cpu_model, cpu_name, memory_bytes};
    use std::path::Path;

    #[test]
    fn linux_files_are_understood() {
        let cpu_info = "processor\t: 0\nmodel name\t: AMD EPYC\nmodel name\t: other\n";
        assert_eq!(cpu_name(cpu_info), "AMD EPYC");
        assert_eq!(cpu_name("nothing"), std::env::consts::ARCH);
        let family =
            "vendor_id : A\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: B\nstepping\t: 2\n";
        assert_eq!(cpu_model(family), "A, family 25, model 1, stepping 2");
        assert_eq!(
            cpu_model("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"),
            "implementer 0x41, part 0xd0c"
        );
        assert_eq!(cpu_model("nothing"), "");
        assert_eq!(caches(Path::new("/nowhere")), "");
        assert_eq!(memory_bytes("MemFree: 1 kB\nMemTotal:       24 kB\n"), 24 * 1024);
        assert_eq!(memory_bytes(""), 0);
    }
}
