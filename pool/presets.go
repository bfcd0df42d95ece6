package pool

// Fixed is the JDK's newFixedThreadPool: n workers and an unbounded queue. Give it a bound in Settings.Queue wherever callers wait.
func Fixed(name string, n int) Config {
	return Config{Name: name, Settings: Settings{Core: n, Max: n, Queue: Unbounded}}
}

// Cached is the JDK's newCachedThreadPool: no core worker, hand-off, as many workers as tasks (up to MaxWorkers), each kept for 60 s.
func Cached(name string) Config {
	return Config{Name: name, Settings: Settings{Max: MaxWorkers, KeepAlive: DefaultKeepAlive}}
}

// SingleWorker is the JDK's newSingleThreadExecutor: one worker and an unbounded queue, so that tasks run one after the other in the order
// in which they came. Live changes may undo that; nothing forbids them.
func SingleWorker(name string) Config {
	return Config{Name: name, Settings: Settings{Core: 1, Max: 1, Queue: Unbounded}}
}

// JSFFixed is JSF's server pool "fixed": 200 workers and a queue of 0, a hand-off. A queue below 0 is Unbounded there, above 0 bounded.
func JSFFixed(name string) Config {
	return Config{Name: name, Settings: Settings{Core: 200, Max: 200}}
}

// JSFCached is JSF's server pool "cached": 20 core workers, 200 at most, hand-off, those beyond core kept for 60 s.
func JSFCached(name string) Config {
	return Config{Name: name, Settings: Settings{Core: 20, Max: 200, KeepAlive: DefaultKeepAlive}}
}
