package fibula

import "math/bits"

// poptrie is a trie of nodes with 64 slots, behind a table of the first bits of an address. An
// entry of that is the answer, flagged, or the number of a node.
type poptrie[W width] struct {
	first  uint // the bits of an address that the direct table takes
	direct []uint32
	nodes  []poptrieNode
	leaves []W
}

// poptrieNode takes six bits. A slot with its bit in vector is a child. Otherwise its leaf belongs
// to the last run that begins at the slot or before: those have their bit in leafvec.
type poptrieNode struct {
	vector, leafvec uint64
	children        uint32 // the first child
	leaves          uint32 // the first leaf
}

const (
	poptrieLeaf   = 1 << 31
	poptrieStride = 6
	poptrieMost   = 24 // the most bits of the direct table
)

func openPoptrie[W width](s *sections, addressBits int) engine {
	const direct, nodes, leaves = "direct table", "nodes", "leaves"
	t := &poptrie[W]{
		direct: array[uint32](s, direct), nodes: array[poptrieNode](s, nodes), leaves: array[W](s, leaves),
	}
	n := len(t.direct)
	if n == 0 || n > 1<<poptrieMost || n&(n-1) != 0 {
		s.refuse(direct, "has %d elements, expected a power of two up to 2^%d", n, poptrieMost)
		return t
	}
	t.first = uint(bits.TrailingZeros(uint(n)))
	// Each node is on one level, so no walk follows a cycle.
	levels := make([]uint8, len(t.nodes))
	var here, next []uint32
	level := uint8(1)
	reach := func(node uint32, level uint8) {
		switch {
		case uint64(node) >= uint64(len(levels)):
			s.refuse(nodes, "has no node %d", node)
		case levels[node] == 0:
			levels[node] = level
			next = append(next, node)
		case levels[node] != level:
			s.refuse(nodes, "has node %d on two levels", node)
		}
	}
	for _, entry := range t.direct {
		if entry&poptrieLeaf != 0 {
			s.check(direct, entry&^poptrieLeaf)
		} else {
			reach(entry, level)
		}
	}
	most := (addressBits - int(t.first) + poptrieStride - 1) / poptrieStride
	for ; len(next) > 0 && s.err == nil; level++ {
		if int(level) > most {
			s.refuse(nodes, "is deeper than %d nodes", most)
		}
		here, next = next, here[:0]
		for _, at := range here {
			node := &t.nodes[at]
			children, runs := bits.OnesCount64(node.vector), bits.OnesCount64(node.leafvec)
			if uint64(node.children)+uint64(children) > 1<<32 {
				s.refuse(nodes, "has no node %d", at)
				return t
			}
			for i := range uint32(children) {
				reach(node.children+i, level+1)
			}
			// The first slot that is a leaf needs a run.
			if bits.TrailingZeros64(node.leafvec) > bits.TrailingZeros64(^node.vector) ||
				runs > 0 && uint64(node.leaves)+uint64(runs) > uint64(len(t.leaves)) {
				s.refuse(nodes, "has no leaves of node %d", at)
				return t
			}
			for i := range uint32(runs) {
				s.check(leaves, uint32(t.leaves[node.leaves+i]))
			}
		}
	}
	return t
}

func (t *poptrie[W]) lookup(key u128) uint32 {
	at := t.direct[key.hi>>(64-t.first)]
	if at&poptrieLeaf != 0 {
		return at &^ poptrieLeaf
	}
	key.hi, key.lo = key.hi<<t.first|key.lo>>(64-t.first), key.lo<<t.first
	for {
		node := &t.nodes[at]
		// All slots up to that of the address: its own is the highest bit.
		later := 63 - key.hi>>(64-poptrieStride)
		through := node.vector << (later & 63)
		if int64(through) >= 0 {
			runs := bits.OnesCount64(node.leafvec << (later & 63))
			return uint32(t.leaves[node.leaves+uint32(runs)-1])
		}
		at = node.children + uint32(bits.OnesCount64(through)) - 1
		key.hi, key.lo = key.hi<<poptrieStride|key.lo>>(64-poptrieStride), key.lo<<poptrieStride
	}
}

func (t *poptrie[W]) lookupAll(keys []u128, hops []uint32) {
	for i, key := range keys {
		hops[i] = t.lookup(key)
	}
}
