package fibula

import "math/bits"

// casement is the slots of one network before another engine. A slot's word of 16 bits is a next
// hop, 0 for the other engine, the cover, or a mark and the number of a short node: eight intervals
// of cells of 16 bits, with their words. Such a word may name a long node: seven intervals of what
// follows a cell.
type casement struct {
	root   []uint16 // the last one is that of the addresses outside
	shorts []shortNode
	longs  []longNode
	first  uint64 // the first bits of the first slot
	end    uint   // the bit at which slots end
	cover  uint32
	inner  engine
}

type shortNode struct{ ends, words [8]uint16 }

type longNode struct {
	ends  [6]uint64
	words [8]uint16
}

const (
	casementMark  = 1 << 15
	casementCover = casementMark - 1
)

func openCasement[W width](s *sections, addressBits int) engine {
	const slots, short, long = "slots", "short nodes", "long nodes"
	const first, position, covered = "first slot", "end of a slot", "next hop of the cover"
	t := &casement{
		root:   array[uint16](s, slots),
		shorts: array[shortNode](s, short),
		longs:  array[longNode](s, long),
		first:  number(s, first),
		cover:  uint32(min(number(s, covered), 1<<32-1)),
	}
	s.check(covered, t.cover)
	if len(t.root) == 0 {
		s.refuse(slots, "are none")
	}
	end := number(s, position)
	least, most := uint64(16), uint64(32)
	if addressBits == 128 {
		least, most = 48, 64
	}
	if end < least || end > most {
		s.refuse(position, "is at bit %d, expected %d to %d", end, least, most)
	}
	t.end = uint(end)
	for _, word := range t.root {
		t.check(s, slots, word, func(node uint16) {
			if int(node) >= len(t.shorts) {
				s.refuse(slots, "name node %d of %d", node, len(t.shorts))
				return
			}
			for _, word := range t.shorts[node].words {
				t.check(s, short, word, func(node uint16) {
					if int(node) >= len(t.longs) {
						s.refuse(short, "name node %d of %d", node, len(t.longs))
						return
					}
					for _, word := range t.longs[node].words[:7] {
						t.check(s, long, word, func(node uint16) { s.refuse(long, "name node %d", node) })
					}
				})
			}
		})
	}
	if addressBits == 128 {
		t.inner = openTerrace(s, addressBits)
	} else {
		t.inner = openIntervals[W](s, addressBits)
	}
	return t
}

// check checks a word, of which visit gets the number of the node that it names.
func (t *casement) check(s *sections, name string, word uint16, visit func(node uint16)) {
	switch {
	case word&casementMark != 0:
		visit(word &^ casementMark)
	case word != casementCover:
		s.check(name, uint32(word))
	}
}

func (t *casement) lookup(key u128) uint32 {
	slot := min(key.hi>>(64-t.end)-t.first, uint64(len(t.root)-1))
	word := t.root[slot]
	if word&casementMark != 0 {
		node := &t.shorts[word&^casementMark]
		cell := uint64(uint16((key.hi<<t.end | key.lo>>(64-t.end)) >> 48))
		var below uint64
		for _, end := range node.ends {
			_, less := bits.Sub64(uint64(end), cell, 0)
			below += less
		}
		word = node.words[below&7]
	}
	if word&casementMark != 0 {
		node := &t.longs[word&^casementMark]
		number := key.lo << (t.end - 48)
		var below uint64
		for _, end := range node.ends {
			_, less := bits.Sub64(end, number, 0)
			below += less
		}
		word = node.words[below]
	}
	switch word {
	case 0:
		return t.inner.lookup(key)
	case casementCover:
		return t.cover
	}
	return uint32(word)
}

func (t *casement) lookupAll(keys []u128, hops []uint32) {
	for i, key := range keys {
		hops[i] = t.lookup(key)
	}
}
