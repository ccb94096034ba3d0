//! Measures random reads of records: `records DIRECTORY LOG_BYTES [FILE OF LINES]`.
use std::path::PathBuf;
use tambour_bench::records::{Corpus, Settings, generated, recovery, run, table};
use tambour_record::{Batch, disk};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let directory = PathBuf::from(arguments.next().ok_or("a directory")?);
    let log_bytes: usize = arguments.next().ok_or("bytes of the log")?.parse()?;
    let settings = Settings { rounds: 5, reads: 200_000, seed: 1, log_bytes, directory };
    let mut corpora = Vec::new();
    if log_bytes > 0 {
        corpora.push(generated(&settings));
    }
    for file in arguments {
        let text = std::fs::read(&file)?;
        let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        corpora.push(Corpus { name: file, records: lines.collect::<Batch>() });
    }
    #[expect(clippy::disallowed_methods, reason = "an example is an edge: it reads the clock")]
    let start = std::time::Instant::now();
    let recovered = recovery(&disk(), &corpora[0].records, &settings, &|| start.elapsed())?;
    let results = run(&corpora, &settings, &mut |_| ())?;
    #[expect(clippy::print_stdout, reason = "an example prints")]
    {
        println!("{recovered:#?}");
    }
    for corpus in &results.corpora {
        let table = table(corpus);
        #[expect(clippy::print_stdout, reason = "an example prints")]
        {
            println!("{}\n{}", table.title, table.to_text());
        }
    }
    Ok(())
}
