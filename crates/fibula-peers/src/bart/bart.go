// Go's bart behind functions that C can call. Whole batches come over at once, so that the loop
// runs inside Go.
package main

// #include <stdint.h>
import "C"

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"runtime/cgo"
	"unsafe"

	"github.com/gaissmai/bart"
)

type table = bart.Fast[uint32]

// address4 and address6 make an address of the number that Rust keeps it as.
func address4(value uint32) netip.Addr {
	var bytes [4]byte
	binary.BigEndian.PutUint32(bytes[:], value)
	return netip.AddrFrom4(bytes)
}

func address6(value [2]uint64) netip.Addr {
	var bytes [16]byte
	binary.BigEndian.PutUint64(bytes[:8], value[1])
	binary.BigEndian.PutUint64(bytes[8:], value[0])
	return netip.AddrFrom16(bytes)
}

func of(handle C.uintptr_t) *table {
	return cgo.Handle(handle).Value().(*table)
}

//export fibula_bart_new
func fibula_bart_new() C.uintptr_t {
	return C.uintptr_t(cgo.NewHandle(new(table)))
}

//export fibula_bart_free
func fibula_bart_free(handle C.uintptr_t) {
	cgo.Handle(handle).Delete()
}

// fibula_bart_heap collects what nobody refers to and tells how many bytes are left.
//
//export fibula_bart_heap
func fibula_bart_heap() C.uint64_t {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return C.uint64_t(stats.HeapAlloc)
}

func change(handle C.uintptr_t, prefix netip.Prefix, nextHop C.uint32_t) {
	if nextHop == 0 {
		of(handle).Delete(prefix)
	} else {
		of(handle).Insert(prefix, uint32(nextHop))
	}
}

//export fibula_bart_change4
func fibula_bart_change4(handle C.uintptr_t, address C.uint32_t, length C.int, nextHop C.uint32_t) {
	change(handle, netip.PrefixFrom(address4(uint32(address)), int(length)), nextHop)
}

//export fibula_bart_change6
func fibula_bart_change6(handle C.uintptr_t, low, high C.uint64_t, length C.int, nextHop C.uint32_t) {
	address := address6([2]uint64{uint64(low), uint64(high)})
	change(handle, netip.PrefixFrom(address, int(length)), nextHop)
}

//export fibula_bart_lookup4
func fibula_bart_lookup4(handle C.uintptr_t, addresses unsafe.Pointer, nextHops *C.uint32_t, count C.size_t) {
	table := of(handle)
	answers := unsafe.Slice((*uint32)(unsafe.Pointer(nextHops)), count)
	for at, value := range unsafe.Slice((*uint32)(addresses), count) {
		answers[at], _ = table.Lookup(address4(value))
	}
}

//export fibula_bart_lookup6
func fibula_bart_lookup6(handle C.uintptr_t, addresses unsafe.Pointer, nextHops *C.uint32_t, count C.size_t) {
	table := of(handle)
	answers := unsafe.Slice((*uint32)(unsafe.Pointer(nextHops)), count)
	for at, value := range unsafe.Slice((*[2]uint64)(addresses), count) {
		answers[at], _ = table.Lookup(address6(value))
	}
}

func main() {}
