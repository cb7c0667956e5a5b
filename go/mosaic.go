package fibula

import "math/bits"

// The first 18 bits of an IPv4 address choose a tile, and the next 6 bits an entry in it: an
// answer, or a mark for a /24 with longer routes. Equal tiles are stored once.
const (
	mosaicSlots = 1 << 18
	tileEntries = 64
	tilesName   = "tiles"
)

// tiled is the root and the tiles of entries of type E.
type tiled[E width] struct {
	// The tile of each slot, in 16 or in 32 bits.
	narrow []uint16
	wide   []uint32
	// The entries of all tiles. Of tiles that are stored as runs they are the words, seen as
	// entries.
	entries []E
	// Tiles as runs: a map of 64 bits of where runs of equal entries begin, then an entry for each.
	// A tile's number is its offset in units of two words. Nil if tiles are whole.
	words []uint64
}

func openTiled[E width](s *sections, inRuns bool) (t tiled[E]) {
	const narrow, wide = "root, 16 bits", "root, 32 bits"
	if s.find(narrow) != nil {
		t.narrow = arrayOf[uint16](s, narrow, mosaicSlots)
	} else {
		t.wide = arrayOf[uint32](s, wide, mosaicSlots)
	}
	if inRuns {
		t.words = array[uint64](s, tilesName)
		t.entries = cast[E](t.words)
	} else {
		t.entries = array[E](s, tilesName)
	}
	return t
}

func (t *tiled[E]) tile(slot uint32) uint32 {
	if t.narrow != nil {
		return uint32(t.narrow[slot])
	}
	return t.wide[slot]
}

// perWord is how many entries a word has.
func (t *tiled[E]) perWord() uint64 { return uint64(8 / sizeOf[E]()) }

// entry returns that of an address.
func (t *tiled[E]) entry(address uint32) E {
	at := t.place(address)
	if t.words == nil {
		return t.entries[at]
	}
	return t.run(at, address)
}

// place returns the index of the entry of an address, or that of its map if tiles are runs.
func (t *tiled[E]) place(address uint32) uint64 {
	tile := uint64(t.tile(address >> 14))
	if t.words == nil {
		return tile*tileEntries | uint64(address>>8&63)
	}
	return tile * 2
}

// run returns the entry of an address in the tile whose map is at a word.
func (t *tiled[E]) run(at uint64, address uint32) E {
	begun := bits.OnesCount64(t.words[at] << (^(address >> 8) & 63))
	return t.entries[(at+1)*t.perWord()-1+uint64(begun)]
}

// check calls visit for every entry of all tiles that the root names. Each tile must be inside.
func (t *tiled[E]) check(s *sections, visit func(E)) {
	if s.err != nil {
		return
	}
	unit := uint64(tileEntries)
	if t.words != nil {
		unit = 2 * t.perWord()
	}
	seen := make([]bool, uint64(len(t.entries))/unit+1)
	for slot := range uint32(mosaicSlots) {
		tile := uint64(t.tile(slot))
		start, n := tile*unit, unit
		if t.words != nil {
			if tile*2 >= uint64(len(t.words)) || t.words[tile*2]&1 == 0 {
				s.refuse(tilesName, "has no tile %d", tile)
				return
			}
			start, n = start+t.perWord(), uint64(bits.OnesCount64(t.words[tile*2]))
		}
		if start+n > uint64(len(t.entries)) {
			s.refuse(tilesName, "has no tile %d", tile)
			return
		}
		if seen[tile] {
			continue
		}
		seen[tile] = true
		for _, entry := range t.entries[start : start+n] {
			visit(entry)
		}
	}
}

// mosaic keeps the answers of marked /24s behind a hash table. A mark is the greatest entry.
type mosaic[W width] struct {
	tiled[W]
	// The /24s with longer routes: the number of each plus one, and its block of answers.
	numbers  []uint32
	blocks   []uint32
	shift    uint
	answers  []W
	mark     W
	fallback uint32
	// unlisted is the answer of a marked /24 that is not in the hash table: the mark itself.
	unlisted uint32
}

func openMosaic[W width](s *sections, _ int) engine     { return newMosaic[W](s, false) }
func openMosaicRuns[W width](s *sections, _ int) engine { return newMosaic[W](s, true) }

func newMosaic[W width](s *sections, inRuns bool) engine {
	const numbers, blocks, answers = "longer routes' /24s", "longer routes' chunks", longerAnswers
	t := &mosaic[W]{tiled: openTiled[W](s, inRuns), mark: ^W(0), fallback: fallback(s)}
	t.check(s, func(entry W) {
		if entry != t.mark {
			s.check(tilesName, uint32(entry))
		}
	})
	if uint32(t.mark) <= s.most {
		t.unlisted = uint32(t.mark)
	}
	t.answers = array[W](s, answers)
	for _, hop := range t.answers {
		s.check(answers, uint32(hop))
	}
	listed := array[uint32](s, numbers)
	chunks := arrayOf[uint32](s, blocks, len(listed))
	if s.err != nil {
		return t
	}
	// At most half full.
	log := bits.Len(uint(2*len(listed) + 1))
	t.shift = uint(32 - log)
	t.numbers, t.blocks = make([]uint32, 1<<log), make([]uint32, 1<<log)
	for i, number := range listed {
		if number >= 1<<24 || uint64(chunks[i]) >= uint64(len(t.answers)/256) {
			s.refuse(numbers, "names block %d of /24 %#x, of %d", chunks[i], number, len(t.answers)/256)
			return t
		}
		at := t.home(number)
		for t.numbers[at] != 0 && t.numbers[at] != number+1 {
			at = t.next(at)
		}
		t.numbers[at], t.blocks[at] = number+1, chunks[i]
	}
	return t
}

// home returns where the search for a /24 begins, by the multiplier of Fibonacci hashing.
func (t *mosaic[W]) home(number uint32) uint32 { return number * prime32x1 >> t.shift }

func (t *mosaic[W]) next(at uint32) uint32 { return (at + 1) & uint32(len(t.numbers)-1) }

// below returns the answer of an address whose /24 has a mark.
func (t *mosaic[W]) below(address uint32) uint32 {
	number := address>>8 + 1
	for at := t.home(address >> 8); t.numbers[at] != 0; at = t.next(at) {
		if t.numbers[at] == number {
			return uint32(t.answers[t.blocks[at]<<8|address&255])
		}
	}
	return t.unlisted
}

func (t *mosaic[W]) answer(entry W, address uint32) uint32 {
	hop := uint32(entry)
	if entry == t.mark {
		hop = t.below(address)
	}
	if hop == 0 {
		return t.fallback
	}
	return hop
}

func (t *mosaic[W]) lookup(key u128) uint32 {
	address := uint32(key.hi >> 32)
	return t.answer(t.entry(address), address)
}

func (t *mosaic[W]) lookupAll(keys []u128, hops []uint32) {
	var at [together]uint64
	for i, key := range keys {
		at[i] = t.place(uint32(key.hi >> 32))
	}
	if t.words == nil {
		for i, key := range keys {
			hops[i] = t.answer(t.entries[at[i]], uint32(key.hi>>32))
		}
		return
	}
	for i, key := range keys {
		address := uint32(key.hi >> 32)
		hops[i] = t.answer(t.run(at[i], address), address)
	}
}
