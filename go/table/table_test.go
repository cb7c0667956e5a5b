package table

import (
	"errors"
	"net/netip"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	fibula "github.com/fibula-net/fibula/go"
)

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func small(t *testing.T) *Table {
	t.Helper()
	table, err := New(Options{MaxBytes: 64 << 20})
	must(t, err)
	prefixes := []netip.Prefix{prefix("10.0.0.0/8"), prefix("10.1.0.0/16"), prefix("2001:db8::/32")}
	must(t, table.InsertMany(prefixes, []uint64{1, 2, 1 << 63}))
	return table
}

func TestATableAnswersAndChanges(t *testing.T) {
	table := small(t)
	defer table.Close()
	if table.Len() != 3 || table.Memory() == 0 {
		t.Fatal(table.Len(), table.Memory())
	}
	if value, ok := table.Lookup(addr("2001:db8::7")); !ok || value != 1<<63 {
		t.Fatal(value, ok)
	}
	if p, value, ok := table.LookupPrefix(addr("10.1.2.3")); !ok || value != 2 || p != prefix("10.1.0.0/16") {
		t.Fatal(p, value, ok)
	}
	must(t, table.Remove(prefix("10.1.0.0/16")))
	must(t, table.Insert(prefix("::/0"), 9))
	addrs := make([]netip.Addr, 600)
	for i := range addrs {
		addrs[i] = []netip.Addr{addr("10.1.2.3"), addr("::1"), addr("192.0.2.1"), {}}[i%4]
	}
	values := make([]uint64, len(addrs))
	table.LookupBatch(addrs, values, 77)
	for i, value := range values {
		if value != []uint64{1, 9, 77, 77}[i%4] {
			t.Fatal(i, value)
		}
	}
	allocations := testing.AllocsPerRun(100, func() {
		table.Lookup(addrs[0])
		table.LookupBatch(addrs, values, 77)
	})
	if allocations != 0 {
		t.Error(allocations, "allocations")
	}
}

func TestErrorsHaveTheirKindAndMessage(t *testing.T) {
	table := small(t)
	for _, of := range []struct {
		err  error
		kind syscall.Errno
	}{
		{table.Insert(netip.PrefixFrom(addr("10.1.0.0"), 8), 1), syscall.EINVAL},
		{table.Insert(netip.Prefix{}, 1), syscall.EAFNOSUPPORT},
		{table.Remove(prefix("192.0.2.0/24")), syscall.ENOENT},
		{table.InsertMany([]netip.Prefix{prefix("192.0.2.0/24")}, nil), syscall.EINVAL},
	} {
		var failed *Error
		if !errors.Is(of.err, of.kind) || !errors.As(of.err, &failed) || failed.Message == "" {
			t.Errorf("%v, expected %v", of.err, of.kind)
		}
	}
	if _, err := New(Options{Engine: "mosaik"}); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
	table.Close()
	if _, ok := table.Lookup(addr("10.1.2.3")); ok || table.Len() != 0 {
		t.Error("a closed table answers")
	}
	values := make([]uint64, 2)
	table.LookupBatch([]netip.Addr{addr("10.1.2.3"), addr("::1")}, values, 77)
	if values[0] != 77 || values[1] != 77 {
		t.Error("a closed table answers a batch: ", values)
	}
	if table.Insert(prefix("::/0"), 1) == nil {
		t.Error("a closed table takes a prefix")
	}
	table.Close()
}

func TestASavedTableIsAFileOfPackageFibula(t *testing.T) {
	table := small(t)
	path := filepath.Join(t.TempDir(), "table.fib")
	must(t, table.Save(path))
	file, err := fibula.Open(path)
	must(t, err)
	hop, _ := file.Lookup(addr("10.1.2.3"))
	if file.Text(hop) != "2" {
		t.Error(file.Text(hop))
	}
	again, err := Open(path, Options{})
	must(t, err)
	value, ok := again.Lookup(addr("2001:db8::1"))
	if text, isText := again.Text(value); !ok || !isText || text != "9223372036854775808" {
		t.Error(value, ok, text, isText)
	}
	if _, isText := again.Text(2); isText {
		t.Error("a number has a text")
	}
}

func TestReadersSeeWhatIsPublished(t *testing.T) {
	table, err := New(Options{})
	must(t, err)
	live, err := NewLive(table)
	must(t, err)
	if table.Len() != 0 || table.Insert(prefix("::/0"), 1) == nil {
		t.Error("a table that was taken takes a prefix")
	}
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 2 {
		reader, err := live.Reader()
		must(t, err)
		readers.Add(1)
		go func() {
			defer readers.Done()
			last, values := uint64(0), make([]uint64, 2)
			for !done.Load() {
				value, _ := reader.Lookup(addr("192.0.2.1"))
				reader.LookupBatch([]netip.Addr{addr("192.0.2.1"), addr("192.0.2.2")}, values, 0)
				if value < last || values[0] < value || values[0] != values[1] {
					t.Error("values came back: ", last, value, values)
					return
				}
				last = value
			}
			reader.Close()
		}()
	}
	for value := range uint64(300) {
		must(t, live.Insert(prefix("192.0.2.0/24"), value+1))
		if live.Pending() != 1 {
			t.Error(live.Pending())
		}
		must(t, live.Publish(time.Minute))
	}
	done.Store(true)
	readers.Wait()
	reader, err := live.Reader()
	must(t, err)
	must(t, live.Remove(prefix("192.0.2.0/24")))
	must(t, live.Discard())
	must(t, live.Publish(0))
	if value, ok := reader.Lookup(addr("192.0.2.1")); !ok || value != 300 {
		t.Error(value, ok)
	}
	must(t, live.Replace(small(t)))
	must(t, live.Publish(time.Minute))
	live.Close()
	if value, ok := reader.Lookup(addr("10.1.2.3")); !ok || value != 2 {
		t.Error(value, ok)
	}
}

func TestWhatNobodyRefersToIsFreed(t *testing.T) {
	for range 100 {
		live, err := NewLive(small(t))
		must(t, err)
		_, err = live.Reader()
		must(t, err)
		small(t)
	}
	runtime.GC()
}
