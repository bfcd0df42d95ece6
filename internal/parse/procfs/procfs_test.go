package procfs_test

import (
	"os"
	"testing"

	"github.com/loadline-dev/loadline/internal/parse/procfs"
)

// A stat line as proc(5) numbers it: field n has the value n, from 10 on.
const numbered = "1234 (we (ird)\n) S 1 6 7 8 -1 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 18446744073709551615 26 27 28"

func TestStatTakesItsFieldsByTheirNumbersInTheManual(t *testing.T) {
	s, ok := procfs.ParseStat([]byte(numbered))
	if !ok {
		t.Fatal("refused")
	}
	if string(s.Command) != "we (ird)\n" || s.State != 'S' || s.PID != 1234 || s.Parent != 1 {
		t.Errorf("%+v, command %q", s, s.Command)
	}
	for name, c := range map[string][2]int64{"minor": {s.MinorFaults, 10}, "child minor": {s.ChildMinor, 11}, "major": {s.MajorFaults, 12}, "child major": {s.ChildMajor, 13},
		"user": {s.User, 14}, "system": {s.System, 15}, "child user": {s.ChildUser, 16}, "child system": {s.ChildSystem, 17},
		"threads": {s.Threads, 20}, "started": {s.Started, 22}, "rss": {s.RSSPages, 24}} {
		if c[0] != c[1] {
			t.Errorf("%s: field %d, want field %d", name, c[0], c[1])
		}
	}
}

func TestOwnProcessCanBeRead(t *testing.T) {
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip("no proc here")
	}
	s, ok := procfs.ParseStat(text)
	if !ok || s.PID != int64(os.Getpid()) || s.Parent != int64(os.Getppid()) {
		t.Errorf("%+v", s)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := procfs.ParseSwitches(status); !ok {
		t.Errorf("no switches in\n%s", status)
	}
}

func TestSchedstatAndSwitches(t *testing.T) {
	if s, ok := procfs.ParseSchedstat([]byte("123 456 7\n")); !ok || s != (procfs.Schedstat{RunNanos: 123, WaitNanos: 456, Slices: 7}) {
		t.Errorf("%+v %v", s, ok)
	}
	if s, ok := procfs.ParseSwitches([]byte("Name:\tx\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n")); !ok || s != (procfs.Switches{Voluntary: 150, Involuntary: 545}) {
		t.Errorf("%+v %v", s, ok)
	}
	for _, bad := range []string{"", "1 2", "a b c", "1 2 x"} {
		if _, ok := procfs.ParseSchedstat([]byte(bad)); ok {
			t.Errorf("schedstat %q was taken", bad)
		}
		if _, ok := procfs.ParseSwitches([]byte(bad)); ok {
			t.Errorf("status %q was taken", bad)
		}
		if _, ok := procfs.ParseStat([]byte(bad)); ok {
			t.Errorf("stat %q was taken", bad)
		}
	}
}

func TestParsingAllocatesNothing(t *testing.T) {
	stat, status := []byte(numbered), []byte("\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n")
	sched := []byte("1 2 3\n")
	if n := testing.AllocsPerRun(100, func() {
		procfs.ParseStat(stat)
		procfs.ParseSwitches(status)
		procfs.ParseSchedstat(sched)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzTextsOfAnyKind(f *testing.F) {
	f.Add([]byte(numbered))
	f.Add([]byte("1 2 3"))
	f.Add([]byte("\nvoluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n"))
	f.Add([]byte("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n   0: 0100007F:1F90 00000000:0000 0A 00000000:00000003 00:00000000 00000000     0        0 12345 1 0 100 0 0 10 0\n"))
	f.Fuzz(func(_ *testing.T, text []byte) {
		procfs.ParseStat(text)
		procfs.ParseSchedstat(text)
		procfs.ParseSwitches(text)
		for range procfs.Sockets(text) {
			continue
		}
	})
}
