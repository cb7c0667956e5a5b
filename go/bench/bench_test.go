//go:build unix

// Package bench times lookups in a file of fibula beside the tables of bart with the same routes,
// by the same addresses. The file is one with routes:
//
//	fibula build --rib -t TABLE -o table.fib
//	FIBULA_FILE=$PWD/table.fib go test -bench . -count 5
//
// On a machine that others use, cpu-ns/op says more than ns/op: it is the processor's time, without
// that in which others had it.
package bench

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"runtime"
	"syscall"
	"testing"

	fibula "github.com/fibula-net/fibula/go"
	"github.com/gaissmai/bart"
)

// count is the number of addresses that lookups take turns in: a power of two.
const count = 1 << 20

// setup is what all benchmarks share.
type setup struct {
	file   *fibula.File
	routes *fibula.Routes
	addrs  []netip.Addr
	// bytes are those of the file but for its routes, with what it takes of the heap. prefixes is
	// the number of routes.
	bytes, prefixes int
}

var prepared *setup

func prepare(b *testing.B) *setup {
	if prepared != nil {
		return prepared
	}
	path := os.Getenv("FIBULA_FILE")
	if path == "" {
		b.Skip("FIBULA_FILE names no file: fibula build --rib -t TABLE -o FILE makes one")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	file, err := fibula.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	routes, err := file.Routes()
	if err != nil {
		b.Fatal(err)
	}
	s := &setup{file: file, routes: routes, bytes: file.Bytes() + int(after.HeapAlloc-before.HeapAlloc)}
	var prefixes []netip.Prefix
	for prefix := range routes.All() {
		prefixes = append(prefixes, prefix)
		// An address, a length, and a next hop.
		s.bytes -= prefix.Addr().BitLen()/8 + 1 + 4
	}
	s.prefixes = len(prefixes)
	random := rand.New(rand.NewPCG(1, 2))
	for range count {
		s.addrs = append(s.addrs, within(prefixes[random.IntN(len(prefixes))], random))
	}
	for _, part := range file.Parts() {
		b.Logf("IPv%d: %d prefixes, %s, next hops of %d bits", part.Family, part.Prefixes, part.Engine, part.Width)
	}
	prepared = s
	return s
}

// within returns a random address of a prefix.
func within(prefix netip.Prefix, random *rand.Rand) netip.Addr {
	bytes := prefix.Addr().AsSlice()
	for i := range bytes {
		kept := min(max(prefix.Bits()-8*i, 0), 8)
		bytes[i] |= byte(random.Uint32()) & (0xFF >> kept)
	}
	addr, _ := netip.AddrFromSlice(bytes)
	return addr
}

// table is what bart's have in common.
type table interface {
	Insert(netip.Prefix, uint32)
	Lookup(netip.Addr) (uint32, bool)
}

// lite has no values.
type lite struct{ *bart.Lite }

func (l lite) Insert(prefix netip.Prefix, _ uint32) { l.Lite.Insert(prefix) }

func (l lite) Lookup(addr netip.Addr) (uint32, bool) { return 0, l.Lite.Lookup(addr) }

// kept is a table of bart that several runs of a benchmark share.
type kept[T any] struct {
	table T
	bytes uint64
}

var (
	bartTable kept[bart.Table[uint32]]
	bartFast  kept[bart.Fast[uint32]]
	bartLite  kept[bart.Lite]
)

// fill inserts all routes once, compares all answers, and returns the bytes that the heap has grown
// by.
func (s *setup) fill(b *testing.B, t table, bytes *uint64, hasValues bool) uint64 {
	if *bytes > 0 {
		return *bytes
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for prefix, hop := range s.routes.All() {
		t.Insert(prefix, uint32(hop))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	for _, addr := range s.addrs {
		expected, is := s.file.Lookup(addr)
		if hop, ok := t.Lookup(addr); ok != is || hasValues && hop != uint32(expected) {
			b.Fatal(addr, hop, ok, expected)
		}
	}
	*bytes = after.HeapAlloc - before.HeapAlloc
	return *bytes
}

// time runs lookups of b.N addresses, and reports what they took beside the bytes of the table.
func (s *setup) time(b *testing.B, bytes uint64, lookups func()) {
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime(b)
	lookups()
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(bytes)/float64(s.prefixes), "B/prefix")
	b.ReportMetric(float64(bytes), "table-B")
}

// processorTime returns the nanoseconds that the process has run.
func processorTime(b *testing.B) int64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return usage.Utime.Nano()
}

// sink keeps the compiler from leaving lookups out.
var sink uint32

func BenchmarkFibula(b *testing.B) {
	s := prepare(b)
	s.time(b, uint64(s.bytes), func() {
		for i := range b.N {
			hop, _ := s.file.Lookup(s.addrs[i&(count-1)])
			sink += uint32(hop)
		}
	})
}

func BenchmarkFibulaBatch(b *testing.B) {
	s := prepare(b)
	const size = 1024
	hops := make([]fibula.NextHop, size)
	s.time(b, uint64(s.bytes), func() {
		for i := 0; i < b.N; i += size {
			at, n := i&(count-1), min(size, b.N-i)
			s.file.LookupBatch(s.addrs[at:at+n], hops)
		}
	})
}

func BenchmarkFibulaPrefix(b *testing.B) {
	s := prepare(b)
	s.time(b, uint64(s.file.Bytes()), func() {
		for i := range b.N {
			_, hop, _ := s.routes.Lookup(s.addrs[i&(count-1)])
			sink += uint32(hop)
		}
	})
}

// The types of bart are named, so that their calls are not by an interface.

func BenchmarkBartTable(b *testing.B) {
	s, t := prepare(b), &bartTable.table
	s.time(b, s.fill(b, t, &bartTable.bytes, true), func() {
		for i := range b.N {
			hop, _ := t.Lookup(s.addrs[i&(count-1)])
			sink += hop
		}
	})
}

func BenchmarkBartFast(b *testing.B) {
	s, t := prepare(b), &bartFast.table
	s.time(b, s.fill(b, t, &bartFast.bytes, true), func() {
		for i := range b.N {
			hop, _ := t.Lookup(s.addrs[i&(count-1)])
			sink += hop
		}
	})
}

func BenchmarkBartLite(b *testing.B) {
	s, t := prepare(b), &bartLite.table
	s.time(b, s.fill(b, lite{t}, &bartLite.bytes, false), func() {
		for i := range b.N {
			if t.Lookup(s.addrs[i&(count-1)]) {
				sink++
			}
		}
	})
}
