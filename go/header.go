package fibula

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// ErrUnknownEngine is in the error for a file whose engine this package does not read. Build the
// file again without naming an engine.
var ErrUnknownEngine = errors.New("this package does not read its engine")

// The format is described in crates/fibula/src/snapshot/mod.rs.
const (
	magic         = "\x89FIB\r\n\x1a\n"
	mark          = 0x01020304
	version       = 4
	preambleBytes = 32
	tableBytes    = 24
	sectionBytes  = 56
	align         = 64
)

// section is an array of the file.
type section struct {
	name    string
	bytes   []byte
	element uint32
}

// sections are the arrays of a table, or those of none. The first complaint is kept in err, and
// whoever reads them looks there at the end.
type sections struct {
	all []section
	// most is the greatest next hop that the file has a text for.
	most uint32
	err  error
}

// refuse notes that a section is intact but not what lookups rely on.
func (s *sections) refuse(name, format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("unsound: section %q %s", name, fmt.Sprintf(format, args...))
	}
}

// check notes an answer of a section that is no next hop of the file.
func (s *sections) check(name string, hop uint32) {
	if hop > s.most {
		s.refuse(name, "names next hop %d of %d", hop, s.most)
	}
}

func (s *sections) find(name string) *section {
	for i := range s.all {
		if s.all[i].name == name {
			return &s.all[i]
		}
	}
	return nil
}

// cast returns the memory of a slice as elements of another size. All elements are plain numbers
// or structs of such, for which any bytes are a value.
//
// The slice must begin at a multiple of the size of T's widest number: the slices of sections do,
// because sections begin at multiples of 64 bytes of a mapping or an array of 64-bit numbers. A
// rest that is no whole element is left out.
func cast[T, F any](from []F) []T {
	size := uintptr(len(from)) * sizeOf[F]()
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(from))), size/sizeOf[T]())
}

// sizeOf returns the bytes of an element.
func sizeOf[T any]() uintptr { return unsafe.Sizeof(*new(T)) }

// array returns the section of a name, read in place; empty if there is none of such elements.
func array[T any](s *sections, name string) []T {
	found := s.find(name)
	if found == nil {
		s.refuse(name, "is missing")
		return nil
	}
	if size := uint32(sizeOf[T]()); found.element != size {
		s.refuse(name, "has elements of %d bytes, expected %d", found.element, size)
		return nil
	}
	if len(found.bytes)%int(found.element) != 0 {
		s.refuse(name, "is not an array")
		return nil
	}
	return cast[T](found.bytes)
}

// arrayOf is array for a section that must have a number of elements.
func arrayOf[T any](s *sections, name string, n int) []T {
	elements := array[T](s, name)
	if len(elements) != n {
		s.refuse(name, "has %d elements, expected %d", len(elements), n)
		return nil
	}
	return elements
}

// number returns the only number of a section.
func number(s *sections, name string) uint64 {
	if one := arrayOf[uint64](s, name, 1); len(one) == 1 {
		return one[0]
	}
	return 0
}

// little reads numbers of the header one after the other.
type little struct{ rest []byte }

func (l *little) take(n uint64) []byte {
	if n > uint64(len(l.rest)) {
		l.rest = nil
		return make([]byte, min(n, align))
	}
	taken := l.rest[:n]
	l.rest = l.rest[n:]
	return taken
}

func (l *little) u32() uint32 { return binary.LittleEndian.Uint32(l.take(4)) }
func (l *little) u64() uint64 { return binary.LittleEndian.Uint64(l.take(8)) }

func cutShort(had, expected uint64) error {
	return fmt.Errorf("cut short or grown: %d bytes, expected %d", had, expected)
}

var errContradiction = errors.New("damaged: the header contradicts itself")

// parse checks a whole file, which begins at a multiple of 8 bytes of memory.
func parse(file []byte) (*File, error) {
	summed, err := begin(file)
	if err != nil {
		return nil, err
	}
	in := little{summed}
	if whole := in.u64(); whole != uint64(len(file)) {
		return nil, cutShort(uint64(len(file)), whole)
	}
	tables, common := in.u32(), in.u32()
	if tables > 2 {
		return nil, errContradiction
	}
	f := &File{ipv4: none{}, ipv6: none{}, bytes: len(file)}
	counts, texts := []uint32{common}, []uint32{0}
	for range tables {
		part := Part{Prefixes: in.u64(), Family: int(in.u32()), Width: int(in.u32())}
		counts, texts = append(counts, in.u32()), append(texts, in.u32())
		f.parts = append(f.parts, part)
	}
	all, err := readSections(file, len(summed), &in, counts)
	if err != nil {
		return nil, err
	}
	for i := range f.parts {
		text := in.take(uint64(texts[i+1]))
		if !utf8.Valid(text) {
			return nil, errContradiction
		}
		f.parts[i].Engine = string(text)
	}
	if len(in.rest) >= align || bytes.IndexFunc(in.rest, func(r rune) bool { return r != 0 }) >= 0 {
		return nil, errContradiction
	}
	return f, f.read(all, counts)
}

// begin checks what comes before the contents of the header, and returns those.
func begin(file []byte) ([]byte, error) {
	if !isLittleEndian() {
		return nil, errors.New("this machine is not little-endian, as snapshots are")
	}
	if n := min(len(file), len(magic)); n == 0 || string(file[:n]) != magic[:n] {
		return nil, errors.New("not a snapshot of fibula")
	}
	if len(file) < preambleBytes {
		return nil, cutShort(uint64(len(file)), preambleBytes)
	}
	in := little{file[len(magic):]}
	switch found := in.u32(); found {
	case mark:
	case 0x04030201:
		return nil, errors.New("a snapshot from a machine of the other byte order: build it here")
	default:
		return nil, fmt.Errorf("damaged: byte order mark %#010x", found)
	}
	if found := in.u32(); found != version {
		return nil, fmt.Errorf("a snapshot of format version %d, this package reads %d", found, version)
	}
	length, checksum := in.u64(), in.u64()
	if length > uint64(len(file)) {
		return nil, cutShort(uint64(len(file)), length)
	}
	if length%align != 0 || length < align {
		return nil, errContradiction
	}
	summed := file[preambleBytes:length]
	if xxh3(summed) != checksum {
		return nil, errors.New("damaged: the header does not have its checksum")
	}
	return summed, nil
}

func isLittleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// readSections reads the directory, and checks that the sections follow each other to the end of
// the file and have their checksums.
func readSections(file []byte, summed int, in *little, counts []uint32) ([]section, error) {
	total := uint64(0)
	for _, count := range counts {
		total += uint64(count)
	}
	if total*sectionBytes > uint64(len(in.rest)) {
		return nil, errContradiction
	}
	all := make([]section, total)
	end := uint64(preambleBytes + summed)
	for i := range all {
		name, _, _ := strings.Cut(string(in.take(24)), "\x00")
		offset, length, checksum, element := in.u64(), in.u64(), in.u64(), in.u32()
		in.u32() // reserved
		start := end
		if length > uint64(len(file)) || offset != start {
			return nil, fmt.Errorf("damaged: section %q is not in its place", name)
		}
		end = start + (length+align-1)/align*align
		if end > uint64(len(file)) {
			return nil, fmt.Errorf("damaged: section %q is not in its place", name)
		}
		if xxh3(file[start:end]) != checksum {
			return nil, fmt.Errorf("damaged: section %q does not have its checksum", name)
		}
		all[i] = section{name, file[start : start+length], element}
	}
	if end != uint64(len(file)) {
		return nil, cutShort(uint64(len(file)), end)
	}
	return all, nil
}

// read reads the texts and the tables, whose sections are intact.
func (f *File) read(all []section, counts []uint32) error {
	f.texts = nil
	s := &sections{all: all}
	f.readTexts(s)
	if s.err != nil {
		return s.err
	}
	all = all[counts[0]:]
	for i, part := range f.parts {
		mine := &sections{all: all[:counts[i+1]], most: uint32(len(f.texts))}
		all = all[counts[i+1]:]
		if err := f.readPart(part, mine); err != nil {
			return err
		}
	}
	return nil
}

// readTexts reads the texts of the next hops. The first letter of each is its kind.
func (f *File) readTexts(s *sections) {
	const ends, texts = "next hop ends", "next hop texts"
	offsets, letters := array[uint64](s, ends), string(array[byte](s, texts))
	start := uint64(0)
	for i, end := range offsets {
		if end <= start || end > uint64(len(letters)) || !strings.Contains("pl", letters[start:start+1]) ||
			!utf8.ValidString(letters[start:end]) {
			s.refuse(texts, "holds no next hop %d", i+1)
			return
		}
		f.texts = append(f.texts, letters[start+1:end])
		start = end
	}
	if uint64(len(offsets)) > 1<<32-1 {
		s.refuse(ends, "has more than 2^32 - 1 elements")
	}
}

// readPart opens the engine and the routes of a family.
func (f *File) readPart(part Part, s *sections) error {
	bits, of, routes := 32, &f.ipv4, &f.routes4
	if part.Family == 6 {
		bits, of, routes = 128, &f.ipv6, &f.routes6
	}
	if part.Family != 4 && part.Family != 6 || *of != engine(none{}) {
		return errContradiction
	}
	width := map[int]int{8: 0, 16: 1, 32: 2}
	if _, ok := width[part.Width]; !ok {
		return errContradiction
	}
	name, _, _ := strings.Cut(part.Engine, "/")
	known, ok := engines[name]
	if !ok || known.bits != 0 && known.bits != bits {
		return fmt.Errorf("an IPv%d table of the engine %q: %w", part.Family, part.Engine, ErrUnknownEngine)
	}
	*of = known.open[width[part.Width]](s, bits)
	if s.find(routeAddresses) == nil {
		f.missing = part.Family
	} else if s.err == nil {
		*routes = openRoutes(s, bits, part.Prefixes)
	}
	return s.err
}
