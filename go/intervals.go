package fibula

// intervals are the sorted intervals of a small table: where each starts, and its answer.
type intervals[W width] struct {
	// Of one family; the other is empty.
	starts4 []uint32
	starts6 []u128
	answers []W
}

func openIntervals[W width](s *sections, bits int) engine {
	const starts, answers = "starts", "answers"
	t := &intervals[W]{}
	n := 0
	ascend := true
	if bits == 32 {
		t.starts4 = array[uint32](s, starts)
		n = len(t.starts4)
		ascend = ascending(t.starts4, func(a, b uint32) bool { return a < b })
	} else {
		t.starts6 = array[u128](s, starts)
		n = len(t.starts6)
		ascend = ascending(t.starts6, u128.less)
	}
	if n == 0 || !ascend {
		s.refuse(starts, "do not ascend from the first address on")
	}
	t.answers = arrayOf[W](s, answers, n)
	for _, hop := range t.answers {
		s.check(answers, uint32(hop))
	}
	return t
}

// ascending returns whether numbers begin with zero and each is greater than the one before.
func ascending[A comparable](numbers []A, less func(a, b A) bool) bool {
	var before A
	for i, number := range numbers {
		if i == 0 && number != before || i > 0 && !less(before, number) {
			return false
		}
		before = number
	}
	return true
}

func (t *intervals[W]) lookup(key u128) uint32 {
	at := 0
	if t.starts6 != nil {
		for left := len(t.starts6); left > 1; {
			half := left / 2
			if !key.less(t.starts6[at+half]) {
				at += half
			}
			left -= half
		}
		return uint32(t.answers[at])
	}
	address := uint32(key.hi >> 32)
	for left := len(t.starts4); left > 1; {
		half := left / 2
		if t.starts4[at+half] <= address {
			at += half
		}
		left -= half
	}
	return uint32(t.answers[at])
}

func (t *intervals[W]) lookupAll(keys []u128, hops []uint32) {
	for i, key := range keys {
		hops[i] = t.lookup(key)
	}
}
