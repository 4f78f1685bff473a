//! `rei`: parse, run, exit code.

fn main() {
    tracing_subscriber::fmt()
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .with_writer(std::io::stderr)
        .init();
    let code = rei::commands::doctor::run(&rei::cli::DoctorArgs { json: false });
    eprintln!("{code:?}");
}
