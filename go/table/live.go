package table

// #include <fibula.h>
import "C"

import (
	"net/netip"
	"runtime"
	"time"
)

// Live is a table that one goroutine at a time changes while others look up by a [Reader]. Changes
// are gathered until [Live.Publish].
type Live struct {
	c       *C.struct_fibula_live
	cleanup runtime.Cleanup
}

// NewLive publishes a table, and takes it: the caller's Table is empty afterwards, as if closed.
func NewLive(table *Table) (*Live, error) {
	var c *C.struct_fibula_live
	if err := call(func() C.int { return C.fibula_live_new(table.c, &c) }); err != nil {
		return nil, err
	}
	table.give()
	l := &Live{c: c}
	l.cleanup = runtime.AddCleanup(l, func(c *C.struct_fibula_live) { C.fibula_live_free(c) }, c)
	return l, nil
}

// Close frees the writer's end now. Its readers go on, and see what was published last.
func (l *Live) Close() {
	c := l.c
	l.cleanup.Stop()
	l.c = nil
	C.fibula_live_free(c)
}

// Insert takes in the value of a prefix, which readers see after [Live.Publish].
func (l *Live) Insert(prefix netip.Prefix, value uint64) error {
	c := prefixOf(prefix)
	defer runtime.KeepAlive(l)
	return call(func() C.int { return C.fibula_live_insert(l.c, &c, C.uint64_t(value)) })
}

// Remove takes in that a prefix is removed.
func (l *Live) Remove(prefix netip.Prefix) error {
	c := prefixOf(prefix)
	defer runtime.KeepAlive(l)
	return call(func() C.int { return C.fibula_live_remove(l.c, &c) })
}

// Replace takes in a whole table in place of all before, and takes it as [NewLive] does.
func (l *Live) Replace(table *Table) error {
	defer runtime.KeepAlive(l)
	if err := call(func() C.int { return C.fibula_live_replace(l.c, table.c) }); err != nil {
		return err
	}
	table.give()
	return nil
}

// Discard drops what was taken in since the last publication.
func (l *Live) Discard() error {
	defer runtime.KeepAlive(l)
	return call(func() C.int { return C.fibula_live_discard(l.c) })
}

// Pending returns the number of changes that wait to be published.
func (l *Live) Pending() int {
	defer runtime.KeepAlive(l)
	return int(C.fibula_live_pending(l.c))
}

// Publish shows all changes to readers at once. It waits for calls of readers that are under way,
// at most for a time. Then the error is of the kind EAGAIN, and the changes wait for the next call.
// With 0 it does not wait.
func (l *Live) Publish(timeout time.Duration) error {
	defer runtime.KeepAlive(l)
	return call(func() C.int { return C.fibula_live_publish(l.c, C.uint64_t(max(timeout, 0))) })
}

// Reader looks up in what a [Live] has published. It is for one goroutine at a time, which no
// writer makes wait. Between calls it holds nothing up.
type Reader struct {
	c       *C.struct_fibula_reader
	cleanup runtime.Cleanup
}

// Reader makes a reader. Any goroutine may make one.
func (l *Live) Reader() (*Reader, error) {
	defer runtime.KeepAlive(l)
	var c *C.struct_fibula_reader
	if err := call(func() C.int { return C.fibula_reader_new(l.c, &c) }); err != nil {
		return nil, err
	}
	r := &Reader{c: c}
	r.cleanup = runtime.AddCleanup(r, func(c *C.struct_fibula_reader) { C.fibula_reader_free(c) }, c)
	return r, nil
}

// Close frees the reader now.
func (r *Reader) Close() {
	c := r.c
	r.cleanup.Stop()
	r.c = nil
	C.fibula_reader_free(c)
}

// Lookup is [Table.Lookup] in what is published now.
func (r *Reader) Lookup(addr netip.Addr) (uint64, bool) {
	value, found := lookup(nil, r.c, addr, nil)
	runtime.KeepAlive(r)
	return value, found
}

// LookupBatch is [Table.LookupBatch] in what is published now. 256 addresses at a time see the same
// table.
func (r *Reader) LookupBatch(addrs []netip.Addr, values []uint64, miss uint64) {
	lookupBatch(nil, r.c, addrs, values, miss)
	runtime.KeepAlive(r)
}
