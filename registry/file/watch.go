package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/registry"
)

// Config describes a watcher.
type Config struct {
	// Path is the file: YAML or JSON, or Hystrix properties where it ends in .properties. Required.
	Path string
	// Registry takes the settings. Required.
	Registry *registry.Registry
	// Interval is how often the file is looked at: 100 ms to 1 h, 2 s by default. A change is taken up once two looks saw the same, so
	// that a file is not taken while it is written; it is in force after one to two intervals.
	Interval time.Duration
	// OnEvent learns of each change that was taken up and of each that was refused or could not be read, once each. May be nil.
	OnEvent func(Event)
}

// Event is what came of a changed file.
type Event struct {
	Result   registry.Result    // where Err is nil
	Findings []registry.Finding // of Hystrix properties: their traps
	Err      error              // the old settings are in force
}

const (
	defaultInterval = 2 * time.Second
	minInterval     = 100 * time.Millisecond
	maxInterval     = time.Hour
)

// Validate reports every fault of the configuration. It changes nothing.
func (c Config) Validate() error {
	var faults []error
	if c.Path == "" {
		faults = append(faults, wrong("Path", "empty: name the settings file"))
	}
	if c.Registry == nil {
		faults = append(faults, wrong("Registry", "nil: the registry that takes the settings is required"))
	}
	if c.Interval != 0 && (c.Interval < minInterval || c.Interval > maxInterval) {
		faults = append(faults, wrong("Interval", "%v: %v to %v are allowed, or 0 for %v", c.Interval, minInterval, maxInterval, defaultInterval))
	}
	return errors.Join(faults...)
}

func wrong(field, format string, args ...any) error {
	return fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...))
}

// Watcher follows one file. It looks at the content and not at the file's date, so that links that are exchanged (as mounted
// configuration is) and clocks that jump are no matter. Apply and Run are for one goroutine at a time.
type Watcher struct {
	config Config
	taken  []byte // the content that was last tried
	failed string // the last error told, so that it is told once
}

// New returns a watcher that has not looked yet.
func New(config Config) (*Watcher, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("settings file: %w", err)
	}
	if config.Interval == 0 {
		config.Interval = defaultInterval
	}
	return &Watcher{config: config}, nil
}

// Apply reads the file now and puts it in force.
func (w *Watcher) Apply() (registry.Result, error) {
	text, err := read(w.config.Path)
	if err != nil {
		return registry.Result{}, err
	}
	e := w.take(text)
	return e.Result, e.Err
}

func (w *Watcher) take(text []byte) Event {
	w.taken, w.failed = text, ""
	if w.taken == nil {
		w.taken = []byte{}
	}
	d, findings, err := document(w.config.Registry, w.config.Path, text)
	e := Event{Findings: findings, Err: err}
	if err != nil {
		return e
	}
	if e.Result, err = w.config.Registry.Apply(d, registry.By("file "+w.config.Path)); err != nil {
		e.Err = fmt.Errorf("%s: %w", w.config.Path, err)
	}
	return e
}

// Run looks at the file until ctx ends, whose cause it returns. A file that is missing, faulty or refused leaves the settings as they
// are; it is tried again when it changes.
func (w *Watcher) Run(ctx context.Context) error {
	ticker := time.NewTicker(w.config.Interval)
	defer ticker.Stop()
	var before []byte
	for {
		text, err := read(w.config.Path)
		switch {
		case err != nil:
			w.tell(Event{Err: err})
		case w.taken != nil && bytes.Equal(text, w.taken):
			w.failed = ""
		case before != nil && bytes.Equal(text, before):
			e := w.take(text)
			w.report(e)
		}
		before = text
		if err == nil && before == nil {
			before = []byte{}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// tell reports a failure to read unless it is the one told last.
func (w *Watcher) tell(e Event) {
	if text := e.Err.Error(); text != w.failed {
		w.failed = text
		w.report(e)
	}
}

func (w *Watcher) report(e Event) {
	if w.config.OnEvent != nil {
		w.config.OnEvent(e)
	}
}
