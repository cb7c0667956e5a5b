// Package fibula looks up IPv4 and IPv6 addresses in snapshots of fibula: files with a compiled
// table, which are mapped and not parsed.
//
//	file, err := fibula.Open("table.fib")
//	if err != nil {
//		return err
//	}
//	if hop, ok := file.Lookup(netip.MustParseAddr("192.0.2.1")); ok {
//		fmt.Println(file.Text(hop))
//	}
//
// The command fibula writes such files: fibula build -t TABLE -o table.fib. With --rib they have
// the routes, too, and [File.Routes] says the prefix of an answer.
//
// The package is pure Go and needs no library. It reads the files of every engine that fibula
// chooses by itself, on machines with little-endian processors. A table that changes is in the
// package table beside this one.
package fibula

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
)

// NextHop is the answer of a lookup: the number of a text of its file, from 1 on. 0 is no route.
type NextHop uint32

// Part says what a file holds of one family.
type Part struct {
	// Family is 4 or 6.
	Family int
	// Prefixes is the number of routes that were compiled.
	Prefixes uint64
	// Engine is the specification of the engine, such as "mosaic" or "poptrie/s=16".
	Engine string
	// Width is the number of bits of an answer: 8, 16 or 32.
	Width int
}

// File is an open snapshot. It never changes, and any number of goroutines may use it at once. A
// mapped file is unmapped when nothing refers to the File any more.
type File struct {
	ipv4, ipv6 engine
	routes4    *half
	routes6    *half
	texts      []string
	parts      []Part
	bytes      int
	missing    int // the family whose routes are missing, or 0
}

// Open maps a file and checks all of it: the checksums, and that each index that a lookup may
// follow is inside. O(bytes).
//
// While it is mapped the file must be replaced by renaming another to its name, and never be
// written to or truncated: the system ends a program that reads what a truncation took away.
//
// An error is one line with the name of the file and the reason. It is [ErrUnknownEngine] for a
// file of an engine that only the Rust library reads.
func Open(path string) (*File, error) {
	file, _, err := open(path)
	return file, err
}

// FromBytes checks the bytes of a snapshot as [Open] does, and copies them. O(bytes).
func FromBytes(bytes []byte) (*File, error) {
	aligned := make([]uint64, (len(bytes)+7)/8)
	of := cast[byte](aligned)[:len(bytes)]
	copy(of, bytes)
	file, err := parse(of)
	if err != nil {
		return nil, fmt.Errorf("fibula: %w", err)
	}
	return file, nil
}

// Parts returns what the file holds: one part for each family that it has.
func (f *File) Parts() []Part { return append([]Part(nil), f.parts...) }

// Bytes returns the size of the file.
func (f *File) Bytes() int { return f.bytes }

// Lookup returns the next hop of the longest prefix that contains an address, and whether there is
// one. It does not allocate.
//
// An IPv4 address that is written as an IPv6 one (::ffff:192.0.2.1) is an IPv6 address here:
// [netip.Addr.Unmap] makes an IPv4 address of it. A zone is ignored.
func (f *File) Lookup(addr netip.Addr) (NextHop, bool) {
	var hop uint32
	switch {
	case addr.Is4():
		hop = f.ipv4.lookup(key4(addr))
	case addr.Is6():
		hop = f.ipv6.lookup(key6(addr))
	}
	// The arrays that were read are not unmapped before.
	runtime.KeepAlive(f)
	return NextHop(hop), hop != 0
}

// together is how many addresses of a batch are looked up at once.
const together = 128

// block is what a batch needs in between.
type block struct {
	keys [together]u128
	at   [together]uint32
	hops [together]uint32
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// LookupBatch sets hops[i] to the next hop of addrs[i], or to 0 if it has no route. That is faster
// than one by one, because lookups wait for memory together. It does not allocate. It panics if
// hops is shorter than addrs.
func (f *File) LookupBatch(addrs []netip.Addr, hops []NextHop) {
	hops = hops[:len(addrs)]
	b := blocks.Get().(*block)
	for len(addrs) > 0 {
		n := min(len(addrs), together)
		f.lookupBlock(b, addrs[:n], hops[:n])
		addrs, hops = addrs[n:], hops[n:]
	}
	blocks.Put(b)
	runtime.KeepAlive(f)
}

// lookupBlock looks up the IPv4 addresses from the front of the block, and IPv6 ones from its end.
func (f *File) lookupBlock(b *block, addrs []netip.Addr, hops []NextHop) {
	n4, n6 := 0, together
	for i, addr := range addrs {
		switch {
		case addr.Is4():
			b.keys[n4], b.at[n4] = key4(addr), uint32(i)
			n4++
		case addr.Is6():
			n6--
			b.keys[n6], b.at[n6] = key6(addr), uint32(i)
		default:
			hops[i] = 0
		}
	}
	f.ipv4.lookupAll(b.keys[:n4], b.hops[:n4])
	f.ipv6.lookupAll(b.keys[n6:], b.hops[n6:])
	for i := range n4 {
		hops[b.at[i]] = NextHop(b.hops[i])
	}
	for i := n6; i < together; i++ {
		hops[b.at[i]] = NextHop(b.hops[i])
	}
}

// Len returns the number of next hops: the greatest that a lookup returns.
func (f *File) Len() int { return len(f.texts) }

// Text returns what a next hop stands for, as the table had it: an address, the number of an
// autonomous system, a label, or an object of JSON. It is "" for 0, and for a number that the file
// does not have. It does not allocate.
func (f *File) Text(hop NextHop) string {
	if i := uint64(hop) - 1; i < uint64(len(f.texts)) {
		return f.texts[i]
	}
	return ""
}

// Fields decodes the fields of a next hop into a struct or map, as [json.Unmarshal] does. A table
// with several columns of values has them. The error says that there are none, or which does not
// fit.
func (f *File) Fields(hop NextHop, into any) error {
	if err := json.Unmarshal([]byte(f.Text(hop)), into); err != nil {
		return fmt.Errorf("fibula: next hop %d: %w", hop, err)
	}
	return nil
}

// u128 is a key: an IPv6 address, or an IPv4 address followed by zeros. Its order in memory is that
// of the file.
type u128 struct{ lo, hi uint64 }

func (a u128) less(b u128) bool { return a.hi < b.hi || a.hi == b.hi && a.lo < b.lo }

func key4(addr netip.Addr) u128 {
	bytes := addr.As4()
	return u128{hi: uint64(binary.BigEndian.Uint32(bytes[:])) << 32}
}

func key6(addr netip.Addr) u128 {
	bytes := addr.As16()
	return u128{binary.BigEndian.Uint64(bytes[8:]), binary.BigEndian.Uint64(bytes[:8])}
}

// addr returns the address of a key of a family of 32 or 128 bits.
func (a u128) addr(bits int) netip.Addr {
	var bytes [16]byte
	binary.BigEndian.PutUint64(bytes[:8], a.hi)
	binary.BigEndian.PutUint64(bytes[8:], a.lo)
	if bits == 32 {
		return netip.AddrFrom4([4]byte(bytes[:4]))
	}
	return netip.AddrFrom16(bytes)
}
