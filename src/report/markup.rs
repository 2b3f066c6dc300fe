//! HTML and SVG text. Names of elements and attributes are constants of this program; everything
//! else is escaped, so nothing that comes from a file can be markup.

/// Text under construction.
#[derive(Debug, Default)]
pub struct Markup(String);

/// An attribute.
pub type Attribute<'a> = (&'static str, &'a str);

impl Markup {
    /// Markup that is part of this program.
    pub fn constant(&mut self, markup: &'static str) {
        self.0 += markup;
    }

    /// Text as people shall read it.
    pub fn text(&mut self, text: &str) {
        for letter in text.chars() {
            match letter {
                '&' => self.0 += "&amp;",
                '<' => self.0 += "&lt;",
                '>' => self.0 += "&gt;",
                '"' => self.0 += "&quot;",
                '\'' => self.0 += "&#39;",
                // HTML has no way to write these.
                letter if letter.is_control() && letter != '\n' => {
                    self.0.push(char::REPLACEMENT_CHARACTER);
                }
                letter => self.0.push(letter),
            }
        }
    }

    /// An element around whatever `body` adds.
    pub fn element(
        &mut self,
        name: &'static str,
        attributes: &[Attribute<'_>],
        body: impl FnOnce(&mut Self),
    ) {
        self.open(name, attributes);
        self.0.push('>');
        body(self);
        self.0 += "</";
        self.0 += name;
        self.0.push('>');
    }

    /// An element around a text.
    pub fn leaf(&mut self, name: &'static str, attributes: &[Attribute<'_>], text: &str) {
        self.element(name, attributes, |markup| markup.text(text));
    }

    /// An element without content.
    pub fn void(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.open(name, attributes);
        self.0 += "/>";
    }

    fn open(&mut self, name: &'static str, attributes: &[Attribute<'_>]) {
        self.0.push('<');
        self.0 += name;
        for (name, value) in attributes {
            self.0.push(' ');
            self.0 += name;
            self.0 += "=\"";
            self.text(value);
            self.0.push('"');
        }
    }

    /// The whole text.
    pub fn finish(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_or_value_becomes_markup() {
        let hostile = "</p><script>alert('1')</script>&lt;\" onload=\"x\u{0}";
        let mut markup = Markup::default();
        markup.leaf("p", &[("title", hostile)], hostile);
        markup.void("br", &[]);
        let escaped = "&lt;/p&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;lt;&quot; onload=&quot;x\u{fffd}";
        assert_eq!(
            markup.finish(),
            format!("<p title=\"{escaped}\">{escaped}</p><br/>")
        );
    }
}
