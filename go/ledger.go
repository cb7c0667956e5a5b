package fibula

// ledger is an exact match of the prefixes of one length before another engine. A key is in the
// line of 64 bytes that its hash says, or in a second one. A line has keys, then their next hops;
// that of a slot without an entry is 0.
type ledger struct {
	first, second []uint32 // sixteen words a line
	mask          u128
	// keyWords are those of a key, slots its keys of a line, hops the word of the first next hop.
	keyWords, slots, hops int
	inner                 engine
}

// Odd multipliers: the fraction of the golden ratio, and that of the square root of two.
const (
	ledgerMultiplier1 = 0x9E3779B97F4A7C15
	ledgerMultiplier2 = 0x6A09E667F3BCC909
)

func openLedger[W width](s *sections, bits int) engine {
	t := &ledger{}
	var names = [2]string{"exact lines", "second exact lines"}
	for i, of := range []*[]uint32{&t.first, &t.second} {
		lines := array[[8]uint64](s, names[i])
		if len(lines) == 0 || uint64(len(lines)) > 1<<32-1 {
			s.refuse(names[i], "has %d lines", len(lines))
		}
		*of = cast[uint32](lines)
	}
	const exactLength = "exact length"
	length := number(s, exactLength)
	if length > uint64(bits) {
		s.refuse(exactLength, "is %d, at most %d", length, bits)
	}
	t.mask = maskOf(uint(min(length, 128)))
	switch {
	case bits == 32:
		t.keyWords, t.slots, t.hops = 1, 8, 8
		t.inner = openMosaic[W](s, bits)
	case length <= 64:
		t.keyWords, t.slots, t.hops = 2, 5, 10
		t.inner = openTerrace(s, bits)
	default:
		t.keyWords, t.slots, t.hops = 4, 3, 12
		t.inner = openTerrace(s, bits)
	}
	for i, lines := range [][]uint32{t.first, t.second} {
		for at, word := range lines {
			if slot := at%16 - t.hops; slot >= 0 && slot < t.slots {
				s.check(names[i], word)
			}
		}
	}
	return t
}

// maskOf returns a key whose first bits are set.
func maskOf(length uint) u128 {
	if length <= 64 {
		return u128{hi: ^uint64(0) << (64 - length)}
	}
	return u128{lo: ^uint64(0) << (128 - length), hi: ^uint64(0)}
}

func (t *ledger) lookup(key u128) uint32 {
	masked := u128{key.lo & t.mask.lo, key.hi & t.mask.hi}
	folded := masked.hi >> 32
	if t.keyWords > 1 {
		folded = masked.hi*ledgerMultiplier2 ^ masked.lo
	}
	product := folded * ledgerMultiplier1
	hash := (product ^ product>>32) * ledgerMultiplier2
	if hop := t.in(t.first, hash>>32, masked); hop != 0 {
		return hop
	}
	if hop := t.in(t.second, hash&0xFFFFFFFF, masked); hop != 0 {
		return hop
	}
	return t.inner.lookup(key)
}

// in returns the next hop of a key in the line that half of its hash says; 0 if it is not there.
func (t *ledger) in(lines []uint32, half uint64, key u128) uint32 {
	line := lines[half*uint64(len(lines)/16)>>32*16:][:16]
	switch t.keyWords {
	case 1:
		for slot := range 8 {
			if line[slot] == uint32(key.hi>>32) {
				return line[8+slot]
			}
		}
	case 2:
		for slot := range 5 {
			if line[2*slot] == uint32(key.hi) && line[2*slot+1] == uint32(key.hi>>32) {
				return line[10+slot]
			}
		}
	default:
		for slot := range 3 {
			if line[4*slot] == uint32(key.lo) && line[4*slot+1] == uint32(key.lo>>32) &&
				line[4*slot+2] == uint32(key.hi) && line[4*slot+3] == uint32(key.hi>>32) {
				return line[12+slot]
			}
		}
	}
	return 0
}

func (t *ledger) lookupAll(keys []u128, hops []uint32) {
	for i, key := range keys {
		hops[i] = t.lookup(key)
	}
}
