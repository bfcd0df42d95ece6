package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/loadline-dev/loadline/internal/analysis/search"
	"github.com/loadline-dev/loadline/internal/analysis/slo"
	"github.com/loadline-dev/loadline/internal/archive"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// SearchConfig says which load line to look for. Plan's steps of load are not used; its model, think time and arrivals are.
type SearchConfig struct {
	Config
	Objective  slo.SLO
	Max        float64       // the largest load to try
	Resolution float64       // relative width at which the bracket is closed; 0: the search's default
	Expected   float64       // load that the service is meant for; 0: unknown
	Budget     time.Duration // wall time for all settings together; 0: none
}

// Line is what the search found for one setting.
type Line struct {
	Setting record.Setting
	Result  search.Result
}

// Find searches the load line of every setting of the plan, one after the other; each setting begins where its neighbour's line lay.
// Every trial is a cell of the archive. It returns the lines found so far together with the error that ended it early.
func Find(ctx context.Context, cfg SearchConfig) ([]Line, archive.RunEnd, error) {
	if err := cfg.Validate(); err != nil {
		return nil, archive.RunEnd{}, err
	}
	f := &finder{SearchConfig: cfg, runner: &runner{Config: cfg.Config, tell: newTeller(troubleOnce(cfg.Listener))}, began: time.Now()}
	lines, err := f.all(ctx)
	if stopErr := f.runner.fleet.stopAll(context.WithoutCancel(ctx)); err == nil {
		err = stopErr
	}
	end := archive.RunEnd{Ended: cfg.Now()}
	if err != nil {
		end.Partial, end.Interrupted = true, reason(ctx, err)
	}
	return lines, end, err
}

// troubleOnce tells of the same trouble once, whatever its figures: a search has many trials, and each would say it again.
func troubleOnce(listener func(Event)) func(Event) {
	if listener == nil {
		return nil
	}
	told := map[string]bool{}
	return func(e Event) {
		if e.Kind == Trouble {
			text := strings.Map(withoutDigits, e.Err.Error())
			if told[text] {
				return
			}
			told[text] = true
		}
		listener(e)
	}
}

func withoutDigits(r rune) rune {
	if unicode.IsDigit(r) {
		return -1
	}
	return r
}

type finder struct {
	SearchConfig
	runner *runner
	began  time.Time
	cells  int // begun so far
}

func (f *finder) all(ctx context.Context) ([]Line, error) {
	var lines []Line
	settings := f.Plan.Settings()
	seed := 0.0
	for i, setting := range settings {
		line, err := f.one(ctx, setting, seed, f.share(len(settings)-i))
		if line != nil {
			lines = append(lines, *line)
			if v := line.Result.Estimate; v != nil {
				seed = *v
			}
		}
		if err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// share is the part of the remaining budget that belongs to the next of so many settings; 0 where there is no budget.
func (f *finder) share(settings int) time.Duration {
	if f.Budget <= 0 {
		return 0
	}
	return max(f.Budget-time.Since(f.began), time.Second) / time.Duration(settings)
}

func (f *finder) one(ctx context.Context, setting record.Setting, seed float64, budget time.Duration) (*Line, error) {
	deadline := time.Now().Add(budget)
	expanded, err := f.Plan.ForSetting(setting)
	if err != nil {
		return nil, err
	}
	if err := f.runner.prepare(ctx, expanded, plan.Cell{Setting: setting}); err != nil {
		return nil, err
	}
	terms, err := termsOf(f.Objective)
	if err != nil {
		return nil, err
	}
	s, err := search.New(f.searchConfig(terms, seed, budget, f.runner.admits(ctx, expanded)))
	if err != nil {
		return nil, err
	}
	t := &trials{finder: f, expanded: expanded, terms: terms}
	err = f.drive(ctx, s, t, budget, deadline)
	_, endErr := t.end()
	if err = errors.Join(err, endErr); err != nil {
		s.Stop(reason(ctx, err))
	}
	return &Line{Setting: setting, Result: s.Result()}, err
}

func (f *finder) searchConfig(terms terms, seed float64, budget time.Duration, admits admission) search.Config {
	kind := search.Concurrency
	if f.Plan.Load.Model == record.Open {
		kind = search.Rate
	}
	return search.Config{Kind: kind, Max: f.Max, Seed: seed, Constraints: terms.constraints(), Resolution: f.Resolution,
		// Ramps and pauses between trials are not measured time: they take about a fifth.
		MaxSeconds: 0.8 * budget.Seconds(), Admits: admits.most, AdmitsKnown: admits.known, Expected: f.Expected}
}

// drive asks the search for trials and runs them until it ends or the time is over.
func (f *finder) drive(ctx context.Context, s *search.Search, t *trials, budget time.Duration, deadline time.Time) error {
	var last search.Trial
	for {
		trial, ok := s.Next()
		switch {
		case !ok:
			return nil
		case f.Budget > 0 && time.Now().After(deadline):
			s.Stop(fmt.Sprintf("the setting's %v of wall time are used up", budget.Round(time.Second)))
			return nil
		case t.running != nil && !t.carries(trial):
			// What the end of the load shows may change the mind of the search, so it is asked again.
			if err := f.takeOff(s, t, last); err != nil {
				return err
			}
			continue
		}
		seen, err := t.batch(ctx, trial)
		if err != nil {
			return err
		}
		if err := s.Report(trial, seen); err != nil {
			return fmt.Errorf("search: %w", err)
		}
		last = trial
		f.runner.tell.event(Event{Kind: Searched, Cell: t.cell(trial), Trial: trial, Line: s.Result()})
	}
}

// takeOff ends the load of a trial and reports what was overdue then.
func (f *finder) takeOff(s *search.Search, t *trials, last search.Trial) error {
	cut, err := t.end()
	if err != nil {
		return err
	}
	overdue, ok := t.terms.overdue(cut)
	if !ok || last.Purpose == search.Overload || last.Purpose == search.SweepDown {
		return nil
	}
	last.Continue = true
	return s.Report(last, overdue)
}
