//! Other people's clients, unmodified.

use mayhap_testkit::{Server, environment, makes, root};
use std::process::Command;

fn strict() -> bool {
    std::env::var("CI").is_ok_and(|ci| ci == "true")
}

#[test]
fn clients_for_python_work_unmodified() {
    let python = environment().join("bin/python");
    if !python.exists() {
        assert!(!strict(), "{} is missing", python.display());
        eprintln!("skipped: no {}", python.display());
        return;
    }
    let script = root().join("crates/mayhap-module/tests/servers/clients.py");
    for make in makes() {
        let server = Server::start(make, &[]);
        for (library, protocol) in
            [("redis", "2"), ("redis", "3"), ("valkey", "2"), ("valkey", "3")]
        {
            let port = server.port.to_string();
            let output = Command::new(&python)
                .arg(&script)
                .args([library, protocol, &port])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{library} RESP{protocol} on {make:?}:\n{said}");
        }
    }
}

#[test]
fn the_client_for_node_works_unmodified() {
    let modules = environment().join("node_modules/redis");
    if !modules.exists() {
        // Only `cargo xtask test --live` and `soak` fetch Node where there is none.
        eprintln!("skipped: no {}", modules.display());
        return;
    }
    let script = root().join("crates/mayhap-module/tests/servers/clients.mjs");
    for make in makes() {
        let server = Server::start(make, &[]);
        for protocol in ["2", "3"] {
            let output = Command::new("node")
                .arg(&script)
                .args([&modules.display().to_string(), protocol, &server.port.to_string()])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "RESP{protocol} on {make:?}:\n{said}");
        }
    }
}
