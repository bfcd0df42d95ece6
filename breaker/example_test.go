package breaker_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/loadline-dev/loadline/breaker"
)

func Example() {
	b, err := breaker.New(breaker.Config{
		Name:     "price",
		Settings: breaker.Settings{MinVolume: 3, SleepWindow: time.Minute},
		OnChange: func(c breaker.Change) { fmt.Println(c.Breaker, "is", c.To, "because of", c.Reason) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 4 {
		err := b.Do(func() error { return errors.New("no answer") })
		fmt.Println(err)
	}
	// Output:
	// no answer
	// no answer
	// price is open because of failure ratio
	// no answer
	// breaker "price": breaker open
}

func ExampleBreaker_Allow() {
	b, err := breaker.New(breaker.Config{Name: "price"})
	if err != nil {
		fmt.Println(err)
		return
	}
	permit, err := b.Allow()
	if errors.Is(err, breaker.ErrOpen) {
		fmt.Println("refused")
		return
	}
	defer permit.Done(breaker.Failure) // a panic would count as a failure
	permit.Done(breaker.Success)
	fmt.Println(b.Snapshot().Total.Calls, "call")
	// Output: 1 call
}

func ExampleBreaker_Apply() {
	b, err := breaker.New(breaker.Config{Name: "price", Settings: breaker.HystrixSettings()})
	if err != nil {
		fmt.Println(err)
		return
	}
	settings := b.Settings()
	settings.FailureRatio = 0.25
	fmt.Println(b.Apply(settings), b.Settings().FailureRatio)
	settings.FailureRatio = 25
	fmt.Println(b.Apply(settings))
	// Output:
	// <nil> 0.25
	// breaker "price": FailureRatio: 25: allowed 0.000001 to 1
}
