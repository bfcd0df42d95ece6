// Command loadline finds the load line of a service: the largest load it carries within its SLO, and the limit that binds there.
package main

import (
	"context"
	"os"
	"time"

	"github.com/loadline-dev/loadline/internal/cli"
)

func main() {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	os.Exit(cli.Run(context.Background(), cli.Env{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Environ: os.Environ(), Dir: dir, Now: time.Now,
	}))
}
