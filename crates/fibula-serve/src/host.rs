//! [`Hosts`]: the names by which the service may be called.
//!
//! A page of another site may let its own name lead to loopback (DNS rebinding), and a browser then
//! asks the service as if it were that site. Whoever listens on loopback without a token therefore
//! answers only to names that no site has.

use crate::refusal::Refusal;
use axum::http::header::{HOST, HeaderMap};
use axum::http::{HeaderValue, Request, StatusCode, Uri, Version};
use std::net::IpAddr;

/// The names that are answered to.
#[derive(Clone, Debug)]
pub(crate) struct Hosts {
    /// Whether others than these are refused.
    is_checked: bool,
    names: Vec<String>,
}

impl Hosts {
    /// Checks names if `is_checked`, and lets these pass.
    pub(crate) fn new(is_checked: bool, names: &[String]) -> Self {
        Self { is_checked, names: names.to_vec() }
    }

    /// Returns why a request is refused for the names by which it calls the service.
    pub(crate) fn refusal<B>(&self, request: &Request<B>) -> Option<Refusal> {
        let count = request.headers().get_all(HOST).iter().count();
        // RFC 9112 section 3.2. Programs between a client and the service may take different ones.
        if count > 1 || count == 0 && request.version() == Version::HTTP_11 {
            return Some(Refusal::bad(format_args!("Host: given {count} times, expected once")));
        }
        let what = "this is no name of this service: on loopback without a token it has addresses, names without \
                    dots, and those that --host gives";
        let is_known = self.has(request.uri(), request.headers());
        (!is_known).then(|| Refusal::new(StatusCode::MISDIRECTED_REQUEST, what))
    }

    /// Returns whether a request calls the service by a name that it may have: an address, a name
    /// without dots, one of `localhost`, or one that was given. One without a name may pass: no
    /// browser sends it.
    fn has(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let host = headers.get(HOST).map(HeaderValue::as_bytes);
        !self.is_checked
            || host
                .into_iter()
                .chain(uri.authority().map(|host| host.as_str().as_bytes()))
                .all(|host| std::str::from_utf8(host).is_ok_and(|host| self.may_be(host)))
    }

    fn may_be(&self, host: &str) -> bool {
        let without_port =
            host.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let name = without_port.map_or(host, |(name, _)| name).trim_end_matches('.').to_ascii_lowercase();
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(&name);
        address.parse::<IpAddr>().is_ok()
            || !name.contains('.')
            || name.ends_with(".localhost")
            || self.names.iter().any(|known| known.eq_ignore_ascii_case(&name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_a_site_may_have_are_refused() {
        let hosts = Hosts::new(true, &["looking.example".into()]);
        let has = |hosts: &Hosts, host: &'static str| {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            hosts.has(&Uri::from_static("/"), &headers)
        };
        for host in [
            "localhost",
            "localhost:8080",
            "LOCALHOST.",
            "127.0.0.1:8080",
            "[::1]:8080",
            "[::1]",
            "::1",
            "a",
            "fibula.localhost:1",
            "Looking.Example:8080",
            "looking.example.",
        ] {
            assert!(has(&hosts, host), "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "127.0.0.1.evil.example",
            "localhost.evil.example:80",
            "x.looking.example",
            "a.b:c",
        ] {
            assert!(!has(&hosts, host), "{host}");
            assert!(has(&Hosts::new(false, &[]), host), "{host}");
        }
        assert!(hosts.has(&Uri::from_static("/"), &HeaderMap::new()));
        assert!(!hosts.has(&Uri::from_static("http://evil.example/"), &HeaderMap::new()));
    }

    #[test]
    fn a_request_calls_the_service_by_one_name() {
        let hosts = Hosts::new(true, &[]);
        let status = |version, names: &[&str]| {
            let mut request = Request::builder().version(version);
            for name in names {
                request = request.header(HOST, *name);
            }
            hosts.refusal(&request.body(()).unwrap()).map_or(200, |refusal| refusal.status.as_u16())
        };
        assert_eq!(status(Version::HTTP_11, &["localhost"]), 200);
        assert_eq!(status(Version::HTTP_11, &["localhost", "localhost"]), 400);
        assert_eq!(status(Version::HTTP_11, &["localhost", "evil.example"]), 400);
        assert_eq!(status(Version::HTTP_11, &["evil.example"]), 421);
        assert_eq!((status(Version::HTTP_11, &[]), status(Version::HTTP_10, &[])), (400, 200));
    }
}
