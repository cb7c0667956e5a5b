package fibula

import (
	"encoding/binary"
	"math/bits"
)

// secret is the one that XXH3 has by default.
const secret = "" +
	"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb" +
	"\x72\x40\xa4\xa4\xb7\xb3\x67\x1f\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21" +
	"\xb8\x08\x46\x74\xf7\x43\x24\x8e\xe0\x35\x90\xe6\x81\x3a\x26\x4c\x3c\x28\x52\xbb\x91\xc3\x00\xcb" +
	"\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8" +
	"\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d\x8a\x51\xe0\x4b\xcd\xb4\x59\x31" +
	"\xc8\x9f\x7e\xc9\xd9\x78\x73\x64\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff\xfa\x13\x63\xeb" +
	"\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e\x2b\x16\xbe\x58\x7d\x47\xa1\xfc" +
	"\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

const (
	prime32x1 = 0x9E3779B1
	prime32x2 = 0x85EBCA77
	prime32x3 = 0xC2B2AE3D
	prime64x1 = 0x9E3779B185EBCA87
	prime64x2 = 0xC2B2AE3D27D4EB4F
	prime64x3 = 0x165667B19E3779F9
	prime64x4 = 0x85EBCA77C2B2AE63
	prime64x5 = 0x27D4EB2F165667C5
)

// secrets are the numbers of the secret from each byte on.
var secrets = func() (at [len(secret) - 7]uint64) {
	for i := range at {
		at[i] = binary.LittleEndian.Uint64([]byte(secret[i : i+8]))
	}
	return at
}()

// xxh3 returns XXH3 with 64 bits and seed 0, as the specification of xxHash 0.8 has it, of no bytes
// or of at least 17. Headers and sections have a multiple of 32.
func xxh3(input []byte) uint64 {
	n := uint64(len(input))
	switch {
	case n == 0:
		h := secrets[56] ^ secrets[64]
		h = (h ^ h>>33) * prime64x2
		h = (h ^ h>>29) * prime64x3
		return h ^ h>>32
	case n <= 128:
		h := n * prime64x1
		for i := range int(n+31) / 32 {
			h += mix16(input[16*i:], 32*i) + mix16(input[len(input)-16*i-16:], 32*i+16)
		}
		return avalanche(h)
	case n <= 240:
		h := n * prime64x1
		for i := range int(n) / 16 {
			if i == 8 {
				h = avalanche(h)
			}
			if i < 8 {
				h += mix16(input[16*i:], 16*i)
			} else {
				h += mix16(input[16*i:], 16*(i-8)+3)
			}
		}
		return avalanche(h + mix16(input[len(input)-16:], 136-17))
	}
	return xxh3Long(input)
}

func avalanche(h uint64) uint64 {
	h = (h ^ h>>37) * 0x165667919E3779F9
	return h ^ h>>32
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func mix16(input []byte, at int) uint64 {
	return fold(binary.LittleEndian.Uint64(input)^secrets[at],
		binary.LittleEndian.Uint64(input[8:])^secrets[at+8])
}

// lanes are the accumulators of long inputs.
type lanes [8]uint64

func xxh3Long(input []byte) uint64 {
	const (
		stripe  = 64
		stripes = (len(secret) - stripe) / 8
		block   = stripe * stripes
	)
	a := lanes{prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1}
	length := uint64(len(input))
	last := input[len(input)-stripe:]
	for len(input) > block {
		a.accumulate(input[:block])
		for i := range a {
			a[i] = (a[i] ^ a[i]>>47 ^ secrets[len(secret)-stripe+8*i]) * prime32x1
		}
		input = input[block:]
	}
	a.accumulate(input[:(len(input)-1)/stripe*stripe])
	a.stripe(last, len(secret)-stripe-7)
	h := length * prime64x1
	for i := 0; i < len(a); i += 2 {
		h += fold(a[i]^secrets[11+8*i], a[i+1]^secrets[19+8*i])
	}
	return avalanche(h)
}

// accumulate takes stripes of 64 bytes, each with the secret from 8 bytes further on.
func (a *lanes) accumulate(stripes []byte) {
	for at := 0; len(stripes) >= 64; at += 8 {
		a.stripe(stripes, at)
		stripes = stripes[64:]
	}
}

func (a *lanes) stripe(input []byte, at int) {
	input = input[:64]
	keys := secrets[at : at+57]
	for i := 0; i < len(a); i += 2 {
		low, high := binary.LittleEndian.Uint64(input[8*i:]), binary.LittleEndian.Uint64(input[8*i+8:])
		lowKey, highKey := low^keys[8*i], high^keys[8*i+8]
		a[i] += high + lowKey&0xFFFFFFFF*(lowKey>>32)
		a[i+1] += low + highKey&0xFFFFFFFF*(highKey>>32)
	}
}
