package process

// FindIn is Find with another proc.
func FindIn(proc, what string) (int, error) { return findIn(proc, what) }
