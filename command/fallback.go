package command

import (
	"context"
	"errors"
)

// instead is what the caller gets when the execution brought no value: the fallback's answer, or the cause. An outcome that is the caller's
// own doing has no fallback.
func (c *Command[T]) instead(ctx context.Context, g *gear, outcome Outcome, cause error) (T, error) {
	var none T
	m := &c.meters
	switch {
	case outcome == Cancelled, outcome == BadRequest:
		return none, cause
	case g.settings.NoFallback:
		m.fallbacks[fallbackDisabled].Add(1)
		return none, cause
	case c.fallback == nil:
		m.fallbacks[fallbackMissing].Add(1)
		return none, cause
	case !m.admitFallback(g.settings.FallbackMax):
		m.fallbacks[fallbackRejected].Add(1)
		return none, c.both(outcome, cause, ErrFallbackRejected)
	}
	ended := fallbackFailed // unless it returns without an error
	defer func() {
		m.fallingBack.Add(-1)
		m.fallbacks[ended].Add(1)
	}()
	value, err := c.fallback(ctx, cause)
	if err != nil {
		return none, c.both(outcome, cause, err)
	}
	ended = fallbackSucceeded
	return value, nil
}

// both is the error of a call that neither the execution nor the fallback answered.
func (c *Control) both(outcome Outcome, cause, fallback error) error {
	var own *Error
	if errors.As(cause, &own) && own.Command == c.name {
		cause = own.Cause
	}
	return &Error{Command: c.name, Outcome: outcome, Cause: cause, Fallback: fallback}
}

// admitFallback takes one of the fallback's permits; a maximum of 0 means any number.
func (m *meters) admitFallback(most int) bool {
	for {
		n := m.fallingBack.Load()
		if most > 0 && n >= int64(most) {
			return false
		}
		if m.fallingBack.CompareAndSwap(n, n+1) {
			return true
		}
	}
}
