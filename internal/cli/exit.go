package cli

import (
	"errors"
	"fmt"
)

// Code is an exit code; docs/exit-codes.md lists them for users.
type Code int

// The exit codes. Where several apply to a run, the first of 7, 1, 4, 6, 5, 0 is given.
const (
	Done        Code = 0 // done, and where an SLO was given it holds
	Internal    Code = 1 // a fault of Loadline's own
	Usage       Code = 2 // wrong flags or arguments, or a host that is not allowed
	Invalid     Code = 3 // an invalid plan, configuration or file
	Unreachable Code = 4 // the target or a service does not answer
	Missed      Code = 5 // the SLO is missed, or a regression found
	NoEvidence  Code = 6 // too few samples, no steady state, or the generator at its limit
	Interrupted Code = 7 // ended by the user; results so far are kept and marked partial
	BadArchive  Code = 8 // the archive cannot be read, or is newer than the program
)

// fault is an error with its exit code and advice for the user.
type fault struct {
	code Code
	err  error
	hint string
}

func (f *fault) Error() string { return f.err.Error() }
func (f *fault) Unwrap() error { return f.err }
func (f *fault) Hint() string  { return f.hint }

// fail wraps err with the code it exits with and what to do next; an empty hint leaves the error's own.
func fail(code Code, err error, hint string) error {
	if err == nil {
		return nil
	}
	return &fault{code: code, err: err, hint: hint}
}

// usagef is a usage fault.
func usagef(hint, format string, args ...any) error {
	return fail(Usage, fmt.Errorf(format, args...), hint)
}

// codeOf finds the exit code of an error: that of the outermost fault, else Internal.
func codeOf(err error) Code {
	var f *fault
	if errors.As(err, &f) {
		return f.code
	}
	return Internal
}

// hintOf finds the advice that an error carries, that of the first where several were joined.
func hintOf(err error) string {
	if h, ok := err.(interface{ Hint() string }); ok && h.Hint() != "" {
		return h.Hint()
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return hintOf(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if h := hintOf(one); h != "" {
				return h
			}
		}
	}
	return ""
}
