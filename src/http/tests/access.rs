//! Who gets in, and who does not.

use super::harness::{Answer, Harness, TOKEN};

struct Browser<'a> {
    harness: &'a Harness,
    cookie: String,
    confirm: String,
}

impl<'a> Browser<'a> {
    fn log_in(harness: &'a Harness) -> Self {
        let answer = harness.tcp("GET", &login_path(harness), &[], None);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let set = &answer.headers["set-cookie"];
        for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(set.contains(attribute), "{set}");
        }
        assert!(set.starts_with("ouroboros-abababab="), "{set}");
        let page = answer.text();
        let confirm =
            page.split("ouroboros-confirm\" content=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        Self { harness, cookie: set.split(';').next().unwrap().to_owned(), confirm }
    }

    fn call(&self, method: &str, path: &str, more: &[(&str, &str)]) -> Answer {
        let mut headers = vec![("Cookie", self.cookie.as_str())];
        headers.extend_from_slice(more);
        self.harness.tcp(method, path, &headers, None)
    }

    fn confirmed(&self, method: &str, path: &str) -> Answer {
        self.call(method, path, &[("Ouroboros-Confirm", &self.confirm)])
    }
}

fn login_path(harness: &Harness) -> String {
    let url = harness.post("/api/command", r#"{"command":"login_code"}"#).json()["url"].as_str().unwrap().to_owned();
    url.strip_prefix(&format!("http://{}", harness.tcp)).unwrap().to_owned()
}

#[test]
fn over_the_network_a_program_needs_the_token() {
    let harness = Harness::new();
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(harness.tcp("GET", "/api/state", &[("Authorization", &bearer)], None).status, 200);
    let wrong = ["Bearer x", "Bearer ", "Basic eDp5", TOKEN, bearer.trim_end_matches('f')];
    for given in wrong {
        let answer = harness.tcp("GET", "/api/state", &[("Authorization", given)], None);
        assert_eq!((answer.status, answer.code().as_str()), (401, "unauthorized"), "{given}");
    }
    for path in ["/api/state", "/api/tasks", "/api/tasks/1", "/api/events", "/api/config", "/metrics", "/api/processes"]
    {
        assert_eq!(harness.tcp("GET", path, &[], None).status, 401, "{path}");
    }
    for path in ["/api/health", "/api/openapi.json", "/assets/style.css"] {
        assert_eq!(harness.tcp("GET", path, &[], None).status, 200, "{path}");
    }
}

#[test]
fn a_stranger_sees_how_to_log_in() {
    let harness = Harness::new();
    let answer = harness.tcp("GET", "/", &[], None);
    assert_eq!(answer.status, 401);
    assert!(answer.headers["content-type"].starts_with("text/html"));
    assert!(answer.text().contains("ouroboros open"));
    let answer = harness.tcp("GET", "/login?code=nonsense", &[], None);
    assert_eq!(answer.status, 401);
    assert!(answer.text().contains("ouroboros open"));
}

#[test]
fn a_code_logs_one_browser_in_once() {
    let harness = Harness::new();
    let path = login_path(&harness);
    assert_eq!(harness.tcp("HEAD", &path, &[], None).status, 403, "looking does not use it up");
    assert_eq!(harness.tcp("GET", &path, &[("Sec-Purpose", "prefetch")], None).status, 403);
    assert_eq!(harness.tcp("GET", &path, &[], None).status, 200);
    assert_eq!(harness.tcp("GET", &path, &[], None).status, 401);
}

#[test]
fn a_cookie_alone_opens_the_page_and_nothing_else() {
    let harness = Harness::new();
    harness.submit();
    let browser = Browser::log_in(&harness);
    assert_eq!(browser.call("GET", "/", &[]).status, 200);
    for (method, path) in [("GET", "/api/state"), ("POST", "/api/tasks/1/hold"), ("GET", "/api/tasks/1/logs/stdout")] {
        let answer = browser.call(method, path, &[]);
        assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"), "{path}");
        assert_eq!(browser.call(method, path, &[("Ouroboros-Confirm", "guess")]).status, 403, "{path}");
        assert_eq!(browser.confirmed(method, path).status, 200, "{path}");
    }
    let other = Browser::log_in(&harness);
    assert_eq!(
        browser.call("GET", "/api/state", &[("Ouroboros-Confirm", &other.confirm)]).status,
        403,
        "of another session"
    );
    let body = br#"{"command":"login_code"}"#;
    let headers = [
        ("Cookie", browser.cookie.as_str()),
        ("Ouroboros-Confirm", browser.confirm.as_str()),
        ("Content-Type", "application/json"),
    ];
    assert_eq!(
        harness.tcp("POST", "/api/command", &headers, Some(body)).code(),
        "forbidden",
        "a browser lets nobody in"
    );
}

#[test]
fn sessions_end() {
    let harness = Harness::new();
    let (one, other) = (Browser::log_in(&harness), Browser::log_in(&harness));
    assert_eq!(one.confirmed("POST", "/api/logout").status, 204);
    assert_eq!(one.confirmed("GET", "/api/state").status, 401);
    assert_eq!(other.confirmed("GET", "/api/state").status, 200);
    assert_eq!(other.confirmed("DELETE", "/api/sessions").status, 204);
    assert_eq!(other.confirmed("GET", "/api/state").status, 401);
    assert_eq!(other.call("GET", "/", &[]).status, 401);
}

#[test]
fn other_hosts_and_other_pages_are_refused() {
    let harness = Harness::new();
    let bearer = format!("Bearer {TOKEN}");
    let port = harness.tcp.port();
    let ask = |headers: &[(&str, &str)]| {
        let mut all = vec![("Authorization", bearer.as_str())];
        all.extend_from_slice(headers);
        harness.tcp("GET", "/api/state", &all, None).status
    };
    let (local, upper, six) = (format!("localhost:{port}"), format!("LOCALHOST:{port}"), format!("[::1]:{port}"));
    for host in [&local, &upper, &six] {
        assert_eq!(ask(&[("Host", host)]), 200, "{host}");
    }
    let evil = format!("evil.example:{port}");
    for host in ["evil.example", &evil, "localhost", "127.0.0.1:1", ""] {
        assert_eq!(ask(&[("Host", host)]), 403, "{host}");
    }
    assert_eq!(ask(&[("Host", &local), ("Host", &evil)]), 403, "two hosts");
    let ours = format!("http://{local}");
    assert_eq!(ask(&[("Origin", &ours)]), 200);
    let (secure, other_port) = (format!("https://{local}"), format!("http://localhost:{}", port.wrapping_add(1)));
    for origin in ["null", "http://evil.example", &secure, &other_port] {
        assert_eq!(ask(&[("Origin", origin)]), 403, "{origin}");
    }
    assert_eq!(ask(&[("Sec-Fetch-Site", "cross-site")]), 403);
    assert_eq!(ask(&[("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "navigate")]), 403);
    assert_eq!(ask(&[("Sec-Fetch-Site", "same-origin")]), 200);
    let health = harness.tcp("GET", "/api/health", &[("Host", "evil.example")], None);
    assert_eq!(health.status, 403, "even what is public");
    assert_eq!(harness.tcp("GET", "/nowhere", &[("Host", "evil.example")], None).status, 403);
}

#[test]
fn answers_carry_what_protects_them() {
    let harness = Harness::new();
    let browser = Browser::log_in(&harness);
    let page = browser.call("GET", "/", &[]);
    let policy = &page.headers["content-security-policy"];
    assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
    assert!(!page.text().contains("<script>") && !page.text().contains(" style="), "nothing inline");
    for answer in [page, harness.get("/api/state"), harness.get("/nowhere")] {
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["cache-control"], "no-store");
        assert!(!answer.headers.contains_key("access-control-allow-origin"));
    }
}

#[test]
fn paths_and_methods_that_are_not_there() {
    let harness = Harness::new();
    let answer = harness.get("/api/nowhere");
    assert_eq!((answer.status, answer.code().as_str()), (404, "unknown_path"));
    let answer = harness.post("/api/health", "");
    assert_eq!(
        (answer.status, answer.code().as_str(), answer.headers["allow"].as_str()),
        (405, "bad_method", "GET, HEAD")
    );
    assert_eq!(harness.tcp("OPTIONS", "/api/tasks", &[], None).status, 405);
    assert_eq!(harness.get("/api/state?x=1").code(), "bad_field");
    assert_eq!(harness.get("/assets/../index.html").status, 404);
    assert_eq!(harness.get("/assets/nothing.js").status, 404);
}
