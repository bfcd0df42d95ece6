//go:build !linux

package observe

import "time"

// threadCPU is not told by this system.
func threadCPU() time.Duration { return 0 }
