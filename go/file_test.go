package fibula

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// answer is what fibula's own table says of an address.
type answer struct {
	addr   netip.Addr
	hop    NextHop
	prefix netip.Prefix
	text   string
}

// file is a snapshot that fibula wrote, and the answers beside it.
type file struct {
	name    string
	bytes   []byte
	answers []answer
}

// files are those that the test of Rust has written, and names the folder of:
// cargo test -p fibula-capi --test go
func files(t testing.TB) []file {
	folder := os.Getenv("FIBULA_FILES")
	if folder == "" {
		t.Skip("FIBULA_FILES names no folder: cargo test -p fibula-capi --test go makes one")
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.fib"))
	if err != nil || len(paths) == 0 {
		t.Fatal(folder, "has no files", err)
	}
	var all []file
	for _, path := range paths {
		bytes, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file{path, bytes, answersOf(t, strings.TrimSuffix(path, ".fib")+".answers")})
	}
	return all
}

// answersOf reads lines of an address, a next hop, a prefix or "-", and a text.
func answersOf(t testing.TB, path string) (answers []answer) {
	opened, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	for lines := bufio.NewScanner(opened); lines.Scan(); {
		var a answer
		var addr, prefix string
		fields := strings.SplitN(lines.Text(), " ", 4)
		if _, err := fmt.Sscan(strings.Join(fields[:3], " "), &addr, &a.hop, &prefix); err != nil {
			t.Fatal(path, err)
		}
		a.addr, a.text = netip.MustParseAddr(addr), fields[3]
		if prefix != "-" {
			a.prefix = netip.MustParsePrefix(prefix)
		}
		answers = append(answers, a)
	}
	return answers
}

func TestEveryFileAnswersAsFibulaDoes(t *testing.T) {
	read := map[string]bool{}
	for _, of := range files(t) {
		file, err := Open(of.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range file.Parts() {
			name, _, _ := strings.Cut(part.Engine, "/")
			read[fmt.Sprint(name, " ", part.Family)] = true
		}
		var addrs []netip.Addr
		for _, a := range of.answers {
			hop, ok := file.Lookup(a.addr)
			if hop != a.hop || ok != (a.hop != 0) || file.Text(hop) != a.text {
				t.Fatalf("%s: %s: %d %q, expected %d %q", of.name, a.addr, hop, file.Text(hop), a.hop, a.text)
			}
			addrs = append(addrs, a.addr)
		}
		// Batches of all sizes up to one more than what is looked up together, with an address of
		// no family.
		addrs = append(addrs, netip.Addr{})
		hops := make([]NextHop, len(addrs))
		for size := 1; size <= together+1; size++ {
			for i := range hops {
				hops[i] = 12345
			}
			for from := 0; from < len(addrs); from += size {
				to := min(from+size, len(addrs))
				file.LookupBatch(addrs[from:to], hops[from:])
				if size < together-1 {
					break
				}
			}
			for i, a := range of.answers[:min(size, len(of.answers))] {
				if hops[i] != a.hop {
					t.Fatalf("%s: %s in a batch: %d, expected %d", of.name, a.addr, hops[i], a.hop)
				}
			}
		}
		for i, a := range of.answers {
			if hops[i] != a.hop {
				t.Fatalf("%s: %s in a batch: %d, expected %d", of.name, a.addr, hops[i], a.hop)
			}
		}
		if hops[len(addrs)-1] != 0 {
			t.Fatal("an address of no family has a next hop")
		}
		checkRoutes(t, file, of)
	}
	for name, format := range engines {
		for _, family := range []int{4, 6} {
			is := format.bits == 0 || format.bits == 32 == (family == 4)
			if read[fmt.Sprint(name, " ", family)] != is {
				t.Errorf("%s, IPv%d: read %v, expected %v", name, family, !is, is)
			}
		}
	}
}

// checkRoutes compares the routes of a file with its answers, and covers with those of a map.
func checkRoutes(t *testing.T, file *File, of file) {
	routes, err := file.Routes()
	if err != nil {
		t.Fatal(err)
	}
	all := maps.Collect(routes.All())
	total := uint64(0)
	for _, part := range file.Parts() {
		total += part.Prefixes
	}
	if uint64(len(all)) != total {
		t.Fatalf("%s: %d routes, expected %d", of.name, len(all), total)
	}
	prefixes, hops := make([]netip.Prefix, 1), make([]NextHop, 1)
	for _, a := range of.answers {
		prefix, hop, ok := routes.Lookup(a.addr)
		if prefix != a.prefix || hop != a.hop || ok != (a.hop != 0) {
			t.Fatalf("%s: %s: %s %d, expected %s %d", of.name, a.addr, prefix, hop, a.prefix, a.hop)
		}
		routes.LookupBatch([]netip.Addr{a.addr}, prefixes, hops)
		if prefixes[0] != prefix || hops[0] != hop {
			t.Fatalf("%s: %s in a batch: %s", of.name, a.addr, prefixes[0])
		}
	}
	for _, a := range of.answers[:min(100, len(of.answers))] {
		var covers, expected []netip.Prefix
		for prefix, hop := range routes.Covers(netip.PrefixFrom(a.addr, a.addr.BitLen()-1)) {
			if all[prefix] != hop {
				t.Fatalf("%s: %s: %d, expected %d", of.name, prefix, hop, all[prefix])
			}
			covers = append(covers, prefix)
		}
		for length := a.addr.BitLen() - 1; length >= 0; length-- {
			prefix, _ := a.addr.Prefix(length)
			if _, ok := all[prefix]; ok {
				expected = append(expected, prefix)
			}
		}
		if !slices.Equal(covers, expected) {
			t.Fatalf("%s: %s: covers %s, expected %s", of.name, a.addr, covers, expected)
		}
	}
}

func TestLookupsDoNotAllocate(t *testing.T) {
	for _, of := range files(t) {
		file, err := FromBytes(of.bytes)
		if err != nil {
			t.Fatal(of.name, err)
		}
		routes, err := file.Routes()
		if err != nil {
			t.Fatal(err)
		}
		var addrs []netip.Addr
		for _, a := range of.answers[:min(300, len(of.answers))] {
			addrs = append(addrs, a.addr)
		}
		hops, texts := make([]NextHop, len(addrs)), 0
		allocations := testing.AllocsPerRun(10, func() {
			file.LookupBatch(addrs, hops)
			for _, addr := range addrs {
				hop, _ := file.Lookup(addr)
				_, _, _ = routes.Lookup(addr)
				texts += len(file.Text(hop))
			}
		})
		if allocations != 0 {
			t.Errorf("%s: %v allocations", of.name, allocations)
		}
	}
}

// smallest returns the smallest file.
func smallest(t testing.TB) file {
	return slices.MinFunc(files(t), func(a, b file) int { return len(a.bytes) - len(b.bytes) })
}

func TestCutOrChangedFilesAreRefused(t *testing.T) {
	of := smallest(t)
	for n := range of.bytes {
		if _, err := FromBytes(of.bytes[:n]); err == nil {
			t.Fatalf("%s: cut to %d bytes", of.name, n)
		}
		changed := slices.Clone(of.bytes)
		changed[n] ^= 1 << (n % 8)
		if _, err := FromBytes(changed); err == nil {
			t.Fatalf("%s: byte %d changed", of.name, n)
		}
	}
	if _, err := FromBytes(append(slices.Clone(of.bytes), make([]byte, align)...)); err == nil {
		t.Fatal("grown")
	}
}

func TestErrorsAreOneClearLine(t *testing.T) {
	of := smallest(t)
	file, err := FromBytes(of.bytes)
	if err != nil {
		t.Fatal(err)
	}
	engine := file.Parts()[0].Engine
	unknown := strings.Repeat("x", len(engine))
	path := filepath.Join(t.TempDir(), "table.fib")
	for name, change := range map[string]func([]byte) []byte{
		": not a snapshot of fibula":              func([]byte) []byte { return []byte("192.0.2.0/24 1\n") },
		": not a snapshot of fibula ":             func([]byte) []byte { return nil },
		"cut short or grown: 100 bytes, expected": func(b []byte) []byte { return b[:100] },
		"format version 3, this package reads 4":  func(b []byte) []byte { b[12] = 3; return b },
		"the engine \"" + unknown + "\": this package does not": func(b []byte) []byte {
			return reseal([]byte(strings.Replace(string(b), engine, unknown, 1)))
		},
	} {
		if err := os.WriteFile(path, change(slices.Clone(of.bytes)), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(path)
		if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) ||
			!strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", name, err)
		}
		if strings.Contains(name, "engine") && !errors.Is(err, ErrUnknownEngine) {
			t.Errorf("%v is not ErrUnknownEngine", err)
		}
	}
	if _, err := Open(filepath.Join(path, "none")); err == nil {
		t.Error("a file that is not there")
	}
}

func TestAFileThatWasReplacedIsOpenedAgain(t *testing.T) {
	all := files(t)
	folder := t.TempDir()
	path, beside := filepath.Join(folder, "table.fib"), filepath.Join(folder, "beside")
	write := func(bytes []byte) {
		if err := os.WriteFile(beside, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(beside, path); err != nil {
			t.Fatal(err)
		}
	}
	write(all[0].bytes)
	live, err := OpenLive(path)
	if err != nil {
		t.Fatal(err)
	}
	first := live.File()
	refresh := func(expected, failure bool) {
		t.Helper()
		if is, err := live.Refresh(); is != expected || err != nil != failure {
			t.Fatal(is, err)
		}
	}
	refresh(false, false)
	write([]byte("no snapshot"))
	refresh(false, true)
	if live.File() != first {
		t.Fatal("another file after an error")
	}
	write(all[1].bytes)
	refresh(true, false)
	refresh(false, false)
	for i, file := range []*File{first, live.File()} {
		for _, a := range all[i].answers {
			if hop, _ := file.Lookup(a.addr); hop != a.hop {
				t.Fatalf("%d: %s: %d, expected %d", i, a.addr, hop, a.hop)
			}
		}
	}
}

func TestAFileIsUnmappedWhenNothingRefersToIt(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the mappings of a process are read as Linux tells them")
	}
	of := smallest(t)
	mappings := func() int {
		maps, err := os.ReadFile("/proc/self/maps")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(maps), of.name)
	}
	before := mappings()
	file, err := Open(of.name)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if mappings() != before+1 {
		t.Fatal("not mapped")
	}
	runtime.KeepAlive(file)
	file = nil
	for end := time.Now().Add(time.Minute); mappings() > before; time.Sleep(time.Millisecond) {
		if runtime.GC(); time.Now().After(end) {
			t.Fatal("still mapped")
		}
	}
}

func TestTheHashIsXXH3(t *testing.T) {
	if hash := xxh3(nil); hash != 0x2D06800538D394C2 {
		t.Errorf("%#x", hash)
	}
}
