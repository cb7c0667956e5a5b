//! The Go module: what it answers from files of every engine that `best` takes, what its package
//! over libfibula does, and the programs of docs/go.md. Where Go is not installed nothing is
//! tested.

use fibula::engine::{BEST, Config, ENGINES, Updates, WidthBits};
use fibula::snapshot::Image;
use fibula::{Address, Change, Fib, NextHop, Rib};
use fibula_io::generate::{NextHopModel, Size, edge, internet};
use fibula_io::table::{ReadOptions, Tables};
use fibula_io::{Source, snapshot, table};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The answers that are compared of one file.
const ANSWERS: usize = 1500;

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path).canonicalize().unwrap()
}

/// Runs `go` in a folder, with libfibula as it was built for this test.
fn go(folder: &Path, arguments: &[&str], files: &Path) {
    let mut command = Command::new("go");
    command.args(arguments).current_dir(folder).env("CGO_ENABLED", "1").env("GOFLAGS", "-buildvcs=false");
    command.env("FIBULA_FILES", files).env("PKG_CONFIG_PATH", installed(files));
    // What Go keeps of an earlier build depends on this, but not on what pkg-config says.
    command.env("CGO_LDFLAGS", format!("-L{}", built().display()));
    let output = command.output().unwrap();
    let [out, error] = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success(), "go {}: {out}{error}", arguments.join(" "));
}

/// Returns the folder of the library that was built beside this test.
fn built() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Returns a folder with a `fibula.pc` for the library that was built beside this test.
fn installed(folder: &Path) -> PathBuf {
    let (built, include) = (built(), here("include"));
    let text = format!(
        "Name: fibula\nDescription: libfibula\nVersion: {}\nCflags: -I{}\n\
         Libs: -L{} -l:libfibula_capi.a -lpthread -ldl -lm\n",
        env!("CARGO_PKG_VERSION"),
        include.display(),
        built.display(),
    );
    fs::write(folder.join("fibula.pc"), text).unwrap();
    folder.to_owned()
}

/// Returns whether there is Go, and says if not.
fn has_go() -> bool {
    let is_there = Command::new("go").arg("version").output().is_ok_and(|output| output.status.success());
    if !is_there {
        eprintln!("Go is not installed");
    }
    is_there
}

/// Returns an empty folder that stays, for whoever fuzzes by hand.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The routes that go and come back in a table that has changed.
const CHANGED: usize = 1000;

/// Compiles a table by an engine, which may have another width or family. Routes of a table that
/// has changed were withdrawn and announced again.
fn compiled<A: Address>(specification: &str, rib: &Rib<A>, how: How) -> Option<Fib<A>> {
    let mut config = Config::default();
    config.width = how.width;
    let mut fib = (!rib.is_empty()).then(|| Fib::build_from(ENGINES, specification, rib, config).ok())??;
    if how.has_changed {
        let mut now = rib.clone();
        let some = || rib.iter().step_by(rib.len().div_ceil(CHANGED));
        let gone = some().map(|route| Change::Withdraw(route.prefix));
        for change in gone.chain(some().map(Change::Announce)) {
            let delta = now.apply(change).unwrap();
            fib.apply(&now, &[delta]).unwrap();
        }
    }
    Some(fib)
}

/// How a table is compiled.
#[derive(Clone, Copy, Debug, Default)]
struct How {
    width: Option<WidthBits>,
    has_changed: bool,
}

/// Writes the addresses around the ends of prefixes, and what the table says of them.
fn answers<A: Address>(tables: &Tables, rib: &Rib<A>, into: &mut String) {
    let step = (4 * rib.len()).div_ceil(ANSWERS).max(1);
    for route in rib.iter().step_by(step) {
        let (first, last) = (route.prefix.first(), route.prefix.last());
        let around = [first.previous(), Some(first), Some(last), last.next()];
        for address in around.into_iter().flatten() {
            let found = rib.longest_match(address);
            let hop = found.map_or(NextHop::NONE, |route| route.next_hop);
            let prefix = found.map_or("-".to_owned(), |route| route.prefix.to_string());
            let text = tables.next_hops.get(hop).map(ToString::to_string).unwrap_or_default();
            writeln!(into, "{} {} {prefix} {text}", address.to_ip(), hop.0).unwrap();
        }
    }
}

/// Compiles both families by the engines of two specifications, as far as those do them. Writes the
/// file and the answers beside it.
fn write(path: &Path, tables: &Tables, [ipv4, ipv6]: [&str; 2], how: How) {
    let (ipv4, ipv6) = (compiled(ipv4, &tables.ipv4, how), compiled(ipv6, &tables.ipv6, how));
    let (mut image, mut lines) = (Image::new(&tables.next_hops), String::new());
    if let Some(fib) = &ipv4 {
        image = image.with(fib, &tables.ipv4, true).unwrap();
        answers(tables, &tables.ipv4, &mut lines);
    }
    if let Some(fib) = &ipv6 {
        image = image.with(fib, &tables.ipv6, true).unwrap();
        answers(tables, &tables.ipv6, &mut lines);
    }
    snapshot::write(&image, path).unwrap();
    fs::write(path.with_extension("answers"), lines).unwrap();
}

fn read(path: &Path) -> Tables {
    table::read(&Source::File(path.to_owned()), &ReadOptions::default()).unwrap().tables
}

/// A default route, covers of it, fields, and no next hop of either family but these.
const SMALL: &str = "0.0.0.0/0 none\n10.0.0.0/8 64500\n10.1.0.0/16 {\"site\":\"Ghent\",\"vlan\":101}\n\
                     10.1.2.3/32 192.0.2.1\n255.255.255.255/32 to the lab\n2001:db8::/32 64500\n\
                     2001:db8:1::/48 fe80::1 dev eth0\n";

/// Writes the files of every engine that `best` may take, and of `best` itself.
fn write_files(folder: &Path) {
    let model = NextHopModel::Different(180);
    let size = |count| Size { ipv4: count, ipv6: count };
    let small = [internet(size(400), model, 1).unwrap(), edge(size(100), model, 1).unwrap()];
    let large = internet(size(60_000), NextHopModel::Different(1000), 1).unwrap();
    for entry in ENGINES {
        let name = entry.about.name;
        if entry.about.updates != Updates::InPlace || ["oracle", "radix"].contains(&name) {
            continue; // `best` does not take it, or only if no other engine holds a table
        }
        // Files of 64 MB: one is enough.
        let is_huge = name == "dir24-8";
        let most = if is_huge { 1 } else { usize::MAX };
        for &width in WidthBits::ALL.iter().take(most) {
            for (at, tables) in small.iter().enumerate().take(most) {
                let path = folder.join(format!("{name}-{}-{at}.fib", width.bits()));
                write(&path, tables, [name; 2], How { width: Some(width), has_changed: at == 1 });
            }
        }
        if !is_huge {
            write(
                &folder.join(format!("{name}-large.fib")),
                &large,
                [name; 2],
                How { width: None, has_changed: true },
            );
        }
    }
    // A root of 32 bits: more than 65,536 numbers of tiles.
    let wide = internet(Size { ipv4: 200_000, ipv6: 0 }, NextHopModel::Each, 1).unwrap();
    write(&folder.join("wide.fib"), &wide, ["mosaic-runs"; 2], How::default());
    write(&folder.join("poptrie-s.fib"), &small[0], ["poptrie/s=0", "poptrie/s=5"], How::default());
    write(&folder.join("best-large.fib"), &large, [BEST; 2], How::default());
    let text = folder.join("small.txt");
    fs::write(&text, SMALL).unwrap();
    write(&folder.join("best-small.fib"), &read(&text), [BEST; 2], How::default());
}

#[test]
fn go_answers_as_fibula_does() {
    if !has_go() {
        return;
    }
    let files = folder("go");
    write_files(&files);
    let module = here("../../go");
    go(&module, &["vet", "./..."], &files);
    go(&module, &["test", "-count=1", "./..."], &files);
    // Who measures fetches bart; nothing is fetched here.
    let bench = module.join("bench");
    let mut list = Command::new("go");
    list.args(["list", "-deps", "-test", "./..."]).current_dir(&bench).env("GOPROXY", "off");
    if list.output().unwrap().status.success() {
        go(&bench, &["vet", "./..."], &files);
    } else {
        eprintln!("bart is not installed");
    }
}

#[test]
fn go_is_formatted() {
    if !has_go() {
        return;
    }
    let output = Command::new("gofmt").arg("-l").arg(here("../../go")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

/// Returns the blocks of a page in a language, each with the block that follows it.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<(&'p str, &'p str)> {
    let blocks: Vec<_> =
        page.split("```").skip(1).step_by(2).filter_map(|block| block.split_once('\n')).collect();
    let pairs = blocks.iter().zip(blocks.iter().skip(1));
    pairs.filter(|((is, _), _)| *is == language).map(|((_, text), (_, after))| (*text, *after)).collect()
}

#[test]
fn the_programs_of_the_page_print_what_it_says() {
    if !has_go() {
        return;
    }
    let page = fs::read_to_string(here("../../docs/go.md")).unwrap();
    let (programs, module) = (blocks(&page, "go"), folder("go-page"));
    assert_eq!(programs.len(), 6);
    let text = module.join("sites.csv");
    fs::write(&text, blocks(&page, "csv")[0].0).unwrap();
    write(&module.join("sites.fib"), &read(&text), [BEST; 2], How::default());
    let replaced = format!(
        "module page\ngo 1.24\nrequire github.com/fibula-net/fibula/go v0.0.0\n\
         replace github.com/fibula-net/fibula/go => {}\n",
        here("../../go").display()
    );
    fs::write(module.join("go.mod"), replaced).unwrap();
    for (at, (program, _)) in programs.iter().enumerate() {
        let folder = module.join(format!("program{at}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("main.go"), program).unwrap();
    }
    let built = module.join("built");
    fs::create_dir(&built).unwrap();
    go(&module, &["vet", "./..."], &module);
    go(&module, &["build", "-o", "built", "./..."], &module);
    for (at, (program, prints)) in programs.iter().enumerate() {
        let run = Command::new(built.join(format!("program{at}"))).current_dir(&module).output().unwrap();
        let printed = String::from_utf8_lossy(&run.stdout);
        assert_eq!(printed, *prints, "{program}: {}", String::from_utf8_lossy(&run.stderr));
    }
    let left = Command::new("gofmt").arg("-l").arg(&module).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}
