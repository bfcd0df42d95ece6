package bulkhead_test

import (
	"context"
	"fmt"

	"github.com/loadline-dev/loadline/bulkhead"
)

func ExampleBulkhead_Acquire() {
	b, err := bulkhead.New(bulkhead.Config{Name: "price", Settings: bulkhead.Settings{Permits: 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	permit, err := b.Acquire(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer permit.Release()
	_, err = b.Acquire(context.Background()) // nobody may wait, by default
	fmt.Println(err)
	permit.Release() // early; the deferred one then does nothing
	fmt.Println(b.Snapshot().InUse)
	// Output:
	// bulkhead "price": rejected: full: asked for 1, 1 of 1 permits in use, others waiting: false
	// 0
}

func ExampleCall() {
	b, err := bulkhead.New(bulkhead.Config{Name: "price", Settings: bulkhead.Settings{Permits: 30}})
	if err != nil {
		fmt.Println(err)
		return
	}
	price, err := bulkhead.Call(context.Background(), b, func() (int, error) { return 1999, nil })
	fmt.Println(price, err)
	// Output: 1999 <nil>
}
