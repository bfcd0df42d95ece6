package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loadline-dev/loadline/internal/plan"
)

// Process is a service that was started. Its methods may be called from any goroutine. Whoever started it must call Stop, which also
// frees what is left of one that ended by itself.
type Process struct {
	spec    Spec
	cmd     *exec.Cmd
	pid     int
	output  *output
	guard   *guard
	exited  chan struct{} // closed when the leader has ended
	swept   chan struct{} // closed by kill: nothing of the group runs any more
	done    chan struct{} // closed when its output has been read to the end too
	state   error         // how it ended; written before exited closes
	stopped atomic.Bool   // Stop was called: the end is wished for
	finish  sync.Once
}

// Start starts the service and returns when it is ready, which without a ready check is at once. On an error nothing is left running.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	fail := func(kind, cause error, advice string) error {
		return &Error{Service: spec.Service.Name, Kind: kind, Cause: cause, Advice: advice}
	}
	if err := spec.Validate(); err != nil {
		return nil, fail(ErrCommand, err, "correct the service in the plan")
	}
	if address, taken := portTaken(ctx, spec.Service.Ready); taken {
		return nil, fail(ErrPortInUse, fmt.Errorf("something answers on %s before the service was started", address),
			"end it, or give the service another port; 'ss -ltnp' tells who listens")
	}
	p, err := launch(spec)
	if err != nil {
		return nil, fail(ErrCommand, err, "correct services."+spec.Service.Name+" in the plan")
	}
	if err := p.awaitReady(ctx); err != nil {
		p.kill()
		return nil, err
	}
	return p, nil
}

// launch forks and starts what watches the child.
func launch(spec Spec) (*Process, error) {
	cmd, err := spec.command()
	if err != nil {
		return nil, err
	}
	out, err := newOutput(spec.path(spec.Service.Log))
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = out.stdout.write, out.stderr.write
	p := &Process{spec: spec, cmd: cmd, output: out, exited: make(chan struct{}), swept: make(chan struct{}), done: make(chan struct{})}
	started := make(chan error, 1)
	go p.live(started)
	if err := <-started; err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

// live starts the child and waits for its end. It keeps one thread to itself, for two reasons: the kernel sends the parent-death signal
// when the thread that forked ends, not the process; and the child inherits that thread's CPUs. The thread ends with the goroutine.
func (p *Process) live(started chan<- error) {
	runtime.LockOSThread()
	defer close(p.done)
	err := setCPUs(p.spec.Service.CPUs)
	if err == nil {
		err = p.cmd.Start()
	}
	p.output.begin()
	if err != nil {
		p.output.end()
		started <- err
		return
	}
	p.pid = p.cmd.Process.Pid
	p.guard = newGuard(p.pid)
	started <- nil
	p.state = p.cmd.Wait()
	close(p.exited)
	if p.stopped.Load() {
		<-p.swept // The rest of the group has its grace, and may write meanwhile.
	} else {
		signalGroup(p.pid, syscall.SIGKILL) // What the leader has left behind holds its ports.
	}
	p.output.end()
}

// setCPUs binds the calling thread.
func setCPUs(list string) error {
	if list == "" {
		return nil
	}
	cpus, err := plan.ParseCPUs(list)
	if err != nil {
		return err
	}
	var set unix.CPUSet
	for _, c := range cpus {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("cpus: found %s, want CPUs that this machine has and this process may use: %w", list, err)
	}
	// The kernel leaves out in silence what it does not have.
	var got unix.CPUSet
	if err := unix.SchedGetaffinity(0, &got); err != nil {
		return fmt.Errorf("cpus: %w", err)
	}
	for _, c := range cpus {
		if !got.IsSet(c) {
			return fmt.Errorf("cpus: found %s, want CPUs that this machine has and this process may use: CPU %d is not among them", list, c)
		}
	}
	return nil
}

// PID is the process's id, which is its group's too.
func (p *Process) PID() int { return p.pid }

// Name is the service's name.
func (p *Process) Name() string { return p.spec.Service.Name }

// Done is closed when the process has ended, for whatever reason.
func (p *Process) Done() <-chan struct{} { return p.done }

// Tail is the last lines that the service wrote to stderr, or to stdout where stderr stayed empty.
func (p *Process) Tail() []string { return p.output.tail() }

// Err is nil while the process runs and when Stop ended it; an *Error of kind ErrDied when it ended by itself.
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.stopped.Load() {
		return nil
	}
	return p.died()
}

// died describes an end that nobody wished for.
func (p *Process) died() *Error {
	e := &Error{Service: p.Name(), Kind: ErrDied, Cause: p.state, Tail: p.Tail(), Advice: "read its last lines; run its command by hand"}
	if e.Cause == nil {
		e.Cause = errors.New("exit status 0")
		e.Advice = "a service must stay in the foreground until it is told to end; one that went into the background is out of reach, " +
			"so tell it not to (nginx: -g 'daemon off;')"
	}
	return e
}

// Stop ends the service's group: the plan's signal, then KILL when the grace is over or ctx ends. It returns when nothing of the group
// runs any more: nil, or an error that wraps ErrKilled where the signal was not enough. Further calls, and a call after the process
// ended by itself, return nil.
func (p *Process) Stop(ctx context.Context) error {
	var err error
	p.finish.Do(func() { err = p.stop(ctx) })
	return err
}

func (p *Process) stop(ctx context.Context) error {
	select {
	case <-p.exited: // It is dead already; Err must go on telling so.
		<-p.done
		p.sweep()
		return nil
	default:
	}
	p.stopped.Store(true)
	signal, err := signalOf(p.spec.Service.Stop.Signal)
	if err != nil {
		signal = syscall.SIGTERM // Validate has refused it before.
	}
	signalGroup(p.pid, signal)
	grace, cancel := context.WithTimeout(ctx, p.spec.Service.Stop.Grace)
	defer cancel()
	ended := p.awaitEnd(grace)
	p.kill()
	if !ended && signal != syscall.SIGKILL {
		return &Error{Service: p.Name(), Kind: ErrKilled, Cause: ctx.Err(), Advice: "give it a longer stop.grace, or another stop.signal"}
	}
	return nil
}

// awaitEnd waits for the leader and then for the rest of its group; false when ctx ended first.
func (p *Process) awaitEnd(ctx context.Context) bool {
	select {
	case <-p.exited:
		return awaitGroup(ctx, p.pid)
	case <-ctx.Done():
		return false
	}
}

// kill ends the group at once and waits until it is gone and its output read.
func (p *Process) kill() {
	p.stopped.Store(true)
	p.sweep()
	close(p.swept)
	<-p.done
}

// killTime is how long killed processes may take to vanish; one that the kernel keeps in an uninterruptible wait takes longer.
const killTime = 2 * time.Second

// sweep kills whatever is left of the group and dismisses the guard.
func (p *Process) sweep() {
	signalGroup(p.pid, syscall.SIGKILL)
	<-p.exited
	ctx, cancel := context.WithTimeout(context.Background(), killTime)
	defer cancel()
	awaitGroup(ctx, p.pid)
	p.guard.dismiss()
}

// guard kills the group when Loadline vanishes without ending it. The parent-death signal reaches only the child itself; the child's own
// children are reached by this shell, which waits for a word from Loadline and takes the end of the pipe for its death.
type guard struct {
	cmd  *exec.Cmd
	word *os.File
}

const guardScript = `read word && exit 0; kill -s KILL -- "-$1"`

// newGuard starts a guard; nil where there is no shell, in which case the parent-death signal has to do.
func newGuard(pgid int) *guard {
	read, write, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer read.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "loadline-guard", fmt.Sprint(pgid))
	cmd.Stdin = read
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C must not reach it.
	if err := cmd.Start(); err != nil {
		write.Close()
		return nil
	}
	return &guard{cmd: cmd, word: write}
}

// dismiss sends the guard home once its group is gone.
func (g *guard) dismiss() {
	if g == nil {
		return
	}
	if _, err := g.word.WriteString("home\n"); err != nil {
		_ = g.cmd.Process.Kill()
	}
	g.word.Close()
	_ = g.cmd.Wait() // How a guard ends says nothing.
}
