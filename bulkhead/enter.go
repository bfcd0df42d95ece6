package bulkhead

import "context"

// Enter is Acquire for a caller who pairs it with Leave by construction, such as package command: it saves the permit and with it the guard
// against a second release. It is neither measured by Config.MeasureHold nor listed by Config.TrackHolders.
func (b *Bulkhead) Enter(ctx context.Context) error {
	if word, ok := b.take(1); !ok {
		return b.acquireSlow(ctx, word, 1)
	}
	return nil
}

// Leave gives back what Enter took. Call it exactly once for each Enter that returned nil.
func (b *Bulkhead) Leave() {
	if someWait(b.word.Add(^uint64(0))) {
		b.serve()
	}
}
