//! Whether an inference server answers.

use ouroboros_proto::kind::Millis;
use std::net::Ipv4Addr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// Between two looks while the model is loaded.
const LOOK: Millis = Millis::new(200);
/// How long one look may take.
const BOUND: Millis = Millis::seconds(2);

/// Waits until something serves there.
pub async fn answers(port: u16) {
    while !timeout(BOUND.duration(), look(port)).await.is_ok_and(|answered| answered.unwrap_or(false)) {
        sleep(LOOK.duration()).await;
    }
}

/// While the model is loaded, llama.cpp answers 503; others refuse the connection.
async fn look(port: u16) -> std::io::Result<bool> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
    let request = format!("GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut head = *b"HTTP/1.1 200";
    stream.read_exact(&mut head).await?;
    Ok(head.starts_with(b"HTTP/1.") && head.get(9) != Some(&b'5'))
}
