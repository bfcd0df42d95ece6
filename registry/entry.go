package registry

import (
	"fmt"
	"reflect"
)

// entry is one member with its layers. The code layer is guarded by the registry's lock for changes.
type entry struct {
	kind  Kind
	name  string
	thing any

	read     func() any      // in force, defaults filled in
	put      func(any) error // raw settings, as a layer's sum
	defaults func(any) any
	validate func(any) error
	zero     func() reflect.Value // addressable zero settings

	code Section // what the code set: whatever is not a default
	last any     // what the registry saw or put in force last, defaults filled in
}

func newEntry[S comparable](kind Kind, name string, thing any, read func() S, put func(S) error, defaults func(S) S, validate func(S) error) *entry {
	e := &entry{kind: kind, name: name, thing: thing,
		read:     func() any { return read() },
		put:      func(s any) error { return put(s.(S)) },
		defaults: func(s any) any { return defaults(s.(S)) },
		validate: func(s any) error { return validate(s.(S)) },
		zero:     func() reflect.Value { return reflect.ValueOf(new(S)).Elem() },
	}
	e.last = e.read()
	e.code = e.sparse(e.last)
	return e
}

// sparse is the fewest keys from which defaults make the settings: what somebody must have set.
func (e *entry) sparse(inForce any) Section {
	plain := encode(reflect.ValueOf(e.defaults(e.zero().Interface())))
	out := difference(encode(reflect.ValueOf(inForce)), plain)
	for _, key := range out.keys("") {
		less := out.without(key)
		if s, faults := e.sum(less); len(faults) == 0 && e.defaults(s) == inForce {
			out = less
		}
	}
	return out
}

// sum lays sections over each other, the strongest last, and gives raw settings with zero values where nothing is said.
func (e *entry) sum(layers ...Section) (any, []error) {
	v := e.zero()
	var faults []error
	for _, l := range layers {
		faults = append(faults, decode(v, l, "")...)
	}
	return v.Interface(), faults
}

// agrees checks what a document declares of a command's parts against what the code gave it: those are not settings.
func (e *entry) agrees(facts Facts) error {
	c, ok := e.thing.(Controlled)
	if !ok {
		return nil
	}
	if facts.Pool != "" && (c.Pool() == nil || c.Pool().Name() != facts.Pool) {
		return fmt.Errorf("pool: %q is not what the code gave the command: leave it out, or name that pool", facts.Pool)
	}
	if facts.Bulkhead != "" && (c.Bulkhead() == nil || c.Bulkhead().Name() != facts.Bulkhead) {
		return fmt.Errorf("bulkhead: %q is not what the code gave the command: leave it out, or name that bulkhead", facts.Bulkhead)
	}
	return nil
}

// reconcile takes up what the code has changed behind the registry's back: those values are the code's now.
func (e *entry) reconcile() {
	now := e.read()
	if now == e.last {
		return
	}
	changed := difference(encode(reflect.ValueOf(now)), encode(reflect.ValueOf(e.last)))
	e.code = e.code.over(changed)
	e.last = now
}
