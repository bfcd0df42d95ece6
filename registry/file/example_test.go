package file_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/loadline-dev/loadline/pool"
	"github.com/loadline-dev/loadline/registry"
	"github.com/loadline-dev/loadline/registry/file"
)

func ExampleWatcher() {
	dir, err := os.MkdirTemp("", "settings")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "settings.yaml")
	if err := os.WriteFile(name, []byte("pools: {biz: {core: 30, max: 50}}\n"), 0o600); err != nil {
		panic(err)
	}
	r, err := registry.New(registry.Config{})
	if err != nil {
		panic(err)
	}
	biz, err := r.NewPool(pool.Config{Name: "biz", Settings: pool.Settings{Core: 10, Max: 20}})
	if err != nil {
		panic(err)
	}
	defer biz.Close()

	w, err := file.New(file.Config{Path: name, Registry: r, OnEvent: func(e file.Event) { fmt.Println("changed:", e.Err) }})
	if err != nil {
		panic(err)
	}
	if _, err := w.Apply(); err != nil {
		panic(err) // A faulty file is a reason not to begin.
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- w.Run(ctx) }() // From now on a faulty file leaves the settings as they are.
	fmt.Println(biz.Settings().Core, biz.Settings().Max)
	stop()
	fmt.Println(<-done)
	// Output:
	// 30 50
	// context canceled
}
