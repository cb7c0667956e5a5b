package fibula

import "math/bits"

// longerAnswers is the section of the answers of /24s with longer routes.
const longerAnswers = "longer routes' answers"

// deepMark is the flag of an entry that names a block.
const deepMark = 1 << 31

// mosaicDeep has entries of 32 bits: an answer, or a mark and the number of a block of 256 answers.
type mosaicDeep[W width] struct {
	tiled[uint32]
	answers  []W
	fallback uint32
}

func openMosaicDeep[W width](s *sections, _ int) engine {
	t := &mosaicDeep[W]{tiled: openTiled[uint32](s, false), fallback: fallback(s)}
	t.answers = array[W](s, longerAnswers)
	seen := make([]bool, len(t.answers)/256)
	t.check(s, func(entry uint32) {
		if entry&deepMark == 0 {
			s.check(tilesName, entry)
			return
		}
		block := int(entry &^ deepMark)
		if block >= len(seen) {
			s.refuse(tilesName, "names block %d of %d", block, len(seen))
		} else if !seen[block] {
			seen[block] = true
			for _, hop := range t.answers[256*block:][:256] {
				s.check(longerAnswers, uint32(hop))
			}
		}
	})
	return t
}

func (t *mosaicDeep[W]) answer(entry, address uint32) uint32 {
	if entry&deepMark != 0 {
		entry = uint32(t.answers[uint64(entry&^deepMark)<<8|uint64(address&255)])
	}
	if entry == 0 {
		return t.fallback
	}
	return entry
}

func (t *mosaicDeep[W]) lookup(key u128) uint32 {
	address := uint32(key.hi >> 32)
	return t.answer(t.entry(address), address)
}

func (t *mosaicDeep[W]) lookupAll(keys []u128, hops []uint32) {
	var at [together]uint64
	for i, key := range keys {
		at[i] = t.place(uint32(key.hi >> 32))
	}
	for i, key := range keys {
		hops[i] = t.answer(t.entries[at[i]], uint32(key.hi>>32))
	}
}

// mosaicSpans has tiles as runs, and blocks as spans: 1, 2, 4, ... 64 equal parts of a /24, each
// with its runs of equal answers in 32 bytes. A mark holds the logarithm of their number in bits 28
// to 30, and the number of the first span below.
//
// A span has the last byte of the address where each of its runs begins, then their answers at the
// end. The first run begins with the span, and its byte says something else. A run that does not
// exist begins at 255 and has the answer of the last one that does.
type mosaicSpans[W width] struct {
	tiled[uint32]
	spans    []uint64
	answers  []W
	fallback uint32
}

const spanWords = 4

// runs returns how many a span has.
func (t *mosaicSpans[W]) runs() uint64 { return uint64(32 / (1 + sizeOf[W]())) }

// perSpan returns how many answers take as much memory as a span.
func (t *mosaicSpans[W]) perSpan() uint64 { return uint64(32 / sizeOf[W]()) }

func openMosaicSpans[W width](s *sections, _ int) engine {
	t := &mosaicSpans[W]{tiled: openTiled[uint32](s, true), fallback: fallback(s)}
	t.spans = array[uint64](s, longerAnswers)
	t.answers = cast[W](t.spans)
	n := len(t.spans) / spanWords
	seen := make([]bool, n)
	t.check(s, func(entry uint32) {
		if entry&deepMark == 0 {
			s.check(tilesName, entry)
			return
		}
		first, log := int(entry&(1<<28-1)), entry>>28&7
		if first+1<<log > n {
			s.refuse(tilesName, "names span %d of %d", first, n)
			return
		}
		for span := first; span < first+1<<log; span++ {
			if !seen[span] {
				seen[span] = true
				end := uint64(span+1) * t.perSpan()
				for _, hop := range t.answers[end-t.runs() : end] {
					s.check(longerAnswers, uint32(hop))
				}
			}
		}
	})
	return t
}

// notAbove returns the highest bit of each byte of x that is at most that of y.
func notAbove(x, y uint64) uint64 {
	const high = 0x8080808080808080
	less := (y | high) - x&^high
	return (y&^x | ^(x^y)&less) & high
}

func (t *mosaicSpans[W]) below(entry, address uint32) uint32 {
	span := uint64(entry&(1<<28-1)) + uint64(address&255)<<(entry>>28&7)>>8
	last := uint64(address&255) * 0x0101010101010101
	starts := t.spans[span*spanWords:][:2]
	// The runs after the first that begin at the address or before.
	runs, begun := t.runs(), notAbove(starts[0], last)&^0xFF
	var run int
	if runs > 8 {
		run = bits.OnesCount64(begun) + bits.OnesCount64(notAbove(starts[1], last)<<(8*(16-runs)))
	} else {
		run = bits.OnesCount64(begun << (8 * (8 - runs)))
	}
	return uint32(t.answers[(span+1)*t.perSpan()-runs+uint64(run)])
}

func (t *mosaicSpans[W]) lookup(key u128) uint32 {
	address := uint32(key.hi >> 32)
	return t.answer(t.entry(address), address)
}

func (t *mosaicSpans[W]) answer(entry, address uint32) uint32 {
	if entry&deepMark != 0 {
		entry = t.below(entry, address)
	}
	if entry == 0 {
		return t.fallback
	}
	return entry
}

func (t *mosaicSpans[W]) lookupAll(keys []u128, hops []uint32) {
	var at [together]uint64
	for i, key := range keys {
		at[i] = t.place(uint32(key.hi >> 32))
	}
	for i, key := range keys {
		address := uint32(key.hi >> 32)
		hops[i] = t.answer(t.run(at[i], address), address)
	}
}
