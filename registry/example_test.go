package registry_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
)

func Example() {
	r, err := registry.New(registry.Config{})
	if err != nil {
		panic(err)
	}
	biz, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 10, Max: 20, Queue: 50}})
	if err != nil {
		panic(err)
	}
	defer biz.Close()

	document, err := registry.ParseDocument([]byte(`{"pools": {"biz": {"core": 30, "max": 50}}}`))
	if err != nil {
		panic(err)
	}
	result, err := r.Apply(document, registry.By("deploy 1.4"))
	if err != nil {
		panic(err)
	}
	for _, e := range result.Changed {
		fmt.Println(e.Name, e.Key, e.Before, "->", e.After)
	}
	for _, s := range r.Settings() {
		if s.Key == "core" || s.Key == "queue" || s.Key == "keep_alive" {
			fmt.Println(s.Key, s.Value, "from", s.Origin)
		}
	}
	// Output:
	// biz core 10 -> 30
	// biz max 20 -> 50
	// core 30 from file
	// keep_alive 1m0s from default
	// queue 50 from code
}

// A change that the dependency does not bear is refused, and the old settings stay.
func ExampleRegistry_Override() {
	r, err := registry.New(registry.Config{Replicas: 4, Downstreams: map[string]registry.Downstream{"db": {Limit: 100}}})
	if err != nil {
		panic(err)
	}
	biz, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 20}})
	if err != nil {
		panic(err)
	}
	defer biz.Close()
	document, err := registry.ParseDocument([]byte(`{"pools": {"biz": {"downstream": "db"}}}`))
	if err != nil {
		panic(err)
	}
	if _, err := r.Apply(document); err != nil {
		panic(err)
	}
	_, err = r.Override(registry.Pool, "biz", registry.Section{"core": 40, "max": 40}, registry.By("ann"))
	fmt.Println(err)
	fmt.Println(biz.Settings().Max)
	// Output:
	// override of pool biz: refused
	// pool-above-downstream: db is asked for more than it bears: pool biz 40 × 4 replicas = 160 > 100; at most 100 ÷ 4 = 25 in each replica, or a larger limit of db first
	// 20
}

func ExampleRegistry_SetTier() {
	r, err := registry.New(registry.Config{})
	if err != nil {
		panic(err)
	}
	biz, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 30, Max: 50, Queue: 50}})
	if err != nil {
		panic(err)
	}
	defer biz.Close()
	document, err := registry.ParseDocument([]byte(`{"tiers": {
		"low":  {"pools": {"biz": {"core": 10, "max": 20}}},
		"peak": {"pools": {"biz": {"core": 40, "max": 60, "queue": 10}}}}}`))
	if err != nil {
		panic(err)
	}
	if _, err := r.Apply(document); err != nil {
		panic(err)
	}
	for _, tier := range []string{"peak", "low", ""} {
		if _, err := r.SetTier(tier); err != nil {
			panic(err)
		}
		s := biz.Settings()
		fmt.Printf("%q: %d/%d/%d\n", tier, s.Core, s.Max, s.Queue)
	}
	// Output:
	// "peak": 40/60/10
	// "low": 10/20/50
	// "": 30/50/50
}

// Pools that wait for each other are named before they deadlock.
func ExampleRegistry_NewPool() {
	r, err := registry.New(registry.Config{OnStarvation: func(f registry.Finding) { fmt.Println(f.Text) }})
	if err != nil {
		panic(err)
	}
	p, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 2, Queue: 2}})
	if err != nil {
		panic(err)
	}
	defer p.Close()
	_ = p.Do(context.Background(), func(ctx context.Context) error {
		return p.Do(ctx, func(context.Context) error { return nil })
	})
	// Output:
	// a task of pool biz waits for a task of pool biz itself: when all 2 workers wait so, none is left to work
}

func ExampleRegistry_Admin() {
	r, err := registry.New(registry.Config{})
	if err != nil {
		panic(err)
	}
	admin, err := r.Admin(registry.AdminConfig{})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/admin/", http.StripPrefix("/admin", admin))
	mux.Handle("/hystrix.stream", r.HystrixStream())

	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/admin/history", nil))
	fmt.Print(w.Code, " ", w.Header().Get("ETag"), " ", w.Body)
	// Output:
	// 200 "1" []
}
