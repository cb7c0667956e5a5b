//! [`Palette`]: the colours of a map and what they mean.

/// A colour: red, green and blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl std::fmt::Display for Rgb {
    /// As CSS writes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// What a colour of a map means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The index of the colour.
    pub class: u8,
    /// Its meaning.
    pub text: String,
    /// The last index of the colours that mean this.
    pub(crate) last: u8,
}

impl Entry {
    /// Returns the entry of one colour.
    pub(crate) fn new(class: u8, text: String) -> Self {
        Self { class, text, last: class }
    }
}

/// The background: addresses without a route.
const UNROUTED: Rgb = Rgb(242, 242, 242);

/// The last colours are greys, of which pictures' text is made: from white to black.
const GREYS: u8 = 16;
const WHITE: u8 = u8::MAX - GREYS + 1;

/// The colours of a map, and what they mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette {
    colours: Vec<Rgb>,
    title: &'static str,
    pub(crate) entries: Vec<Entry>,
    is_ramp: bool,
    has_shares: bool,
}

impl Palette {
    /// Makes a palette of the background and the colours from index 1 on.
    pub(crate) fn new(title: &'static str, colours: impl IntoIterator<Item = Rgb>) -> Self {
        let mut colours: Vec<Rgb> = std::iter::once(UNROUTED).chain(colours).collect();
        debug_assert!(colours.len() <= usize::from(WHITE));
        colours.resize(WHITE.into(), UNROUTED);
        let greys = (0..GREYS).map(|step| u8::MAX - step * (u8::MAX / (GREYS - 1)));
        colours.extend(greys.map(|grey| Rgb(grey, grey, grey)));
        Self { colours, title, entries: Vec::new(), is_ramp: false, has_shares: true }
    }

    /// Returns the palette as one whose colours are in order, so that a legend may leave some out.
    pub(crate) fn ramp(self) -> Self {
        Self { is_ramp: true, ..self }
    }

    /// Returns the palette as one whose classes are of pixels, not of addresses.
    pub(crate) fn of_pixels(self) -> Self {
        Self { has_shares: false, ..self }
    }

    /// Returns whether the colours are in order.
    pub(crate) fn is_ramp(&self) -> bool {
        self.is_ramp
    }

    /// Returns whether a share of the addresses belongs to each class.
    #[must_use]
    pub fn has_shares(&self) -> bool {
        self.has_shares
    }

    /// Returns the 256 colours that pixels are indices of.
    #[must_use]
    pub fn colours(&self) -> &[Rgb] {
        &self.colours
    }

    /// Returns the colour of a pixel.
    #[must_use]
    pub fn colour(&self, class: u8) -> Rgb {
        self.colours[usize::from(class)]
    }

    /// Returns what is coloured.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// Returns the colours that a legend shows, without the background.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the index of a grey, from white at 0 to black at 255.
    pub(crate) fn grey(intensity: u8) -> u8 {
        WHITE + intensity / (u8::MAX / (GREYS - 1))
    }
}

/// Returns a colour of a ramp of `count` colours whose lightness grows from dark to light, so that
/// people who see few colours, and print, keep the order.
pub(crate) fn ramp(at: usize, count: usize) -> Rgb {
    let colorous::Color { r, g, b } = colorous::VIRIDIS.eval_rational(at, count.max(2));
    Rgb(r, g, b)
}
