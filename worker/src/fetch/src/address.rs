//! Which addresses belong to the internet. Everything else is refused: an agent must not be a way into the machine it runs on, the
//! networks around it, or the services that hand out credentials there.
//!
//! The ranges are those of the registries of special-purpose addresses (RFC 6890 and what was added since). An IPv6 address that only
//! stands for an IPv4 one (mapped, translated, tunnelled) is refused whatever it stands for: it would be a second spelling of each.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why an address is none of the internet's; `None` when it is one.
#[must_use]
pub fn closed(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => closed_v4(address),
        IpAddr::V6(address) => closed_v6(address),
    }
}

fn closed_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [0, ..] => Some("unspecified"),
        [127, ..] => Some("this machine"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some("a private network"),
        [100, 64..=127, ..] => Some("a provider's inner network"),
        // Among them those that hand out credentials of machines in data centres.
        [169, 254, ..] | [168, 63, 129, 16] => Some("this link only, or metadata of the machine"),
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] => Some("reserved for protocols and tests"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => Some("reserved for examples"),
        [224..=239, ..] => Some("multicast"),
        [240..=255, ..] => Some("reserved"),
        _ => None,
    }
}

fn closed_v6(address: Ipv6Addr) -> Option<&'static str> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("this machine"),
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, ..] => {
            Some("another spelling of an IPv4 address")
        }
        [0x64, 0xff9b, ..] | [0x2002, ..] | [0x2001, 0, ..] => Some("a translation or a tunnel"),
        [0xfc00..=0xfdff, ..] => Some("a private network"),
        [0xfe80..=0xfeff, ..] => Some("this link or this site only"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => Some("reserved for examples"),
        [0x2001, 1..=0x1ff, ..] => Some("reserved for protocols and tests"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_open() {
        for open in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "100.128.0.1",
            "169.253.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "223.255.255.255",
            "2606:4700::1111",
            "2a00:1450::1",
            "2001:4860:4860::8888",
        ] {
            assert_eq!(closed(open.parse().unwrap()), None, "{open}");
        }
        for shut in [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.0.9",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "100.100.100.200",
            "169.254.169.254",
            "168.63.129.16",
            "192.0.0.192",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:8.8.8.8",
            "::127.0.0.1",
            "::ffff:0:8.8.8.8",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "2002:7f00:1::",
            "2001::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "3fff::1",
            "2001:20::1",
            "100::1",
            "5f00::1",
            "4000::1",
        ] {
            assert!(closed(shut.parse().unwrap()).is_some(), "{shut}");
        }
    }
}
