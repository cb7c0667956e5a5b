package fibula

import (
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"net/netip"
	"runtime"
	"sort"
)

// ErrNoRoutes is in the error of [File.Routes] for a file without them. fibula build --rib keeps
// them.
var ErrNoRoutes = errors.New("a snapshot without its routes")

// Routes are the routes of a file, which say what prefix an answer is of. Their searches are
// binary ones in the file, and take longer than [File.Lookup].
type Routes struct {
	file *File
}

// Routes returns the routes of all tables. The error is [ErrNoRoutes] if a table has none.
func (f *File) Routes() (*Routes, error) {
	if f.missing != 0 {
		return nil, fmt.Errorf("fibula: IPv%d: %w", f.missing, ErrNoRoutes)
	}
	return &Routes{f}, nil
}

// Lookup returns the longest prefix that contains an address, its next hop, and whether there is
// one. It does not allocate. O(b log n), where b is at most the number of bits of an address.
func (r *Routes) Lookup(addr netip.Addr) (netip.Prefix, NextHop, bool) {
	half, key := r.half(addr)
	at := half.longest(key, half.bits())
	prefix, hop := half.route(at)
	runtime.KeepAlive(r.file)
	return prefix, hop, at >= 0
}

// LookupBatch sets prefixes[i] and hops[i] to the answer for addrs[i], or to zero values if it has
// no route. It panics if one of them is shorter than addrs.
func (r *Routes) LookupBatch(addrs []netip.Addr, prefixes []netip.Prefix, hops []NextHop) {
	for i, addr := range addrs {
		prefixes[i], hops[i], _ = r.Lookup(addr)
	}
}

// Covers yields each route that covers a prefix, itself included, the longest first.
func (r *Routes) Covers(prefix netip.Prefix) iter.Seq2[netip.Prefix, NextHop] {
	return func(yield func(netip.Prefix, NextHop) bool) {
		half, key := r.half(prefix.Addr())
		for length := prefix.Bits(); length >= 0; {
			at := half.longest(key.first(uint(length)), length)
			if at < 0 || !yield(half.route(at)) {
				break
			}
			length = int(half.lengths[at]) - 1
		}
		runtime.KeepAlive(r.file)
	}
}

// All yields all routes: those of IPv4, then those of IPv6, in order of their addresses, a shorter
// prefix before longer ones.
func (r *Routes) All() iter.Seq2[netip.Prefix, NextHop] {
	return func(yield func(netip.Prefix, NextHop) bool) {
		for _, half := range []*half{r.file.routes4, r.file.routes6} {
			for at := range half.len() {
				if !yield(half.route(at)) {
					return
				}
			}
		}
		runtime.KeepAlive(r.file)
	}
}

// half returns the routes of the family of an address, and the key of it.
func (r *Routes) half(addr netip.Addr) (*half, u128) {
	switch {
	case addr.Is4():
		return r.file.routes4, key4(addr)
	case addr.Is6():
		return r.file.routes6, key6(addr)
	}
	return nil, u128{}
}

// half is the routes of a family, in order. Nil has none.
type half struct {
	// Of one family; the other is nil.
	addresses4 []uint32
	addresses6 []u128
	lengths    []uint8
	hops       []uint32
}

const routeAddresses = "route addresses"

func openRoutes(s *sections, bits int, prefixes uint64) *half {
	const lengths, nextHops = "route lengths", "route next hops"
	n := int(min(prefixes, 1<<31-1))
	h := &half{lengths: arrayOf[uint8](s, lengths, n), hops: arrayOf[uint32](s, nextHops, n)}
	if bits == 32 {
		h.addresses4 = arrayOf[uint32](s, routeAddresses, n)
	} else {
		h.addresses6 = arrayOf[u128](s, routeAddresses, n)
	}
	if s.err != nil {
		return h
	}
	for at := range n {
		key, length := h.key(at), uint(h.lengths[at])
		if length > uint(bits) || key.first(length) != key {
			s.refuse(routeAddresses, "holds no prefix at %d", at)
			return h
		}
		if at > 0 {
			before := h.key(at - 1)
			if !before.less(key) && (before != key || uint(h.lengths[at-1]) >= length) {
				s.refuse(routeAddresses, "is not in order at %d", at)
				return h
			}
		}
		if h.hops[at] == 0 {
			s.refuse(nextHops, "has no next hop at %d", at)
		}
		s.check(nextHops, h.hops[at])
	}
	return h
}

func (h *half) len() int {
	if h == nil {
		return 0
	}
	return len(h.lengths)
}

func (h *half) bits() int {
	if h == nil || h.addresses6 == nil {
		return 32
	}
	return 128
}

func (h *half) key(at int) u128 {
	if h.addresses6 != nil {
		return h.addresses6[at]
	}
	return u128{hi: uint64(h.addresses4[at]) << 32}
}

// route returns a route; zero values for an index below 0.
func (h *half) route(at int) (netip.Prefix, NextHop) {
	if at < 0 {
		return netip.Prefix{}, 0
	}
	return netip.PrefixFrom(h.key(at).addr(h.bits()), int(h.lengths[at])), NextHop(h.hops[at])
}

// longest returns the index of the longest route that covers a prefix, or -1.
//
// The last route up to the prefix either covers it, or shares fewer bits with it than the cover
// that is looked for may have. Then that is the last route up to those bits, and so on.
func (h *half) longest(key u128, length int) int {
	for h.len() > 0 {
		at := sort.Search(h.len(), func(at int) bool {
			other := h.key(at)
			return key.less(other) || key == other && length < int(h.lengths[at])
		}) - 1
		if at < 0 {
			break
		}
		candidate := h.key(at)
		common := key.common(candidate)
		if int(h.lengths[at]) <= min(common, length) {
			return at
		}
		if common >= length {
			break
		}
		key, length = key.first(uint(common)), common
	}
	return -1
}

// first returns the first bits of a key, followed by zeros.
func (a u128) first(length uint) u128 {
	mask := maskOf(length)
	return u128{a.lo & mask.lo, a.hi & mask.hi}
}

// common returns the number of bits that two keys begin with together.
func (a u128) common(b u128) int {
	if n := bits.LeadingZeros64(a.hi ^ b.hi); n < 64 {
		return n
	}
	return 64 + bits.LeadingZeros64(a.lo^b.lo)
}
