package fibula

// engine is a table of one family.
type engine interface {
	// lookup returns the next hop of an address, 0 if it has no route.
	lookup(u128) uint32
	// lookupAll looks up the address keys[i] into hops[i], which has the same length.
	lookupAll(keys []u128, hops []uint32)
}

// width is the type of the answers of an engine.
type width interface{ uint8 | uint16 | uint32 }

// opener opens the table of a family with addresses of 32 or 128 bits, and checks all that its
// lookups rely on: each index that a lookup computes is inside of its array, and each answer is a
// next hop of the file. What it complains about is in the sections' err.
type opener func(s *sections, bits int) engine

// format is an engine that this package reads.
type format struct {
	// bits are those of an address of its only family; 0 if it does both.
	bits int
	// open is for answers of 8, 16 and 32 bits.
	open [3]opener
}

// engines are those that fibula chooses by itself, and so writes into files, by name.
var engines = map[string]format{
	"intervals":    {0, [3]opener{openIntervals[uint8], openIntervals[uint16], openIntervals[uint32]}},
	"dir24-8":      {32, [3]opener{openDir24, openDir24, openDir24}},
	"mosaic":       {32, [3]opener{openMosaic[uint8], openMosaic[uint16], openMosaic[uint32]}},
	"mosaic-runs":  {32, [3]opener{openMosaicRuns[uint8], openMosaicRuns[uint16], openMosaicRuns[uint32]}},
	"mosaic-deep":  {32, [3]opener{openMosaicDeep[uint8], openMosaicDeep[uint16], openMosaicDeep[uint32]}},
	"mosaic-spans": {32, [3]opener{openMosaicSpans[uint8], openMosaicSpans[uint16], openMosaicSpans[uint32]}},
	"poptrie":      {0, [3]opener{openPoptrie[uint8], openPoptrie[uint16], openPoptrie[uint32]}},
	"ledger":       {0, [3]opener{openLedger[uint8], openLedger[uint16], openLedger[uint32]}},
	"casement":     {0, [3]opener{openCasement[uint8], openCasement[uint16], openCasement[uint32]}},
	"terrace":      {128, [3]opener{openTerrace, openTerrace, openTerrace}},
	"mosaic6":      {128, [3]opener{openMosaic6[uint8], openMosaic6[uint16], openMosaic6[uint32]}},
}

// none is the table of a family that a file does not have.
type none struct{}

func (none) lookup(u128) uint32 { return 0 }

func (none) lookupAll(_ []u128, hops []uint32) { clear(hops) }

// fallback returns the next hop of the default route, which some engines keep beside the table.
func fallback(s *sections) uint32 {
	const name = "default route"
	if s.find(name) == nil {
		return 0
	}
	hop := number(s, name)
	if hop > uint64(s.most) {
		s.refuse(name, "names next hop %d of %d", hop, s.most)
	}
	return uint32(hop)
}
