package sizing_test

import (
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/sizing"
)

func ExampleSize() {
	r, err := sizing.Size(sizing.Input{RatePerSec: 3000, ServiceTime: 20 * time.Millisecond, Downstream: 80, Replicas: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("workers", r.Workers.Minimum, "to", r.Workers.Recommended, "at most", *r.WorkersCap)
	fmt.Println(r.Steps[0])
	fmt.Println(r.Steps[1])
	// Output:
	// workers 30 to 40 at most 40
	// 3000/s over 2 replicas = 1500/s each; all figures are for one replica
	// workers at least 1500/s × 20 ms = 30 busy on average, so 30
}
