package golang_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/observe/golang"
	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

// TestMain makes the test binary a Go program that waits, when it is asked to.
func TestMain(m *testing.M) {
	if os.Getenv("LOADLINE_TEST_WAIT") != "" {
		waitForever()
	}
	os.Exit(m.Run())
}

func waitForever() {
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestGoroutinesByURL(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	server := httptest.NewServer(mux)
	defer server.Close()
	for _, url := range []string{server.URL + "/debug/pprof", server.URL + "/debug/pprof/goroutine?debug=0"} {
		for _, counts := range []bool{false, true} {
			format, data, err := golang.Profile{URL: url, Counts: counts}.Dump(t.Context())
			if err != nil || format != string(threaddump.Go) {
				t.Fatalf("%s: %s, %v", url, format, err)
			}
			dumps, err := threaddump.All(bytes.NewReader(data))
			if err != nil || len(dumps) != 1 {
				t.Fatalf("%s: %d dumps, %v", url, len(dumps), err)
			}
			if !bytes.Contains(data, []byte("TestGoroutinesByURL")) {
				t.Error("this test's goroutine is missing")
			}
		}
	}
	_, _, err := golang.Profile{URL: server.URL + "/elsewhere"}.Dump(t.Context())
	if err == nil || !strings.Contains(err.Error(), "404") || !strings.Contains(err.Error(), "net/http/pprof") {
		t.Errorf("error %v, want the status and what to do", err)
	}
}

func TestAGoProgramEndsWithItsGoroutinesOnRequestAndOthersAreNotTouched(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LOADLINE_TEST_WAIT=1", "GOTRACEBACK=all")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := golang.Quit(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // It ends with status 2.
	dumps, err := threaddump.All(&stderr)
	if err != nil || len(dumps) != 1 {
		t.Fatalf("%d dumps, %v", len(dumps), err)
	}
	found := false
	for _, th := range dumps[0].Threads {
		for _, f := range th.Stack {
			found = found || strings.HasSuffix(f.Func, "golang_test.waitForever")
		}
	}
	if !found {
		t.Errorf("the waiting function is in no goroutine: %+v", dumps[0].Threads)
	}

	sleep := exec.Command("sleep", "100")
	if err := sleep.Start(); err != nil {
		t.Skip("no sleep here")
	}
	defer func() {
		_ = sleep.Process.Kill()
		_ = sleep.Wait()
	}()
	if err := golang.Quit(sleep.Process.Pid); !errors.Is(err, golang.ErrNotGo) {
		t.Errorf("error %v, want ErrNotGo", err)
	}
}
