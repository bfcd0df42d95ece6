package cli

import (
	"errors"
	"fmt"
	"os"

	"github.com/loadline-dev/loadline/internal/interchange"
	"github.com/loadline-dev/loadline/internal/record"
)

// sampleFiles keep single requests. The zero value keeps none.
type sampleFiles struct {
	files   []*os.File
	compact *interchange.SampleWriter
	jtl     *interchange.JTLWriter
}

// openSamples creates the files; an empty name is none. They are written as requests end, so that a kill leaves what there was.
func openSamples(env Env, compact, jtl string) (*sampleFiles, error) {
	s := &sampleFiles{}
	if compact != "" {
		f, err := s.create(env, compact)
		if err != nil {
			return nil, err
		}
		if s.compact, err = interchange.NewSampleWriter(f); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	if jtl != "" {
		f, err := s.create(env, jtl)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.jtl = interchange.NewJTLWriter(f)
	}
	return s, nil
}

func (s *sampleFiles) create(env Env, name string) (*os.File, error) {
	f, err := os.Create(env.path(name))
	if err != nil {
		return nil, fail(Usage, fmt.Errorf("write %s: %w", name, err), "name a file in a folder that exists and can be written")
	}
	s.files = append(s.files, f)
	return f, nil
}

// of is what takes a cell's samples; nil where none are kept.
func (s *sampleFiles) of(cell interchange.SampledCell) func([]record.Sample) error {
	if len(s.files) == 0 {
		return nil
	}
	begun := false
	return func(samples []record.Sample) error {
		if s.compact != nil {
			if !begun {
				if err := s.compact.Cell(cell); err != nil {
					return err
				}
				begun = true
			}
			if err := errors.Join(s.compact.Append(samples), s.compact.Flush()); err != nil {
				return err
			}
		}
		if s.jtl != nil {
			return s.jtl.Append(cell, samples)
		}
		return nil
	}
}

// ofCell is what takes the samples of an experiment's cell.
func (s *sampleFiles) ofCell(cell record.Cell, target string) func([]record.Sample) error {
	return s.of(interchange.SampledCell{Setting: cell.Setting, Repeat: cell.Repeat, Load: cell.Load, Started: cell.Started, Target: target})
}

func (s *sampleFiles) close() error {
	var faults []error
	if s.compact != nil {
		faults = append(faults, s.compact.Close())
	}
	if s.jtl != nil {
		faults = append(faults, s.jtl.Close())
	}
	for _, f := range s.files {
		faults = append(faults, f.Close())
	}
	return errors.Join(faults...)
}
