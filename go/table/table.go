// Package table has tables that change: prefixes of both families with values of 64 bits, compiled
// by libfibula. It is a binding by cgo. libfibula and its fibula.pc must be installed:
//
//	cargo cinstall -p fibula-capi
//
// A [Table] is for one goroutine that changes it, or for many that look up. A [Live] is for both at
// once. Both are freed when nothing refers to them any more, or by Close.
package table

// #cgo pkg-config: fibula
// #cgo noescape fibula_go_lookup
// #cgo nocallback fibula_go_lookup
// #cgo noescape fibula_go_bulk
// #cgo nocallback fibula_go_bulk
// #include <stdlib.h>
// #include <fibula.h>
//
// static int fibula_go_lookup(const struct fibula_table *table, struct fibula_reader *reader,
//                             int family, const void *addr, uint64_t *value,
//                             struct fibula_prefix *prefix)
// {
//     if (reader != NULL)
//         table = fibula_reader_table(reader);
//     int found = family == 4 ? fibula_lookup4(table, addr, value, prefix)
//                             : fibula_lookup6(table, addr, value, prefix);
//     if (reader != NULL)
//         fibula_reader_offline(reader);
//     return found;
// }
//
// static int fibula_go_bulk(const struct fibula_table *table, struct fibula_reader *reader,
//                           const void *addrs4, size_t n4, uint64_t *out4,
//                           const void *addrs6, size_t n6, uint64_t *out6, uint64_t miss)
// {
//     int failed = 0;
//     if (reader != NULL)
//         table = fibula_reader_table(reader);
//     if (n4 > 0)
//         failed |= fibula_lookup_bulk4_be(table, addrs4, 4, out4, n4, miss);
//     if (n6 > 0)
//         failed |= fibula_lookup_bulk6_be(table, addrs6, 16, out6, n6, miss);
//     if (reader != NULL)
//         fibula_reader_offline(reader);
//     return failed;
// }
import "C"

import (
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"unsafe"
)

// Error is a call of libfibula that failed. The table is what it was before.
type Error struct {
	// Errno says the kind: EINVAL for host bits in a prefix, EAFNOSUPPORT for one of no family,
	// ENOENT for a prefix or engine that is not there, ENOSPC for a table that would pass its
	// limit, EAGAIN for readers that hold up a writer.
	Errno syscall.Errno
	// Message is one line.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return "fibula: " + e.Message }

// Unwrap returns the Errno, so that errors.Is(err, syscall.ENOENT) says the kind.
func (e *Error) Unwrap() error { return e.Errno }

// call makes a call, and reads the message of the thread that made it.
func call(function func() C.int) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if code := function(); code < 0 {
		return &Error{syscall.Errno(-code), C.GoString(C.fibula_error())}
	}
	return nil
}

// Options say how a table is compiled. The zero value leaves all to fibula.
type Options struct {
	// Engine is one by name, as the command fibula engines lists them.
	Engine string
	// MaxBytes is the most that the table may take: a change that would pass it fails with ENOSPC.
	// 0 is no limit.
	MaxBytes uint64
	// HugePages makes large arrays ask for huge pages.
	HugePages bool
}

// withC calls a function with the options as C has them.
func (o Options) withC(function func(*C.struct_fibula_options) C.int) error {
	var options C.struct_fibula_options
	C.fibula_options_init(&options, C.sizeof_struct_fibula_options)
	options.max_bytes = C.uint64_t(o.MaxBytes)
	if o.HugePages {
		options.huge_pages = 1
	}
	if o.Engine != "" {
		options.engine = C.CString(o.Engine)
		defer C.free(unsafe.Pointer(options.engine))
	}
	return call(func() C.int { return function(&options) })
}

// Table is a map from prefixes to values that answers the longest match. Any number of goroutines
// may look up at once while none changes it.
type Table struct {
	c       *C.struct_fibula_table
	cleanup runtime.Cleanup
}

func own(c *C.struct_fibula_table) *Table {
	t := &Table{c: c}
	t.cleanup = runtime.AddCleanup(t, func(c *C.struct_fibula_table) { C.fibula_table_free(c) }, c)
	return t
}

// give gives the C table up, which somebody else frees.
func (t *Table) give() *C.struct_fibula_table {
	c := t.c
	t.cleanup.Stop()
	t.c = nil
	return c
}

// New makes an empty table.
func New(options Options) (*Table, error) {
	var c *C.struct_fibula_table
	err := options.withC(func(o *C.struct_fibula_options) C.int { return C.fibula_table_new(o, &c) })
	if err != nil {
		return nil, err
	}
	return own(c), nil
}

// Open reads a table from a file in any format that fibula knows, compressed or not. A value that
// is a number below 2^63 is that number. Another has its highest bit set, and [Table.Text] its
// text.
func Open(path string, options Options) (*Table, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var c *C.struct_fibula_table
	err := options.withC(func(o *C.struct_fibula_options) C.int { return C.fibula_open(name, o, &c) })
	if err != nil {
		return nil, err
	}
	return own(c), nil
}

// Close frees the table now. Later calls fail or find nothing.
func (t *Table) Close() { C.fibula_table_free(t.give()) }

// Save writes the table as a file that package fibula opens. The file is replaced as a whole.
func (t *Table) Save(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	defer runtime.KeepAlive(t)
	return call(func() C.int { return C.fibula_save(t.c, name) })
}

// prefixOf returns a prefix as C has it. One that is not valid is refused by the call.
func prefixOf(prefix netip.Prefix) C.struct_fibula_prefix {
	c := C.struct_fibula_prefix{len: C.uint8_t(prefix.Bits())}
	addr := (*[16]byte)(unsafe.Pointer(&c.addr))
	switch {
	case prefix.Addr().Is4():
		bytes := prefix.Addr().As4()
		c.family = 4
		copy(addr[:], bytes[:])
	case prefix.Addr().Is6():
		c.family, *addr = 6, prefix.Addr().As16()
	}
	return c
}

func prefixFrom(c *C.struct_fibula_prefix) netip.Prefix {
	bytes := *(*[16]byte)(unsafe.Pointer(&c.addr))
	addr := netip.AddrFrom16(bytes)
	if c.family == 4 {
		addr = netip.AddrFrom4([4]byte(bytes[:4]))
	}
	return netip.PrefixFrom(addr, int(c.len))
}

// Insert sets the value of a prefix.
func (t *Table) Insert(prefix netip.Prefix, value uint64) error {
	c := prefixOf(prefix)
	defer runtime.KeepAlive(t)
	return call(func() C.int { return C.fibula_insert(t.c, &c, C.uint64_t(value)) })
}

// InsertMany sets the values of prefixes, or of none if one is refused. It compiles once: for many
// prefixes it is much faster than [Table.Insert]. Where a prefix is there twice, the last one
// counts.
func (t *Table) InsertMany(prefixes []netip.Prefix, values []uint64) error {
	if len(prefixes) != len(values) {
		return &Error{syscall.EINVAL, fmt.Sprintf("%d prefixes and %d values", len(prefixes), len(values))}
	}
	if len(prefixes) == 0 {
		return nil
	}
	all := make([]C.struct_fibula_prefix, len(prefixes))
	for i, prefix := range prefixes {
		all[i] = prefixOf(prefix)
	}
	defer runtime.KeepAlive(t)
	return call(func() C.int {
		first := (*C.uint64_t)(unsafe.Pointer(&values[0]))
		return C.fibula_insert_many(t.c, &all[0], first, C.size_t(len(all)))
	})
}

// Remove removes a prefix. The error is of the kind ENOENT if it is not there.
func (t *Table) Remove(prefix netip.Prefix) error {
	c := prefixOf(prefix)
	defer runtime.KeepAlive(t)
	return call(func() C.int { return C.fibula_remove(t.c, &c) })
}

// Len returns the number of prefixes.
func (t *Table) Len() int {
	defer runtime.KeepAlive(t)
	return int(C.fibula_len(t.c))
}

// Memory returns the bytes that the table takes, outside of Go's heap.
func (t *Table) Memory() int {
	defer runtime.KeepAlive(t)
	return int(C.fibula_memory(t.c))
}

// Text returns the text that a value of a table from a file stands for, and whether it stands for
// one.
func (t *Table) Text(value uint64) (string, bool) {
	defer runtime.KeepAlive(t)
	length := C.fibula_text(t.c, C.uint64_t(value), nil, 0)
	if length < 0 {
		return "", false
	}
	buffer := make([]byte, length+1)
	C.fibula_text(t.c, C.uint64_t(value), (*C.char)(unsafe.Pointer(&buffer[0])), C.size_t(len(buffer)))
	return string(buffer[:length]), true
}

// Lookup returns the value of the longest prefix that contains an address, and whether there is
// one. It does not allocate.
//
// An IPv4 address that is written as an IPv6 one (::ffff:192.0.2.1) is an IPv6 address here:
// [netip.Addr.Unmap] makes an IPv4 address of it.
func (t *Table) Lookup(addr netip.Addr) (uint64, bool) {
	value, found := lookup(t.c, nil, addr, nil)
	runtime.KeepAlive(t)
	return value, found
}

// LookupPrefix is [Table.Lookup], and returns the prefix, too. That takes a second search.
func (t *Table) LookupPrefix(addr netip.Addr) (netip.Prefix, uint64, bool) {
	var c C.struct_fibula_prefix
	value, found := lookup(t.c, nil, addr, &c)
	runtime.KeepAlive(t)
	if !found {
		return netip.Prefix{}, 0, false
	}
	return prefixFrom(&c), value, true
}

func lookup(
	table *C.struct_fibula_table, reader *C.struct_fibula_reader, addr netip.Addr,
	prefix *C.struct_fibula_prefix,
) (uint64, bool) {
	var bytes [16]byte
	family := C.int(6)
	switch {
	case addr.Is4():
		four := addr.As4()
		copy(bytes[:], four[:])
		family = 4
	case addr.Is6():
		bytes = addr.As16()
	default:
		return 0, false
	}
	var value C.uint64_t
	found := C.fibula_go_lookup(table, reader, family, unsafe.Pointer(&bytes), &value, prefix)
	return uint64(value), found == 0
}

// together is how many addresses of a batch go to C at once.
const together = 256

// block is what a batch needs in between. The IPv6 addresses begin at its end.
type block struct {
	addrs4         [together][4]byte
	addrs6         [together][16]byte
	at4, at6       [together]uint32
	found4, found6 [together]C.uint64_t
}

var blocks = sync.Pool{New: func() any { return new(block) }}

// LookupBatch sets values[i] to the value for addrs[i], or to miss. One call of C for many
// addresses is much faster than [Table.Lookup]. It does not allocate. It panics if values is
// shorter than addrs.
func (t *Table) LookupBatch(addrs []netip.Addr, values []uint64, miss uint64) {
	lookupBatch(t.c, nil, addrs, values, miss)
	runtime.KeepAlive(t)
}

func lookupBatch(
	table *C.struct_fibula_table, reader *C.struct_fibula_reader, addrs []netip.Addr, values []uint64,
	miss uint64,
) {
	values = values[:len(addrs)]
	b := blocks.Get().(*block)
	defer blocks.Put(b)
	for len(addrs) > 0 {
		n := min(len(addrs), together)
		n4, n6 := 0, 0
		for i, addr := range addrs[:n] {
			values[i] = miss
			switch {
			case addr.Is4():
				b.addrs4[n4], b.at4[n4] = addr.As4(), uint32(i)
				n4++
			case addr.Is6():
				b.addrs6[n6], b.at6[n6] = addr.As16(), uint32(i)
				n6++
			}
		}
		failed := C.fibula_go_bulk(table, reader, unsafe.Pointer(&b.addrs4), C.size_t(n4), &b.found4[0],
			unsafe.Pointer(&b.addrs6), C.size_t(n6), &b.found6[0], C.uint64_t(miss))
		if failed != 0 {
			n4, n6 = 0, 0 // closed: all are missing
		}
		for i, at := range b.at4[:n4] {
			values[at] = uint64(b.found4[i])
		}
		for i, at := range b.at6[:n6] {
			values[at] = uint64(b.found6[i])
		}
		addrs, values = addrs[n:], values[n:]
	}
}
