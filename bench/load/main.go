// Command load measures what a request costs load generators: CPU time of the generator's process, user and system, per request, all in
// one interleaved run against the same server. The generator runs on one core, the server on another. Tools that are not installed are
// left out and named.
//
//	go run ./load -seconds 8 -rounds 5 -connections 50,200,1000
//	go run ./load -soak 10m -target echo
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

type options struct {
	seconds     int
	rounds      int
	connections []int
	tools       []string
	target      string // nginx, sleep or echo
	soak        time.Duration
	generator   int // core
	server      int // core
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	loadline, err := build(ctx, dir)
	if err != nil {
		return err
	}
	tools, missing := find(toolbox(loadline), o.tools)
	if len(missing) > 0 {
		fmt.Fprintf(os.Stderr, "left out, not installed: %s\n", strings.Join(missing, ", "))
	}
	server, err := start(ctx, o, loadline, dir)
	if err != nil {
		return err
	}
	defer server.stop()
	if o.soak > 0 {
		return soak(ctx, o, loadline, server.url, o.soak, os.Stdout)
	}
	results := map[key][]sample{}
	for round := range o.rounds {
		for _, conns := range o.connections {
			for _, t := range tools {
				s, err := measure(ctx, t, o, server.url, conns)
				if err != nil {
					return fmt.Errorf("%s with %d connections: %w", t.name, conns, err)
				}
				results[key{t.name, conns}] = append(results[key{t.name, conns}], s)
				fmt.Fprintf(os.Stderr, "round %d: %-16s %5d connections: %6.2f µs, %d requests\n", round+1, t.name, conns, s.perRequest, s.requests)
			}
		}
	}
	report(os.Stdout, o, tools, results)
	return nil
}

func parse(args []string) (options, error) {
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	var o options
	f.IntVar(&o.seconds, "seconds", 8, "length of one measurement")
	f.IntVar(&o.rounds, "rounds", 5, "measurements of each tool; medians are shown")
	f.DurationVar(&o.soak, "soak", 0, "run loadline alone for so long instead, and fail when its memory grows")
	f.StringVar(&o.target, "target", "nginx", "nginx, sleep (20 ms) or echo")
	f.IntVar(&o.generator, "generator-core", 0, "core of the generator")
	f.IntVar(&o.server, "server-core", 1, "core of the server")
	connections := f.String("connections", "50,200,1000", "numbers of connections")
	tools := f.String("tools", "", "names of tools, all when empty")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	for _, text := range strings.Split(*connections, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return o, fmt.Errorf("connections: found %q, allowed: numbers joined by commas", text)
		}
		o.connections = append(o.connections, n)
	}
	if *tools != "" {
		o.tools = strings.Split(*tools, ",")
	}
	return o, nil
}

const settle = 300 * time.Millisecond
