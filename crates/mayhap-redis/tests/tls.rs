//! A server behind TLS: usable only by clients that trust its certificate.
//!
//! Certificates are made by `openssl`. The trusted authority is a setting of the process
//! (`SSL_CERT_FILE`), so the client is a separate process: this program, run again.

use mayhap_redis::redis::{Value, cmd};
use mayhap_redis::{Address, LinkError, Request, Router};
use mayhap_testkit::{Make, Server, eventually, free_port};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

fn openssl(dir: &Path, args: &str) {
    let output = Command::new("openssl").args(args.split(' ')).current_dir(dir).output();
    let output = output.expect("openssl is here");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// An authority, and its certificate for `localhost`; clients use the same one.
fn certificates(dir: &Path) {
    std::fs::write(dir.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n").unwrap();
    let subject = "-subj /CN=mayhap-test -nodes -newkey rsa:2048 -sha256";
    openssl(dir, &format!("req -x509 {subject} -days 2 -keyout ca.key -out ca.pem"));
    openssl(dir, &format!("req {subject} -keyout server.key -out server.csr"));
    let signed =
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -sha256";
    openssl(dir, &format!("{signed} -extfile names -out server.pem"));
}

/// `None` if there is no server, or none with TLS.
fn start(dir: &Path, asks_clients: &str) -> Option<(Server, u16)> {
    let (port, file) = (free_port(), |name: &str| dir.join(name).display().to_string());
    let mut args = ["--port", "0", "--tls-port"].map(str::to_owned).to_vec();
    args.extend([port.to_string(), "--tls-auth-clients".to_owned(), asks_clients.to_owned()]);
    args.extend(["--tls-ca-cert-file".to_owned(), file("ca.pem")]);
    args.extend(["--tls-cert-file".to_owned(), file("server.pem")]);
    args.extend(["--tls-key-file".to_owned(), file("server.key")]);
    let mut server = Server::spawn(Make::Redis, &args).ok()?;
    // One that is built without TLS ends.
    let listens = || TcpStream::connect(("127.0.0.1", port)).is_ok();
    eventually("a server behind TLS", || listens() || !server.is_alive());
    if !server.is_alive() {
        return None;
    }
    Some((server, port))
}

#[test]
#[ignore = "a part of a_server_behind_tls_answers_those_who_trust_it"]
fn client() {
    let Ok(url) = std::env::var("MAYHAP_TLS_URL") else { return };
    let router = Router::new(Address::parse(&url).unwrap().0, Duration::ZERO);
    match router.send(&[Request::command(&cmd("PING"))], router.options()) {
        Ok(replies) => {
            assert_eq!(replies, [Ok(Value::SimpleString("PONG".to_owned()))]);
            println!("answered");
        }
        Err(error) => println!("refused: {error}"),
    }
}

fn ask(url: &str, trusted: &Path) -> String {
    let output: Output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "client", "--ignored", "--nocapture"])
        .env("MAYHAP_TLS_URL", url)
        .env("SSL_CERT_FILE", trusted)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_server_behind_tls_answers_those_who_trust_it() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    certificates(dir.path());
    certificates(other.path());
    let Some((_server, port)) = start(dir.path(), "no") else {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "no redis-server with TLS, and CI=true"
        );
        eprintln!("skipped: no redis-server with TLS here (apt-get install redis-server)");
        return;
    };
    let url = format!("rediss://localhost:{port}/0");
    let said = ask(&url, &dir.path().join("ca.pem"));
    assert!(said.contains("answered"), "{said}");
    let said = ask(&url, &other.path().join("ca.pem"));
    assert!(said.contains("certificate") && !said.contains("answered"), "{said}");
    let said = ask(&format!("redis://localhost:{port}/0"), &dir.path().join("ca.pem"));
    assert!(!said.contains("answered"), "{said}");
}

/// What the clients for threads and for tasks answer: nothing, or what is wrong for good.
fn asked(url: &str) -> Option<LinkError> {
    let (address, _) = Address::parse(url).unwrap();
    let router = Router::new(address.clone(), Duration::ZERO);
    let ping = || [Request::command(&cmd("PING"))];
    let answer = router.send(&ping(), router.options());
    #[cfg(feature = "async")]
    {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let tasks = mayhap_redis::AsyncRouter::new(address);
        let same = runtime.block_on(tasks.send(&ping(), tasks.options()));
        assert_eq!(same, answer, "{url}");
    }
    let error = answer.err()?;
    assert!(matches!(error, LinkError::Tls { .. }), "{error:?}");
    assert!(!error.is_of_the_moment() && error.to_string().contains("localhost"), "{error}");
    Some(error)
}

#[test]
fn what_is_wrong_with_certificates_and_schemes_is_no_outage() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    certificates(dir.path());
    certificates(other.path());
    let file = |dir: &Path, name: &str| dir.join(name).display().to_string();
    let (ours, theirs) = (file(dir.path(), "ca.pem"), file(other.path(), "ca.pem"));
    let Some((_open, port)) = start(dir.path(), "no") else { return };
    assert_eq!(asked(&format!("rediss://localhost:{port}?cacert={ours}")), None);
    for (url, word) in [
        (format!("rediss://localhost:{port}?cacert={theirs}"), "certificate"),
        (format!("rediss://localhost:{port}?cacert=/nowhere.pem"), "/nowhere.pem"),
        (format!("redis://localhost:{port}"), "write rediss://"),
        (format!("redis+cluster://localhost:{port}"), "write rediss://"),
    ] {
        let said = asked(&url).unwrap().to_string();
        assert!(said.contains(word), "{url}: {said}");
    }
    // Servers ask their clients for a certificate unless they are told not to.
    let (_strict, port) = start(dir.path(), "yes").unwrap();
    let shown = |dir: &Path| {
        let (certificate, key) = (file(dir, "server.pem"), file(dir, "server.key"));
        format!("rediss://localhost:{port}?cacert={ours}&cert={certificate}&key={key}")
    };
    assert_eq!(asked(&shown(dir.path())), None);
    let said = asked(&format!("rediss://localhost:{port}?cacert={ours}")).unwrap().to_string();
    assert!(said.contains("cert=FILE"), "{said}");
    asked(&shown(other.path())).unwrap();
    // And one without TLS.
    let plain = Server::launch(Make::Redis, &[]).unwrap();
    let port = plain.port;
    let said = asked(&format!("rediss://localhost:{port}?cacert={ours}")).unwrap().to_string();
    assert!(said.contains("does not speak it"), "{said}");
}
