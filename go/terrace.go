package fibula

import "math/bits"

// A block is a linearised tree with nine children a node, over the ends of intervals. A node is a
// line of 64 bytes with eight ends; one that is not there is the greatest number. Before the nodes
// is a word for the number of intervals, and before that a word for each interval, backwards.
//
// A tree is a block, or a directory whose words are the origins of leaf blocks. The first tree is
// over the numbers of /64s. A word with the mark is the handle of a tree for the rest of the
// address.
const (
	terraceMark      = 1 << 31
	terraceDirectory = 1 << 30
	terraceOrigin    = 1<<27 - 1
	terraceLevels    = 7 // the most of a block
	terraceLeaf      = 3 // those of a leaf block
	terraceChildren  = 9
)

// above[l] is the number of nodes above level l of a block, and spans[l] the number of intervals
// below a node that has l levels with its own.
var above, spans = func() (above, spans [terraceLevels + 1]uint32) {
	spans[0] = 1
	for level := range terraceLevels {
		above[level+1] = above[level] + spans[level]
		spans[level+1] = spans[level] * terraceChildren
	}
	return above, spans
}()

// terrace is such trees.
type terrace struct {
	lines []uint64 // eight a line
	words []uint32 // the same memory
	root  uint32   // the handle of the first tree
}

// terraceNames are the names of its sections.
type terraceNames struct{ lines, root, marked string }

func openTerrace(s *sections, _ int) engine {
	return newTerrace(s, terraceNames{"lines", "root", "marked /64s"})
}

func newTerrace(s *sections, names terraceNames) *terrace {
	t := &terrace{}
	// A line is an element.
	lines := array[[8]uint64](s, names.lines)
	t.lines, t.words = cast[uint64](lines), cast[uint32](lines)
	root := number(s, names.root)
	number(s, names.marked)
	if t.root = uint32(root); root>>32 != 0 || root&terraceMark == 0 {
		s.refuse(names.root, "names no tree")
	}
	if s.err != nil {
		return t
	}
	// No two blocks share a word, so that all of them have at most as many intervals.
	left := len(t.words)
	complain := func() { s.refuse(names.lines, "has no tree where a word names one") }
	ok := t.checkTree(t.root, &left, func(word uint32) bool {
		if word&terraceMark == 0 {
			s.check(names.lines, word)
			return true
		}
		return t.checkTree(word, &left, func(word uint32) bool {
			s.check(names.lines, word&^terraceMark)
			return word&terraceMark == 0
		})
	})
	if !ok {
		complain()
	}
	return t
}

// checkTree returns whether every search in a tree ends at one of its words, and visit is true for
// all of these.
func (t *terrace) checkTree(handle uint32, left *int, visit func(word uint32) bool) bool {
	origin, levels := handle&terraceOrigin, handle>>27&terraceLevels
	if handle&terraceDirectory == 0 {
		return t.checkBlock(origin, levels, 1<<64-1, left, func(_ uint64, word uint32) bool {
			return visit(word)
		})
	}
	return t.checkBlock(origin, levels, 1<<64-1, left, func(end uint64, leaf uint32) bool {
		return t.checkBlock(leaf, terraceLeaf, end, left, func(_ uint64, word uint32) bool {
			return visit(word)
		})
	})
}

// checkBlock returns whether every search of a number up to greatest ends at a word of a block, and
// visit is true for the end and the word of each interval.
func (t *terrace) checkBlock(
	origin, levels uint32, greatest uint64, left *int, visit func(end uint64, word uint32) bool,
) bool {
	lines := uint64(len(t.lines) / 8)
	if levels == 0 || origin == 0 || uint64(origin) >= lines || origin > terraceOrigin {
		return false
	}
	n := t.words[origin*16-1]
	if n == 0 || n > spans[levels] || n > origin*16-1 {
		return false
	}
	if *left -= int(n); *left < 0 {
		return false
	}
	// Ends that are not there.
	for level := range levels {
		span := spans[levels-level]
		first, nodes := uint64(origin)+uint64(above[level]), (n+span-1)/span
		if first+uint64(nodes) > lines {
			return false
		}
		last := nodes - 1
		for i, end := range t.lines[(first+uint64(last))*8:][:8] {
			if (last*terraceChildren+uint32(i)+1)*(span/terraceChildren) > n && end != 1<<64-1 {
				return false
			}
		}
	}
	before := uint64(0)
	for i := range n {
		end := t.end(origin, levels, i)
		if i > 0 && end <= before || i == n-1 && end < greatest ||
			!visit(end, t.words[origin*16-2-i]) {
			return false
		}
		before = end
	}
	return true
}

// end returns the last number of an interval of a block: the greatest number for the last one of a
// full block.
func (t *terrace) end(origin, levels, interval uint32) uint64 {
	child := interval
	for level := int(levels) - 1; level >= 0; level-- {
		node, separator := child/terraceChildren, child%terraceChildren
		if separator < terraceChildren-1 {
			return t.lines[(origin+above[level]+node)*8+separator]
		}
		child = node
	}
	return 1<<64 - 1
}

// step returns the word for a key in a block.
func (t *terrace) step(origin, levels uint32, key uint64) uint32 {
	at := uint32(0)
	for level := range levels {
		node := t.lines[uint64(origin+above[level&7]+at)*8:][:8]
		at *= terraceChildren
		// How many ends are below the key, without a branch on any.
		var below [8]uint64
		for i := range below {
			_, below[i] = bits.Sub64(node[i], key, 0)
		}
		at += uint32(below[0] + below[1] + below[2] + below[3] + below[4] + below[5] + below[6] + below[7])
	}
	return t.words[origin*16-2-at]
}

// walk returns the word for a key in a tree.
func (t *terrace) walk(handle uint32, key uint64) uint32 {
	word := t.step(handle&terraceOrigin, handle>>27&terraceLevels, key)
	if handle&terraceDirectory != 0 {
		word = t.step(word, terraceLeaf, key)
	}
	return word
}

func (t *terrace) lookup(key u128) uint32 {
	word := t.walk(t.root, key.hi)
	if word&terraceMark != 0 {
		word = t.walk(word, key.lo)
	}
	return word
}

func (t *terrace) lookupAll(keys []u128, hops []uint32) {
	for i, key := range keys {
		hops[i] = t.lookup(key)
	}
}
