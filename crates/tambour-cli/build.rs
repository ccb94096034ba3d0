//! The program is linked to a fixed address on Linux: see `docs/adr/0029-a-fixed-address.md`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name, value| std::env::var(name).is_ok_and(|it| it == value);
    let features = std::env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let is_static = features.split(',').any(|it| it == "crt-static");
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") && !is_static {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
