package process

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/parse/procfs"
)

// files reads below the place where proc is mounted.
type files struct {
	root   string
	buffer []byte
	held   *budget
}

func newFiles(root string) files {
	const largest = 8 << 10 // A status is 1.5 KB; long lists of CPUs and groups make it larger.
	return files{root: root, buffer: make([]byte, largest), held: newBudget()}
}

// read returns a file's text, valid until the next read. Files of proc are read whole in one call.
func (f files) read(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	text, err := f.again(fd)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return text, nil
}

// again reads an open file from its start. A file of proc never blocks, so that the scheduler need not be told of the call, which would
// cost a tenth of it: with 1000 threads that counts.
func (f files) again(fd int) ([]byte, error) {
	n, _, fault := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(&f.buffer[0])), uintptr(len(f.buffer)), 0, 0, 0)
	if fault != 0 {
		return nil, fault
	}
	return f.buffer[:n], nil
}

// held is a file of proc that is kept open between looks as far as the budget goes. The zero value is not open.
type held struct {
	path string
	fd   int // 0: not open
}

// read returns the file's text.
func (h *held) read(f files) ([]byte, error) {
	if h.fd > 0 {
		return f.again(h.fd)
	}
	if f.held.left <= 0 {
		return f.read(h.path)
	}
	fd, err := unix.Open(h.path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: h.path, Err: err}
	}
	h.fd = fd
	f.held.left--
	return f.again(fd)
}

func (h *held) close(f files) {
	if h.fd == 0 {
		return
	}
	_ = unix.Close(h.fd) // Nothing was written.
	h.fd = 0
	f.held.left++
}

// numbers lists the entries of a folder that are numbers.
func (f files) numbers(path string) ([]int64, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	out := make([]int64, 0, len(names))
	for _, name := range names {
		if n, err := strconv.ParseInt(name, 10, 64); err == nil {
			out = append(out, n)
		}
	}
	return out, err
}

// parents remembers the parent of every process of the machine.
type parents struct {
	of   map[int64]int64
	next time.Duration // when what is remembered is too old: an id may have been given to another process
}

// refresh finds new processes and forgets ended ones. Only of new ones is the stat read.
func (p *parents) refresh(f files, at time.Duration) {
	const tooOld = 30 * time.Second
	pids, err := f.numbers(f.root)
	if err != nil {
		return
	}
	before := p.of
	if at >= p.next {
		before, p.next = nil, at+tooOld
	}
	p.of = make(map[int64]int64, len(pids))
	for _, pid := range pids {
		if parent, ok := before[pid]; ok {
			p.of[pid] = parent
			continue
		}
		text, err := f.read(filepath.Join(f.root, strconv.FormatInt(pid, 10), "stat"))
		if err != nil {
			continue // It has ended meanwhile.
		}
		if s, ok := procfs.ParseStat(text); ok {
			p.of[pid] = s.Parent
		}
	}
}

// descends tells whether a chain of parents leads from a process to another. It cannot be longer than there are processes.
func (p *parents) descends(pid, root int64) bool {
	for range p.of {
		parent, ok := p.of[pid]
		if !ok {
			return false
		}
		if parent == root {
			return true
		}
		pid = parent
	}
	return false
}

// descriptors counts a process's open files; -1 where it may not be known. The size of the folder is their number since Linux 6.2.
func (f files) descriptors(dir string) int64 {
	var info unix.Stat_t
	path := dir + "/fd"
	if err := unix.Stat(path, &info); err == nil && info.Size > 0 {
		return info.Size
	}
	list, err := f.numbers(path)
	if err != nil {
		return -1
	}
	return int64(len(list))
}

// forks tells whether a task was made since the last look: the last field of loadavg is the id given last.
type forks struct {
	file held
	last []byte
}

func (f *forks) happened(proc files) bool {
	text, err := f.file.read(proc)
	if err != nil {
		return true
	}
	at := bytes.LastIndexByte(text, ' ') + 1
	if bytes.Equal(text[at:], f.last) {
		return false
	}
	f.last = append(f.last[:0], text[at:]...)
	return true
}

// scan bounds how often all processes of the machine are looked through: the CPU time of children that live shorter is still found with
// their parents.
type scan struct {
	next    time.Duration
	began   bool
	pending bool
}

func (s *scan) due(at time.Duration, changed bool) bool {
	const apart = time.Second
	s.pending = s.pending || changed
	if !s.pending || s.began && at < s.next {
		return false
	}
	s.next, s.began, s.pending = at+apart, true, false
	return true
}

// budget is how many descriptors may be held between looks. The load generator needs the rest.
type budget struct{ left int }

func newBudget() *budget {
	const share, least, most = 8, 64, 8192
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return &budget{left: least}
	}
	return &budget{left: int(min(limit.Cur/share, most))}
}
