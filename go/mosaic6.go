package fibula

import "math/bits"

// mosaic6 is a trie of arrays down to buckets, for routes of up to 48 bits. Longer ones are in a
// terrace. A word is an answer (bit 31), a bucket (bit 30), or an array: its stride less one in
// bits 26 to 29, and half the index of its first word below.
//
// A bucket is a run of slots in a line of 64 bytes: the 16-bit ends of all slots of the line, then
// their answers. Its word has the offset of the line in bytes, a flag for longer routes below, and
// its first slot.
type mosaic6[W width] struct {
	root     []uint32
	arrays   []uint32
	ends     []uint64 // four a word, eight words a line
	answers  []W      // the same memory
	longer   *terrace
	fallback uint32
}

const (
	mosaic6Answer = 1 << 31
	mosaic6Bucket = 1 << 30
	mosaic6Beyond = 32
)

// slots returns how many intervals a line holds.
func (t *mosaic6[W]) slots() uint32 { return 64 / (2 + uint32(sizeOf[W]())) }

// answerOf returns the index of the answer of a slot.
func (t *mosaic6[W]) answerOf(line, slot uint32) uint64 {
	size := uint32(sizeOf[W]())
	return uint64(line)*uint64(64/size) + uint64((2*t.slots()+size-1)/size+slot)
}

func openMosaic6[W width](s *sections, _ int) engine {
	const root, arrays, lines = "root", "arrays", "lines"
	// Two words are an element.
	cells := array[[2]uint32](s, arrays)
	t := &mosaic6[W]{
		root:     arrayOf[uint32](s, root, 1<<16),
		arrays:   cast[uint32](cells),
		answers:  array[W](s, lines),
		longer:   newTerrace(s, terraceNames{"longer routes", "longer routes' root", "longer routes' marks"}),
		fallback: fallback(s),
	}
	t.ends = cast[uint64](t.answers)
	// Arrays share no word, so that the walk ends.
	left := len(t.arrays)
	for _, word := range t.root {
		if s.err == nil && !t.check(s, word, 32, &left) {
			s.refuse(arrays, "have no array or bucket where word %#x names one", word)
		}
	}
	return t
}

// check returns whether every search from a word on ends at an answer, where some bits of the
// address are left.
func (t *mosaic6[W]) check(s *sections, word, rest uint32, left *int) bool {
	if word&mosaic6Answer != 0 {
		s.check("arrays", word&^mosaic6Answer)
		return true
	}
	if word&mosaic6Bucket == 0 {
		stride := word>>26 + 1
		first, n := uint64(word&(1<<26-1))*2, 1<<stride
		*left -= n
		if stride > rest || *left < 0 || first+uint64(n) > uint64(len(t.arrays)) {
			return false
		}
		for _, word := range t.arrays[first:][:n] {
			if !t.check(s, word, rest-stride, left) {
				return false
			}
		}
		return true
	}
	line, slot := word>>6&(1<<24-1), word&31
	if uint64(line) >= uint64(len(t.ends)/8) {
		return false
	}
	for ; slot < t.slots(); slot++ {
		s.check("lines", uint32(t.answers[t.answerOf(line, slot)]))
		if uint16(t.ends[line*8+slot/4]>>(16*(slot%4))) == 1<<16-1 {
			return true
		}
	}
	return false
}

// notBelow returns the highest bit of each 16 bits of x that are at least those of y.
func notBelow(x, y uint64) uint64 {
	const high = 0x8000800080008000
	more := (x | high) - y&^high
	return (x&^y | ^(x^y)&more) & high
}

// next takes a search through an array, if it is at one.
func (t *mosaic6[W]) next(word, rest uint32) (uint32, uint32) {
	if word >= mosaic6Bucket {
		return word, rest
	}
	stride := word>>26 + 1
	return t.arrays[word&(1<<26-1)*2+rest>>(32-stride)], rest << stride
}

func (t *mosaic6[W]) lookup(key u128) uint32 {
	return t.from(t.root[key.hi>>48], uint32(key.hi>>16), key)
}

// from returns the next hop of an address whose search is at a word.
func (t *mosaic6[W]) from(word, rest uint32, key u128) uint32 {
	for word < mosaic6Bucket {
		word, rest = t.next(word, rest)
	}
	hop := word &^ mosaic6Answer
	if word&mosaic6Answer == 0 {
		hop = t.bucket(word, key, rest>>16)
	}
	if hop == 0 {
		return t.fallback
	}
	return hop
}

// bucket returns the answer of a bucket for an address with these bits left.
func (t *mosaic6[W]) bucket(word uint32, key u128, rest uint32) uint32 {
	if word&mosaic6Beyond != 0 {
		if hop := t.longer.lookup(key); hop != 0 {
			return hop
		}
	}
	line, slot := word>>6&(1<<24-1), word&31
	all := uint64(rest) * 0x0001000100010001
	// The last end is the greatest number, so there is a first one that is not below.
	at := line*8 + slot/4
	reached := notBelow(t.ends[at], all) >> (16 * (slot % 4)) << (16 * (slot % 4))
	for reached == 0 {
		at++
		reached = notBelow(t.ends[at], all)
	}
	slot = (at-line*8)*4 + uint32(bits.TrailingZeros64(reached))/16
	return uint32(t.answers[t.answerOf(line, slot)])
}

// inStep is how many arrays all addresses of a batch go through together: more are rare.
const inStep = 3

func (t *mosaic6[W]) lookupAll(keys []u128, hops []uint32) {
	var rests [together]uint32
	for i, key := range keys {
		hops[i], rests[i] = t.root[key.hi>>48], uint32(key.hi>>16)
	}
	for range inStep {
		for i := range keys {
			hops[i], rests[i&(together-1)] = t.next(hops[i], rests[i&(together-1)])
		}
	}
	for i, key := range keys {
		hops[i] = t.from(hops[i], rests[i&(together-1)], key)
	}
}
