// The routes of many peers in one table of bart, as flow collectors keep them: the value of a
// prefix is the list of its peers' routes, the best first. Equal attributes are stored once.
package main

// #include <stdint.h>
// typedef struct { uint32_t address, length, peer, path_length, origin; } fibula_bart_route;
import "C"

import (
	"cmp"
	"net/netip"
	"runtime/cgo"
	"runtime/debug"
	"slices"
	"sync"
	"unsafe"

	"github.com/gaissmai/bart"
)

type attributes struct {
	nextHop            netip.Addr
	origin, pathLength uint32
}

type route struct{ peer, pathID, attributes uint32 }

type collector struct {
	lock    sync.RWMutex
	table   bart.Table[[]route]
	known   []attributes
	numbers map[attributes]uint32
}

func (c *collector) number(of attributes) uint32 {
	number, ok := c.numbers[of]
	if !ok {
		number = uint32(len(c.known))
		c.known = append(c.known, of)
		c.numbers[of] = number
	}
	return number
}

// change announces a route, or withdraws it if it has no origin.
func (c *collector) change(change C.fibula_bart_route) {
	prefix := netip.PrefixFrom(address4(uint32(change.address)), int(change.length))
	peer := uint32(change.peer)
	c.table.Modify(prefix, func(routes []route, _ bool) ([]route, bool) {
		routes = slices.DeleteFunc(routes, func(r route) bool { return r.peer == peer })
		if change.origin != 0 {
			pathLength := uint32(change.path_length)
			number := c.number(attributes{address4(peer), uint32(change.origin), pathLength})
			at := slices.IndexFunc(routes, func(r route) bool {
				order := cmp.Compare(c.known[r.attributes].pathLength, pathLength)
				return cmp.Or(order, cmp.Compare(r.peer, peer)) > 0
			})
			if at < 0 {
				at = len(routes)
			}
			routes = slices.Insert(routes, at, route{peer: peer, attributes: number})
		}
		return routes, len(routes) == 0
	})
}

func collectorOf(handle C.uintptr_t) *collector {
	return cgo.Handle(handle).Value().(*collector)
}

//export fibula_bart_collector_new
func fibula_bart_collector_new() C.uintptr_t {
	return C.uintptr_t(cgo.NewHandle(&collector{numbers: make(map[attributes]uint32)}))
}

//export fibula_bart_collector_change
func fibula_bart_collector_change(handle C.uintptr_t, changes *C.fibula_bart_route, count C.size_t) {
	c := collectorOf(handle)
	c.lock.Lock()
	defer c.lock.Unlock()
	for _, change := range unsafe.Slice(changes, count) {
		c.change(change)
	}
}

//export fibula_bart_collector_lookup
func fibula_bart_collector_lookup(handle C.uintptr_t, addresses, origins *C.uint32_t, count C.size_t) {
	c := collectorOf(handle)
	c.lock.RLock()
	defer c.lock.RUnlock()
	answers := unsafe.Slice(origins, count)
	for at, address := range unsafe.Slice(addresses, count) {
		answers[at] = 0
		if routes, ok := c.table.Lookup(address4(uint32(address))); ok {
			answers[at] = C.uint32_t(c.known[routes[0].attributes].origin)
		}
	}
}

// fibula_bart_return gives what nobody refers to back to the system.
//
//export fibula_bart_return
func fibula_bart_return() {
	debug.FreeOSMemory()
}
