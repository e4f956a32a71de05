//! Against a server of this process that follows a script; its origin is allowed.

use crate::message::PAGE_BYTES;
use crate::{Answer, Fetcher, Limits, Origin, Page, Refusal, Request, Resolve, SystemResolver, Why};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A server that does this with each connection.
fn server(script: impl Fn(&str, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let script = Arc::new(script);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let script = Arc::clone(&script);
            thread::spawn(move || {
                let mut stream = stream.unwrap();
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|read| read == 1) {
                    head.push(byte[0]);
                }
                // The other side may be gone by then.
                let _ = script(&String::from_utf8_lossy(&head), &mut stream);
            });
        }
    });
    address
}

fn plain(headers: &'static str, body: Vec<u8>) -> SocketAddr {
    server(move |_, stream| {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{headers}\r\n", body.len())?;
        stream.write_all(&body)
    })
}

fn redirects(to: impl Fn(&str) -> String + Send + Sync + 'static) -> SocketAddr {
    server(move |head, stream| {
        let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
        write!(stream, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: {}\r\n\r\n", to(&path))
    })
}

fn run(fetcher: &Fetcher, request: &Request) -> Answer {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(fetcher.fetch(request))
}

fn fetcher() -> Fetcher {
    Fetcher::new(Arc::new(SystemResolver), Limits::default())
}

/// With so little time that what never ends ends soon.
fn hasty() -> Fetcher {
    Fetcher::new(Arc::new(SystemResolver), Limits { total: Duration::from_millis(400), ..Limits::default() })
}

fn request(at: SocketAddr, path: &str) -> Request {
    let private_origins = vec![Origin::parse(&format!("http://{at}")).unwrap()];
    Request { private_origins, ..Request::new(format!("http://{at}{path}")) }
}

fn page(answer: Answer) -> Page {
    match answer {
        Answer::Page(page) => page,
        Answer::Refused(refusal) => panic!("{refusal:?}"),
    }
}

fn refused(answer: Answer, why: Why) -> Refusal {
    match answer {
        Answer::Refused(refusal) => {
            assert_eq!(refusal.why, why, "{}", refusal.detail);
            refusal
        }
        Answer::Page(page) => panic!("{page:?}"),
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_page_is_fetched_with_what_is_known_of_it() {
    let heads = Arc::new(Mutex::new(String::new()));
    let heard = Arc::clone(&heads);
    let at = server(move |head, stream| {
        head.clone_into(&mut heard.lock().unwrap());
        let body = "<title>T</title><p>Hello <a href='/x'>there</a>";
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    });
    let page = page(run(&fetcher(), &request(at, "/a?b=c#d")));
    assert_eq!((page.url, page.media_type.as_str()), (format!("http://{at}/a?b=c"), "text/html"));
    assert_eq!((page.title.as_deref(), page.bytes, page.redirects), (Some("T"), 47, 0));
    assert!(page.text.starts_with("Hello [there][1]"), "{}", page.text);
    let head = heads.lock().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("get /a?b=c http/1.1") && !head.contains("cookie") && !head.contains("referer"), "{head}");
}

#[test]
fn encodings_packings_and_kinds_are_understood() {
    let latin = plain("Content-Type: text/plain; charset=iso-8859-1\r\n", b"caf\xe9".to_vec());
    assert_eq!(page(run(&fetcher(), &request(latin, "/"))).text, "café");
    let zipped = plain("Content-Type: application/json\r\nContent-Encoding: gzip\r\n", packed(b"{\"a\":1}"));
    let json = page(run(&fetcher(), &request(zipped, "/")));
    assert_eq!((json.text.as_str(), json.bytes), ("{\"a\":1}", 7));
    let image = plain("Content-Type: image/png\r\n", b"\x89PNG".to_vec());
    assert!(refused(run(&fetcher(), &request(image, "/")), Why::NotText).detail.contains("view_image"));
    let pdf = plain("Content-Type: application/pdf\r\n", b"%PDF-1.7".to_vec());
    refused(run(&fetcher(), &request(pdf, "/")), Why::NotText);
    let strange = plain("Content-Type: text/plain\r\nContent-Encoding: br\r\n", b"x".to_vec());
    refused(run(&fetcher(), &request(strange, "/")), Why::NotText);
    let html = plain("Content-Type: text/html\r\n", b"<b>x</b>".to_vec());
    assert_eq!(page(run(&fetcher(), &Request { raw: true, ..request(html, "/") })).text, "<b>x</b>");
}

#[test]
fn a_status_that_is_no_success_comes_with_the_beginning_of_what_was_said() {
    let at = server(|_, stream| {
        write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nno such page")
    });
    let refusal = refused(run(&fetcher(), &request(at, "/")), Why::HttpStatus);
    assert_eq!((refusal.status, refusal.excerpt.as_deref()), (Some(404), Some("no such page")));
    assert_eq!(refusal.detail, "the host answered 404 Not Found");
}

#[test]
fn what_is_no_address_of_the_web_is_refused_before_anything_is_sent() {
    for url in [
        "",
        "host",
        "ftp://host/",
        "file:///etc/passwd",
        "http://user@host/",
        "https://u:p@host/",
        "http://",
        "javascript:alert(1)",
        "http://host:0/",
    ] {
        refused(run(&fetcher(), &Request::new(url)), Why::BadUrl);
    }
    refused(run(&fetcher(), &Request::new(format!("http://host/{}", "x".repeat(9_000)))), Why::BadUrl);
}

#[test]
fn private_addresses_are_refused_in_every_spelling() {
    let at = plain("Content-Type: text/plain\r\n", b"secret".to_vec());
    let port = at.port();
    for host in [
        "127.0.0.1",
        "localhost",
        "127.1",
        "0x7f.0.0.1",
        "2130706433",
        "0177.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "10.0.0.1",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "192.168.0.1",
        "100.64.0.1",
        "[64:ff9b::7f00:1]",
    ] {
        refused(run(&fetcher(), &Request::new(format!("http://{host}:{port}/"))), Why::PrivateAddress);
    }
    // An origin is allowed as it is written: neither another port nor another name of the same place.
    let other = Request { url: format!("http://localhost:{port}/"), ..request(at, "/") };
    refused(run(&fetcher(), &other), Why::PrivateAddress);
}

#[test]
fn redirects_are_followed_a_few_times_and_not_elsewhere() {
    let other = plain("Content-Type: text/plain\r\n", b"other".to_vec());
    let start = server(move |head, stream| {
        let to = match head.split(' ').nth(1).unwrap_or("/") {
            "/end" => {
                let headers = "Content-Type: text/plain\r\nContent-Length: 3";
                return write!(stream, "HTTP/1.1 200 OK\r\n{headers}\r\n\r\nend");
            }
            "/1" => "/2".to_owned(),
            "/2" => "/end".to_owned(),
            "/other" => format!("http://{other}/page?a=b"),
            "/metadata" => "http://169.254.169.254/latest/".to_owned(),
            "/file" => "file:///etc/passwd".to_owned(),
            "/user" => "http://a:b@example.org/".to_owned(),
            path => path.to_owned(),
        };
        write!(stream, "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: {to}\r\n\r\n")
    });
    let page = page(run(&fetcher(), &request(start, "/1")));
    assert_eq!((page.text.as_str(), page.redirects, page.url), ("end", 2, format!("http://{start}/end")));
    let mut both = request(start, "/other");
    both.private_origins.push(Origin::parse(&format!("http://{other}")).unwrap());
    let led = refused(run(&fetcher(), &both), Why::LedElsewhere);
    assert!(led.detail.ends_with(&format!("http://{other}/page?a=b")), "{}", led.detail);
    refused(run(&fetcher(), &request(start, "/metadata")), Why::LedElsewhere);
    refused(run(&fetcher(), &request(start, "/file")), Why::BadUrl);
    refused(run(&fetcher(), &request(start, "/user")), Why::BadUrl);
    refused(run(&fetcher(), &request(start, "/circle")), Why::RedirectedTooOften);
}

/// Gives one list of addresses after the other.
struct Scripted(Vec<Vec<IpAddr>>, AtomicUsize);

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        let list = |list: &&[&str]| list.iter().map(|address| address.parse().unwrap()).collect();
        Arc::new(Self(answers.iter().map(list).collect(), AtomicUsize::new(0)))
    }
}

impl Resolve for Scripted {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        let asked = self.1.fetch_add(1, Ordering::Relaxed);
        self.0.get(asked).cloned().ok_or_else(|| io::Error::other("no such name"))
    }
}

#[test]
fn a_name_is_resolved_once_and_connected_to_as_it_was_checked() {
    let at = plain("Content-Type: text/plain\r\n", b"here".to_vec());
    let port = at.port();
    let allowed = |name: &str| {
        let origin = format!("http://{name}:{port}");
        Request { private_origins: vec![Origin::parse(&origin).unwrap()], ..Request::new(origin + "/") }
    };
    // The second answer would lead elsewhere; it is never asked for.
    let names = Scripted::new(&[&["127.0.0.1"], &["10.255.255.1"]]);
    let fetcher = Fetcher::new(Arc::clone(&names) as Arc<dyn Resolve>, Limits::default());
    assert_eq!(page(run(&fetcher, &allowed("names.example"))).text, "here");
    assert_eq!(names.1.load(Ordering::Relaxed), 1);
    // One private address among several is enough.
    for answers in [&["93.184.215.14", "127.0.0.1"][..], &["::ffff:127.0.0.1"], &["169.254.169.254"]] {
        let fetcher = Fetcher::new(Scripted::new(&[answers]), Limits::default());
        refused(run(&fetcher, &Request::new(format!("http://names.example:{port}/"))), Why::PrivateAddress);
    }
    let fetcher = Fetcher::new(Scripted::new(&[&[]]), Limits::default());
    refused(run(&fetcher, &Request::new("http://names.example/")), Why::Dns);
    let fetcher = Fetcher::new(Scripted::new(&[]), Limits::default());
    assert!(refused(run(&fetcher, &Request::new("http://names.example/")), Why::Dns).detail.contains("no such name"));
}

#[test]
fn a_redirect_to_a_name_that_turned_private_is_refused() {
    let port = Arc::new(AtomicUsize::new(0));
    let own = Arc::clone(&port);
    let start = redirects(move |_| format!("http://www.names.example:{}/", own.load(Ordering::Relaxed)));
    port.store(start.port().into(), Ordering::Relaxed);
    let origin = format!("http://names.example:{}", start.port());
    let request = Request { private_origins: vec![Origin::parse(&origin).unwrap()], ..Request::new(origin + "/") };
    let fetcher = Fetcher::new(Scripted::new(&[&["127.0.0.1"], &["127.0.0.1"]]), Limits::default());
    refused(run(&fetcher, &request), Why::PrivateAddress);
}

#[test]
fn bodies_are_bounded_as_they_come_and_unpacked() {
    let told = plain("Content-Type: text/plain\r\n", vec![b'x'; 6 << 20]);
    refused(run(&fetcher(), &request(told, "/")), Why::TooLarge);
    let endless = server(|_, stream| {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")?;
        loop {
            stream.write_all(&[b'x'; 64 << 10])?;
        }
    });
    refused(run(&fetcher(), &request(endless, "/")), Why::TooLarge);
    let bomb = packed(&vec![0; 200 << 20]);
    assert!(u64::try_from(bomb.len()).unwrap() < PAGE_BYTES);
    let bomb = plain("Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", bomb);
    refused(run(&fetcher(), &request(bomb, "/")), Why::TooLarge);
    let small = plain("Content-Type: text/plain\r\n", vec![b'x'; 100]);
    let request = |most| Request { max_bytes: Some(most), ..request(small, "/") };
    refused(run(&fetcher(), &request(99)), Why::TooLarge);
    assert_eq!(page(run(&fetcher(), &request(100))).bytes, 100);
    let torn = plain("Content-Type: text/plain\r\nContent-Encoding: gzip\r\n", packed(b"some text")[..12].to_vec());
    refused(run(&fetcher(), &self::request(torn, "/")), Why::Unreachable);
}

#[test]
fn headers_without_an_end_are_bounded() {
    let at = server(|_, stream| {
        write!(stream, "HTTP/1.1 200 OK\r\n")?;
        for number in 0.. {
            write!(stream, "x-{number}: {}\r\n", "y".repeat(8 << 10))?;
        }
        Ok(())
    });
    refused(run(&fetcher(), &request(at, "/")), Why::TooLarge);
}

#[test]
fn who_is_slow_is_left() {
    let silent = server(|_, stream| stream.read(&mut [0]).map(|_| ()));
    refused(run(&hasty(), &request(silent, "/")), Why::TimedOut);
    let dripping = server(|_, stream| {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n")?;
        loop {
            stream.write_all(b"x")?;
            thread::sleep(Duration::from_millis(10));
        }
    });
    refused(run(&hasty(), &request(dripping, "/")), Why::TimedOut);
}

#[test]
fn a_name_that_is_never_resolved_is_left() {
    struct Stuck(Mutex<std::sync::mpsc::Receiver<()>>);
    impl Resolve for Stuck {
        fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            let _ = self.0.lock().unwrap().recv();
            Err(io::Error::other("late"))
        }
    }
    let (end, stuck) = std::sync::mpsc::sync_channel(1);
    let limits = Limits { total: Duration::from_millis(200), ..Limits::default() };
    let fetcher = Fetcher::new(Arc::new(Stuck(Mutex::new(stuck))), limits);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    refused(runtime.block_on(fetcher.fetch(&Request::new("http://names.example/"))), Why::TimedOut);
    drop(end);
}

#[test]
fn who_breaks_off_refuses_or_speaks_no_tls_is_told() {
    let nobody = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    refused(run(&fetcher(), &request(nobody, "/")), Why::Unreachable);
    let torn =
        server(|_, stream| write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 9\r\n\r\nx"));
    refused(run(&fetcher(), &request(torn, "/")), Why::Unreachable);
    let plain = plain("Content-Type: text/plain\r\n", b"x".to_vec());
    let origin = format!("https://{plain}");
    let tls = Request { private_origins: vec![Origin::parse(&origin).unwrap()], ..Request::new(origin + "/") };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let at = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let _ = stream.unwrap().write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let origin = format!("https://{at}");
    let garbage = Request { private_origins: vec![Origin::parse(&origin).unwrap()], ..Request::new(origin + "/") };
    refused(run(&fetcher(), &garbage), Why::Unreachable);
    refused(run(&hasty(), &tls), Why::TimedOut);
}
