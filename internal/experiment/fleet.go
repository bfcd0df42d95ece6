package experiment

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/loadline-dev/loadline/internal/launch"
	"github.com/loadline-dev/loadline/internal/plan"
)

// fleet is the services that run at the moment, in the order of their start. The zero value is an empty fleet.
type fleet struct {
	mu      sync.Mutex // guards members, which the sampler reads
	members []member
}

type member struct {
	service plan.Service
	process *launch.Process
}

// specs are the services of a plan, ready to be started.
func (r *runner) specs(expanded *plan.Plan) []launch.Spec {
	var out []launch.Spec
	for _, s := range expanded.Services {
		out = append(out, launch.Spec{Service: s, Self: r.Self, Folder: r.Folder, Environ: r.Environ})
	}
	return out
}

// bring makes the fleet what the specs say: a service that runs already with the same command and surroundings stays, one that differs or
// has died is stopped, in reverse order, and then all that are missing are started in order.
func (f *fleet) bring(ctx context.Context, specs []launch.Spec) error {
	if err := f.stopWhere(ctx, func(m member) bool { return !wanted(m, specs) }); err != nil {
		return err
	}
	for _, spec := range specs {
		if f.has(spec.Service.Name) {
			continue
		}
		p, err := launch.Start(ctx, spec)
		if err != nil {
			return err
		}
		f.add(member{service: spec.Service, process: p})
	}
	f.order(specs)
	return nil
}

// wanted tells whether a running service is what the specs ask for.
func wanted(m member, specs []launch.Spec) bool {
	if m.process.Err() != nil {
		return false
	}
	return slices.ContainsFunc(specs, func(s launch.Spec) bool { return same(s.Service, m.service) })
}

// same tells whether two services would run alike.
func same(a, b plan.Service) bool {
	return a.Name == b.Name && slices.Equal(a.Command, b.Command) && slices.Equal(a.Env, b.Env) && a.CPUs == b.CPUs && a.Dir == b.Dir && a.Log == b.Log
}

func (f *fleet) has(name string) bool {
	return slices.ContainsFunc(f.snapshot(), func(m member) bool { return m.service.Name == name })
}

func (f *fleet) add(m member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = append(f.members, m)
}

// order puts the members into the order of the specs, whatever was restarted last.
func (f *fleet) order(specs []launch.Spec) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := func(m member) int {
		return slices.IndexFunc(specs, func(s launch.Spec) bool { return s.Service.Name == m.service.Name })
	}
	slices.SortStableFunc(f.members, func(a, b member) int { return cmp.Compare(at(a), at(b)) })
}

func (f *fleet) set(members []member) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.members = members
}

func (f *fleet) snapshot() []member {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.members)
}

// stopAll ends every service, the last started first.
func (f *fleet) stopAll(ctx context.Context) error {
	return f.stopWhere(ctx, func(member) bool { return true })
}

func (f *fleet) stopWhere(ctx context.Context, leaves func(member) bool) error {
	members := f.snapshot()
	var faults []error
	var stay []member
	for _, m := range slices.Backward(members) {
		if !leaves(m) {
			stay = append(stay, m)
			continue
		}
		// One that had to be killed is gone all the same.
		if err := m.process.Stop(ctx); err != nil && !errors.Is(err, launch.ErrKilled) {
			faults = append(faults, err)
		}
	}
	slices.Reverse(stay)
	f.set(stay)
	return errors.Join(faults...)
}

// alive is nil while all services run, else what happened to the first that does not.
func (f *fleet) alive() error {
	for _, m := range f.snapshot() {
		if err := m.process.Err(); err != nil {
			return err
		}
	}
	return nil
}

// watch gives a context that ends, with the service's fault as its cause, when a service ends by itself. The returned function must be
// called; afterwards nothing watches any more.
func (f *fleet) watch(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	var watchers sync.WaitGroup
	for _, m := range f.snapshot() {
		watchers.Go(func() {
			select {
			case <-m.process.Done():
				cancel(m.process.Err())
			case <-ctx.Done():
			}
		})
	}
	return ctx, func() {
		cancel(nil)
		watchers.Wait()
	}
}

// pid is the process of a service that was started here.
func (f *fleet) pid(name string) (pid int, ours bool) {
	for _, m := range f.snapshot() {
		if m.service.Name == name {
			return m.process.PID(), true
		}
	}
	return 0, false
}
