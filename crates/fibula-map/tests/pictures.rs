//! Pictures read again by others: PNG by its decoder, SVG by an XML parser that knows nothing of
//! maps, and its rectangles painted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fastrand::Rng;
use fibula::{NextHop, NextHops, Prefix, Rib};
use fibula_map::{Figure, Map, Palette, Raster, Rgb, View};
use roxmltree::{Document, Node};

fn table(routes: usize, deepest: u8) -> Rib<u32> {
    let mut rng = Rng::with_seed(1);
    let prefix = |rng: &mut Rng| Prefix::containing(rng.u32(..), rng.u8(1..=deepest));
    (0..routes).map(|_| fibula::Route { prefix: prefix(&mut rng), next_hop: NextHop(1) }).collect()
}

/// Returns width, height and colours of a PNG image.
fn decoded(png: &[u8]) -> (u32, u32, Vec<Rgb>) {
    let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut bytes).unwrap();
    let colours = bytes.chunks_exact(3).map(|pixel| Rgb(pixel[0], pixel[1], pixel[2]));
    (info.width, info.height, colours.collect())
}

fn colours(raster: &Raster, palette: &Palette) -> Vec<Rgb> {
    raster.pixels().iter().map(|&class| palette.colour(class)).collect()
}

fn attribute<T: std::str::FromStr>(node: Node<'_, '_>, name: &str) -> T {
    node.attribute(name).and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} of {node:?}"))
}

#[test]
fn a_tile_is_decoded_as_it_was_drawn() {
    for (routes, size) in [(0, 256), (4, 256), (5000, 256), (5000, 1)] {
        let rib = table(routes, 20);
        let view = View::new(Prefix::ALL, size).unwrap();
        for map in [Map::lengths(&rib, Prefix::ALL), Map::routes(&rib, Prefix::ALL)] {
            let raster = map.draw(&view).unwrap();
            let mut png = Vec::new();
            raster.write_png(map.palette(), &mut png).unwrap();
            assert_eq!(decoded(&png), (size, size, colours(&raster, map.palette())));
        }
    }
}

/// Returns the map that an SVG picture shows, and its upper left corner.
fn painted(svg: &str, size: usize) -> (Vec<Option<Rgb>>, (usize, usize), bool) {
    let document = Document::parse(svg).unwrap();
    let mut pixels = vec![None; size * size];
    if let Some(image) = document.descendants().find(|node| node.has_tag_name("image")) {
        assert_eq!((attribute(image, "width"), attribute(image, "height")), (size, size));
        let url: String = attribute(image, "href");
        let png = STANDARD.decode(url.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
        let (_, _, colours) = decoded(&png);
        return (
            colours.into_iter().map(Some).collect(),
            (attribute(image, "x"), attribute(image, "y")),
            true,
        );
    }
    let group = document.descendants().find(|node| node.has_tag_name("g")).unwrap();
    let mut fill = |colour: &str, [left, top, right, bottom]: [usize; 4], is_background: bool| {
        let part = |at: usize| u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
        for row in pixels.chunks_mut(size).take(bottom).skip(top) {
            for pixel in &mut row[left..right] {
                assert!(
                    is_background || pixel.is_none() || *pixel == Some(Rgb(242, 242, 242)),
                    "painted twice"
                );
                *pixel = Some(Rgb(part(1), part(3), part(5)));
            }
        }
    };
    for shape in group.children().filter(Node::is_element) {
        let colour: String = attribute(shape, "fill");
        if shape.has_tag_name("rect") {
            fill(&colour, [0, 0, attribute(shape, "width"), attribute(shape, "height")], true);
            continue;
        }
        for rectangle in shape.attribute("d").unwrap().split_terminator('z') {
            // M left top H right V bottom H left
            let numbers =
                rectangle.split(|letter: char| !letter.is_ascii_digit()).filter(|it| !it.is_empty());
            let numbers: Vec<usize> = numbers.map(|number| number.parse().unwrap()).collect();
            let [left, top, right, bottom, again] = numbers[..] else { panic!("{rectangle}") };
            assert_eq!(left, again);
            fill(&colour, [left, top, right, bottom], false);
        }
    }
    let place: String = attribute(group, "transform");
    let place = place.strip_prefix("translate(").and_then(|place| place.strip_suffix(')')).unwrap();
    let (x, y) = place.split_once(' ').unwrap();
    (pixels, (x.parse().unwrap(), y.parse().unwrap()), false)
}

#[test]
fn svg_and_png_show_the_map_in_the_same_place() {
    // Few rectangles, and more than are shorter than an image.
    for (routes, deepest, is_image) in [(0, 8, false), (6, 12, false), (20_000, 24, true)] {
        let rib = table(routes, deepest);
        let size = 64;
        let view = View::new(Prefix::ALL, size as u32).unwrap();
        let map = Map::lengths(&rib, Prefix::ALL);
        let (raster, palette) = (map.draw(&view).unwrap(), map.palette());
        let figure = Figure::new(&view, &raster, palette, "routes");
        let (mut svg, mut png) = (Vec::new(), Vec::new());
        figure.write_svg(&mut svg).unwrap();
        figure.write_png(&mut png).unwrap();

        let expected = colours(&raster, palette);
        let (map, (left, top), image) = painted(std::str::from_utf8(&svg).unwrap(), size);
        assert_eq!(image, is_image, "{routes} routes");
        assert_eq!(map, expected.iter().copied().map(Some).collect::<Vec<_>>());

        let (width, height, pixels) = decoded(&png);
        let document = Document::parse(std::str::from_utf8(&svg).unwrap()).unwrap();
        let root = document.root_element();
        assert_eq!((width, height), (attribute(root, "width"), attribute(root, "height")));
        let rows = pixels.chunks(width as usize).skip(top).take(size);
        let within: Vec<Rgb> = rows.flat_map(|row| row[left..left + size].to_vec()).collect();
        // A map of 64 pixels has no room for labels.
        assert_eq!(within, expected);
        assert!(pixels[..width as usize * top].contains(&Rgb(0, 0, 0)), "no title");
    }
}

#[test]
fn text_of_tables_stays_text() {
    let name = "<a & \"b\">\u{1}\u{7}Zürich]]>";
    let mut next_hops = NextHops::new();
    let value = next_hops.intern(fibula::NextHopInfo::Label("</text><script>".into())).unwrap();
    let mut rib = Rib::new();
    rib.insert(Prefix::<u32>::ALL, value);
    let view = View::new(Prefix::ALL, 1024).unwrap();
    let map = Map::values(&rib, &next_hops, Prefix::ALL);
    let raster = map.draw(&view).unwrap();
    let mut svg = Vec::new();
    Figure::new(&view, &raster, map.palette(), name).write_svg(&mut svg).unwrap();
    let svg = String::from_utf8(svg).unwrap();
    let document = Document::parse(&svg).unwrap();
    let texts: Vec<_> =
        document.descendants().filter(|it| it.has_tag_name("text")).filter_map(|it| it.text()).collect();
    assert!(texts.contains(&"<a & \"b\">\u{fffd}\u{fffd}Zürich]]>"), "{texts:?}");
    assert!(texts.contains(&"</text><script> · 100%"), "{texts:?}");
    assert!(texts.contains(&"0.0.0.0/0, 100% of the addresses covered"), "{texts:?}");
    // The /8s.
    assert!(["0", "10", "255"].iter().all(|label| texts.contains(label)), "{texts:?}");
}

#[test]
fn long_names_and_values_fit() {
    let long = "a".repeat(1 << 16);
    let mut next_hops = NextHops::new();
    let value = next_hops.intern(fibula::NextHopInfo::Label(long.as_str().into())).unwrap();
    let rib: Rib<u128> = [fibula::Route { prefix: Prefix::ALL, next_hop: value }].into_iter().collect();
    for size in [1, 256, 4096] {
        let view = View::new(Prefix::ALL, size).unwrap();
        let map = Map::values(&rib, &next_hops, Prefix::ALL);
        let raster = map.draw(&view).unwrap();
        let mut png = Vec::new();
        Figure::new(&view, &raster, map.palette(), &long).write_png(&mut png).unwrap();
        let (width, height, _) = decoded(&png);
        assert!(width < 2 * size + 512 && height < size + 512, "{width} x {height}");
    }
}
