package process

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

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
	n, err := unix.Pread(fd, f.buffer, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return f.buffer[:n], nil
}

// again reads an open file from its start.
func (f files) again(fd int) ([]byte, error) {
	n, err := unix.Pread(fd, f.buffer, 0)
	if err != nil {
		return nil, err
	}
	return f.buffer[:n], nil
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

// parents maps every process to its parent. Processes that end meanwhile are left out.
func (f files) parents() map[int64]int64 {
	pids, err := f.numbers(f.root)
	if err != nil {
		return nil
	}
	out := make(map[int64]int64, len(pids))
	for _, pid := range pids {
		text, err := f.read(filepath.Join(f.root, strconv.FormatInt(pid, 10), "stat"))
		if err != nil {
			continue
		}
		if s, ok := procfs.ParseStat(text); ok {
			out[pid] = s.Parent
		}
	}
	return out
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
type forks struct{ last []byte }

func (f *forks) happened(proc files) bool {
	text, err := proc.read(filepath.Join(proc.root, "loadavg"))
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
