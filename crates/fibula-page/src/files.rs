//! The files that the page consists of.

/// A file of the page.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Where it is asked for.
    pub path: &'static str,
    /// Its media type.
    pub media: &'static str,
    /// What it holds.
    pub text: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! file {
    ($path:literal, $media:expr, $name:literal) => {
        File { path: $path, media: $media, text: include_str!(concat!("../web/", $name)) }
    };
}

/// All files but the module that reads dropped files: that is this crate, compiled.
pub const FILES: &[File] = &[
    file!("/", "text/html; charset=utf-8", "index.html"),
    file!("/page/style.css", "text/css; charset=utf-8", "style.css"),
    file!("/page/icon.svg", "image/svg+xml", "icon.svg"),
    file!("/page/main.js", SCRIPT, "main.js"),
    file!("/page/address.js", SCRIPT, "address.js"),
    file!("/page/ask.js", SCRIPT, "ask.js"),
    file!("/page/bars.js", SCRIPT, "bars.js"),
    file!("/page/live.js", SCRIPT, "live.js"),
    file!("/page/local.js", SCRIPT, "local.js"),
    file!("/page/lookup.js", SCRIPT, "lookup.js"),
    file!("/page/map.js", SCRIPT, "map.js"),
    file!("/page/worker.js", SCRIPT, "worker.js"),
];

/// What a browser lets the page do: nothing from elsewhere, and no code but its own.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
     style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'";
