package launch_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is its own service: LAUNCH_TEST_ROLE says what it plays.
func TestMain(m *testing.M) {
	switch os.Getenv("LAUNCH_TEST_ROLE") {
	case "":
		goleak.VerifyTestMain(m)
	case "serve":
		serve()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		serve()
	case "grumble":
		fmt.Println("to stdout")
		for i := range 30 {
			fmt.Fprintf(os.Stderr, "grumble %d\n", i)
		}
		os.Exit(3)
	case "parent":
		parent()
	case "loadline":
		loadline()
	}
}

// serve listens where the first argument says, after the time in the second.
func serve() {
	if len(os.Args) > 2 {
		wait, err := time.ParseDuration(os.Args[2])
		if err != nil {
			panic(err)
		}
		<-time.After(wait)
	}
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	http.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ready") })
	http.HandleFunc("/broken", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	http.HandleFunc("/cpus", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, allowedCPUs(), " ", runtime.NumCPU()) })
	http.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getenv("COLOUR")) })
	fmt.Fprintln(os.Stderr, http.Serve(l, nil))
	os.Exit(1)
}

func allowedCPUs() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err.Error()
	}
	_, rest, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(list)
}

// parent has a child in its group which listens, and waits for it.
func parent() {
	child := exec.Command(os.Args[0], os.Args[1])
	child.Env = append(os.Environ(), "LAUNCH_TEST_ROLE=stubborn")
	child.Stderr = os.Stderr
	if err := child.Run(); err != nil {
		os.Exit(1)
	}
}
