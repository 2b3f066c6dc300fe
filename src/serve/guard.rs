//! Who may ask: pages of this server, under the names of this machine.

use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode};

/// The names under which a browser of this machine reaches the server. A foreign name that resolves
/// to this machine is not one of them.
const NAMES: [&str; 2] = ["127.0.0.1", "localhost"];

/// Refuses a request that another site may have sent.
///
/// # Errors
///
/// The status of the refusal, and why.
pub fn check(
    method: &Method,
    headers: &HeaderMap,
    port: u16,
) -> Result<(), (StatusCode, &'static str)> {
    let host = only(headers, &HOST).unwrap_or_default();
    if !NAMES
        .iter()
        .any(|name| host == format!("{name}:{port}") || (port == 80 && host == *name))
    {
        return Err((StatusCode::FORBIDDEN, "the Host is not this machine"));
    }
    let is_ours =
        only(headers, &ORIGIN).is_some_and(|origin| origin.strip_prefix("http://") == Some(host));
    let needs_origin = *method != Method::GET || headers.contains_key(ORIGIN);
    if needs_origin && !is_ours {
        return Err((StatusCode::FORBIDDEN, "the Origin is not this page"));
    }
    if *method == Method::POST && only(headers, &CONTENT_TYPE) != Some("application/json") {
        return Err((
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the Content-Type is not application/json",
        ));
    }
    Ok(())
}

/// The value of a header that occurs once.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    if values.next().is_some() {
        None
    } else {
        value.to_str().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderValue;

    fn status(method: &Method, fields: &[(&'static str, &str)], port: u16) -> Option<u16> {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            headers.append(
                HeaderName::from_static(name),
                HeaderValue::from_str(value).unwrap(),
            );
        }
        check(method, &headers, port)
            .err()
            .map(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_names_of_this_machine_with_the_port_are_hosts() {
        for host in ["127.0.0.1:8064", "localhost:8064"] {
            assert_eq!(
                status(&Method::GET, &[("host", host)], 8064),
                None,
                "{host}"
            );
        }
        for host in [
            "",
            "localhost",
            "localhost:80",
            "evil.example:8064",
            "localhost:8064.evil.example",
            "0.0.0.0:8064",
        ] {
            assert_eq!(
                status(&Method::GET, &[("host", host)], 8064),
                Some(403),
                "{host}"
            );
        }
        for (host, expected) in [
            ("localhost", None),
            ("127.0.0.1", None),
            ("evil.example", Some(403)),
            ("", Some(403)),
        ] {
            assert_eq!(
                status(&Method::GET, &[("host", host)], 80),
                expected,
                "{host}"
            );
        }
        assert_eq!(status(&Method::GET, &[], 8064), Some(403));
        let twice = [("host", "localhost:8064"), ("host", "evil.example")];
        assert_eq!(status(&Method::GET, &twice, 8064), Some(403));
    }

    #[test]
    fn a_post_needs_the_same_origin_and_json() {
        let post = |origin: &[(&'static str, &str)], kind| {
            let fields = [
                &[("host", "localhost:8064"), ("content-type", kind)],
                origin,
            ]
            .concat();
            status(&Method::POST, &fields, 8064)
        };
        assert_eq!(
            post(&[("origin", "http://localhost:8064")], "application/json"),
            None
        );
        assert_eq!(
            post(&[("origin", "http://localhost:8064")], "text/plain"),
            Some(415)
        );
        assert_eq!(post(&[], "application/json"), Some(403));
        for origin in [
            "null",
            "http://127.0.0.1:8064",
            "https://localhost:8064",
            "http://evil.example",
            "http://localhost",
        ] {
            assert_eq!(
                post(&[("origin", origin)], "application/json"),
                Some(403),
                "{origin}"
            );
        }
        let get = [
            ("host", "localhost:8064"),
            ("origin", "http://evil.example"),
        ];
        assert_eq!(status(&Method::GET, &get, 8064), Some(403));
    }
}
