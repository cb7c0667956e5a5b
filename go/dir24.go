package fibula

// dir24 is DIR-24-8-BASIC: an entry for each /24, and blocks of 256 for those with longer routes.
// An entry has a flag for a block, the length of its route, and 25 bits of a next hop or block.
type dir24 struct{ tbl24, tblLong []uint32 }

const (
	dir24Flag  = 1 << 31
	dir24Value = 1<<25 - 1
)

func openDir24(s *sections, _ int) engine {
	const short, long = "TBL24", "TBLlong"
	t := &dir24{arrayOf[uint32](s, short, 1<<24), array[uint32](s, long)}
	seen := make([]bool, len(t.tblLong)/256)
	for _, entry := range t.tbl24 {
		if entry&dir24Flag == 0 {
			s.check(short, entry&dir24Value)
			continue
		}
		block := int(entry & dir24Value)
		if block >= len(seen) {
			s.refuse(short, "names block %d of %d", block, len(seen))
			return t
		}
		if !seen[block] {
			seen[block] = true
			for _, entry := range t.tblLong[block*256:][:256] {
				s.check(long, entry&dir24Value)
			}
		}
	}
	return t
}

func (t *dir24) lookup(key u128) uint32 {
	address := uint32(key.hi >> 32)
	entry := t.tbl24[address>>8]
	if entry&dir24Flag != 0 {
		entry = t.tblLong[entry&dir24Value<<8|address&255]
	}
	return entry & dir24Value
}

func (t *dir24) lookupAll(keys []u128, hops []uint32) {
	for i, key := range keys {
		hops[i] = t.lookup(key)
	}
}
