package fibula

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// place is a section in a file: its entry in the directory, and its bytes.
type place struct{ entry, start, bytes, element int }

// placesOf returns the sections of a sound file.
func placesOf(file []byte) (places []place) {
	u32 := func(at int) int { return int(binary.LittleEndian.Uint32(file[at:])) }
	entry := 48 + 24*u32(40)
	count := u32(44)
	for table := range u32(40) {
		count += u32(48 + 24*table + 16)
	}
	for range count {
		places = append(places, place{entry, u32(entry + 24), u32(entry + 32), u32(entry + 48)})
		entry += sectionBytes
	}
	return places
}

// reseal sets the checksums of a file whose directory is sound.
func reseal(file []byte) []byte {
	for _, p := range placesOf(file) {
		end := p.start + (p.bytes+align-1)/align*align
		binary.LittleEndian.PutUint64(file[p.entry+40:], xxh3(file[p.start:end]))
	}
	length := binary.LittleEndian.Uint64(file[16:])
	binary.LittleEndian.PutUint64(file[24:], xxh3(file[preambleBytes:length]))
	return file
}

// forged returns a copy of a file with some elements altered, and right checksums. choose returns
// any number below its argument. A third of the elements are at the share of an array that an
// address is at: there a table of first bits has what its lookup reads.
func forged(file []byte, answers []answer, choose func(int) int) []byte {
	file = slices.Clone(file)
	places := placesOf(file)
	if choose(8) > 0 {
		// Those of the engines alone.
		places = slices.DeleteFunc(places, func(p place) bool {
			name := string(file[p.entry : p.entry+8])
			return strings.HasPrefix(name, "route ") || name == "next hop"
		})
	}
	for range 1 + choose(8) {
		p := places[choose(len(places))]
		if p.bytes < p.element || p.element == 0 {
			continue
		}
		n := p.bytes / p.element
		at := choose(n)
		if choose(3) == 0 {
			share, _ := bits.Mul64(keyOf(answers[choose(len(answers))].addr).hi, uint64(n))
			at = int(share)
		}
		at = p.start + at*p.element
		element := file[at : at+p.element]
		switch choose(6) {
		case 0:
			for i := range element {
				element[i] = byte(choose(256))
			}
		case 1:
			element[choose(len(element))] ^= 1 << choose(8)
		case 2:
			clear(element)
			element[0], element[min(1, len(element)-1)] = byte(choose(256)), byte(choose(4))
		case 3:
			for i := range element {
				element[i] = 0xFF
			}
		case 4:
			copy(element, file[p.start+choose(n)*p.element:][:p.element])
		default:
			// Shorter, by less than the zeros after it.
			if shorter := p.bytes - choose(align); (shorter-1)/align == (p.bytes-1)/align && shorter > 0 {
				binary.LittleEndian.PutUint64(file[p.entry+32:], uint64(shorter))
			}
		}
	}
	return reseal(file)
}

// survives opens a file that somebody forged, and looks up in it: whatever it answers is a next
// hop.
func survives(t *testing.T, bytes []byte, answers []answer) (opened bool) {
	file, err := FromBytes(bytes)
	if err != nil {
		return false
	}
	var addrs []netip.Addr
	for _, a := range answers {
		if hop, ok := file.Lookup(a.addr); ok && int(hop) > file.Len() {
			t.Fatalf("%s: next hop %d of %d", a.addr, hop, file.Len())
		}
		addrs = append(addrs, a.addr)
	}
	file.LookupBatch(addrs, make([]NextHop, len(addrs)))
	if routes, err := file.Routes(); err == nil {
		for _, addr := range addrs {
			_, _, _ = routes.Lookup(addr)
		}
		for range routes.Covers(netip.PrefixFrom(addrs[0], addrs[0].BitLen())) {
		}
	}
	return true
}

// forging are the files that do not take long to copy.
func forging(t testing.TB) (some []file) {
	for _, of := range files(t) {
		if len(of.bytes) < 4<<20 {
			of.answers = of.answers[:min(len(of.answers), 200)]
			some = append(some, of)
		}
	}
	return some
}

// forgeries is the number of files that are made of each: FIBULA_FORGERIES, or a few.
func forgeries() int {
	if n, err := strconv.Atoi(os.Getenv("FIBULA_FORGERIES")); err == nil {
		return n
	}
	return 20
}

func TestForgedFilesAreErrorsOrAnswer(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	opened, refused := 0, 0
	for _, of := range forging(t) {
		for range forgeries() {
			if survives(t, forged(of.bytes, of.answers, random.IntN), of.answers) {
				opened++
			} else {
				refused++
			}
		}
	}
	t.Log(opened, "forged files were opened, and", refused, "refused")
	if opened == 0 || refused == 0 {
		t.Fail()
	}
}

func TestATrieWithACycleIsRefused(t *testing.T) {
	cycles := 0
	for _, of := range forging(t) {
		for _, p := range placesOf(of.bytes) {
			if !strings.HasPrefix(filepath.Base(of.name), "poptrie-8-0") || p.element != 24 {
				continue
			}
			for at := range min(p.bytes/p.element, 20) {
				file := slices.Clone(of.bytes)
				node := file[p.start+at*p.element:][:p.element]
				if binary.LittleEndian.Uint64(node) == 0 {
					continue // without children
				}
				binary.LittleEndian.PutUint32(node[16:], uint32(at))
				if _, err := FromBytes(reseal(file)); err == nil {
					t.Fatalf("%s: node %d leads to itself", of.name, at)
				}
				cycles++
			}
		}
	}
	if cycles == 0 {
		t.Fatal("no trie with children")
	}
}

// FuzzForged alters a file as the fuzzer's bytes say:
// FIBULA_FILES=FOLDER go test -fuzz FuzzForged
func FuzzForged(f *testing.F) {
	all := forging(f)
	for i := range all {
		f.Add(uint16(i), []byte{7, 1, 2, 3, 4, 5, 6, 7, 8})
	}
	f.Fuzz(func(t *testing.T, which uint16, bytes []byte) {
		of := all[int(which)%len(all)]
		choose := func(below int) int {
			number := 0
			for limit := below - 1; limit > 0; limit >>= 8 {
				if len(bytes) > 0 {
					number, bytes = number<<8|int(bytes[0]), bytes[1:]
				}
			}
			return number % below
		}
		survives(t, forged(of.bytes, of.answers, choose), of.answers)
	})
}

// FuzzFile opens any bytes.
func FuzzFile(f *testing.F) {
	f.Add([]byte(magic))
	if os.Getenv("FIBULA_FILES") != "" {
		f.Add(smallest(f).bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		addr := netip.MustParseAddr("192.0.2.1")
		survives(t, bytes, []answer{{addr: addr}})
	})
}

func keyOf(addr netip.Addr) u128 {
	if addr.Is4() {
		return key4(addr)
	}
	return key6(addr)
}
