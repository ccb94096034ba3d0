//! The page in a browser: every figure is drawn, nothing is wider than the window, nothing is fetched.
//!
//! Needs Chromium (Debian's package `chromium`) and fails without it; `cargo xtask report` runs it.

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use std::path::Path;
    use std::process::Command;
    use tambour_bench::Findings;
    use tambour_bench::decode::{self, Settings};
    use tambour_bench::input;
    use tambour_kernel::variant::Isa;
    use tambour_report::Machine;

    /// Looks at the page in a frame of some width, and writes what it found where `--dump-dom` shows it.
    const PROBE: &str = r#"<!doctype html><meta charset="utf-8"><body><pre id="found"></pre><script>
const frame = document.createElement("iframe");
frame.style.width = "WIDTHpx";
frame.style.height = "800px";
frame.srcdoc = PAGE;
frame.onload = () => {
  const page = frame.contentDocument;
  const visible = (element) => element.getClientRects().length > 0;
  const figures = {};
  for (const figure of page.querySelectorAll("figure")) {
    const drawings = [...figure.querySelectorAll("svg")].filter(visible);
    figures[figure.id] = {
      drawings: drawings.length,
      width: Math.min(...drawings.map((it) => it.getBoundingClientRect().width)),
      text: Math.min(...drawings.flatMap((it) => [...it.querySelectorAll("text")]
        .map((text) => text.getBoundingClientRect().height))),
      inside: drawings.every((it) => [...it.querySelectorAll("text")].every((text) => {
        const box = text.getBoundingClientRect();
        return box.left >= 0 && box.right <= page.documentElement.clientWidth;
      })),
      marks: figure.querySelectorAll("svg title").length,
      rows: figure.querySelectorAll("tbody tr").length,
    };
  }
  document.getElementById("found").textContent = JSON.stringify({
    figures,
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    fetched: frame.contentWindow.performance.getEntriesByType("resource").length,
  });
};
document.body.append(frame);
</script>"#;

    /// What Chromium found in a window of some width.
    fn look(html: &str, width: u32, directory: &Path) -> Value {
        // Inside a script, the end of a script must not be spelled out.
        let quoted = serde_json::to_string(html).unwrap().replace("</", "<\\/");
        let probe = PROBE.replace("WIDTH", &width.to_string()).replace("PAGE", &quoted);
        let path = directory.join(format!("probe-{width}.html"));
        std::fs::write(&path, probe).unwrap();
        let output = Command::new("chromium")
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"])
            .arg(format!("--user-data-dir={}", directory.join("profile").display()))
            .args(["--virtual-time-budget=10000", "--dump-dom"])
            .arg(format!("file://{}", path.display()))
            .output()
            .expect("chromium cannot be started; install Debian's package chromium");
        let dom = String::from_utf8_lossy(&output.stdout);
        let found =
            dom.split_once("<pre id=\"found\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let (found, _) = found
            .unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&output.stderr)));
        serde_json::from_str(found).unwrap_or_else(|error| panic!("{error}: {found:?}"))
    }

    #[test]
    #[ignore = "needs Chromium; cargo xtask report runs it"]
    fn every_figure_is_drawn_on_desks_and_phones() {
        let mut inputs = input::study(100_000);
        inputs.extend(input::tpch(100_000));
        let settings =
            Settings { rounds: 2, block_bytes: 4096, frontier: true, ..Settings::default() };
        let results = decode::run(&inputs, &settings, &mut |_| {}).unwrap();
        let page = results.page(Machine::detect(Isa::best()));
        let html = page.render().unwrap();
        let directory = tempfile::tempdir().unwrap();
        for width in [1280, 390, 320] {
            let found = look(&html, width, directory.path());
            assert_eq!(found["overflow"], 0, "the page is wider than {width}");
            assert_eq!(found["fetched"], 0, "the page fetches something");
            let figures = found["figures"].as_object().unwrap();
            assert_eq!(figures.len(), page.figure_ids().count());
            for id in page.figure_ids() {
                let figure = &found["figures"][id];
                let place = format!("{id} at {width}: {figure}");
                assert!(figure["drawings"].as_u64().unwrap() >= 1, "{place}");
                assert!(figure["width"].as_f64().unwrap() >= 100.0, "{place}");
                assert!(figure["text"].as_f64().unwrap() >= 9.0, "{place}");
                assert_eq!(figure["inside"], true, "{place}");
                assert!(figure["marks"].as_u64().unwrap() > 0, "{place}");
                assert!(figure["rows"].as_u64().unwrap() > 0, "{place}");
            }
        }
    }
}
