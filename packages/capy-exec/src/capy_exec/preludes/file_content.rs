/// FILE_CONTENT for Rust: behaves as a `&str`; bytes that are not UTF-8 become U+FFFD.
#[allow(dead_code, non_upper_case_globals)]
static FILE_CONTENT: CapyText = CapyText(std::sync::OnceLock::new(), false);
#[allow(dead_code, non_upper_case_globals)]
static FILE_CONTENT_PATH: CapyText = CapyText(std::sync::OnceLock::new(), true);
#[allow(dead_code)]
struct CapyText(std::sync::OnceLock<std::string::String>, bool);
impl std::ops::Deref for CapyText {
    type Target = str;
    fn deref(&self) -> &str {
        self.0.get_or_init(|| {
            let path = std::env::var_os("FILE_CONTENT_PATH").expect("FILE_CONTENT_PATH");
            if self.1 {
                return path.to_string_lossy().into_owned();
            }
            let bytes = std::fs::read(&path).expect("cannot read the file");
            std::string::String::from_utf8(bytes).unwrap_or_else(|ex| std::string::String::from_utf8_lossy(ex.as_bytes()).into_owned())
        })
    }
}
impl std::fmt::Display for CapyText {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(self)
    }
}
impl std::fmt::Debug for CapyText {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&**self, to)
    }
}
impl std::convert::AsRef<str> for CapyText {
    fn as_ref(&self) -> &str {
        self
    }
}
impl std::convert::AsRef<std::path::Path> for CapyText {
    fn as_ref(&self) -> &std::path::Path {
        std::path::Path::new(&**self)
    }
}
