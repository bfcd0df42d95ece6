package jvm_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loadline-dev/loadline/internal/lab/jvm"
)

func TestACommandRunsTheSourceAsItStands(t *testing.T) {
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("no JDK: tools/install-deps.sh installs one where it can")
	}
	cache := t.TempDir()
	program := jvm.Service()
	program.ClassPath, program.Options = "a.jar:b.jar", []string{"-Xmx64m"}
	command, err := program.Command(cache, []string{"--listen=127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-Xmx64m", "-cp", "a.jar:b.jar", command[4], "--listen=127.0.0.1:1"}
	if !slices.Equal(command[1:], want) || filepath.Base(command[4]) != "Service.java" {
		t.Errorf("%q", command)
	}
	kept, err := os.ReadFile(command[4])
	if err != nil || string(kept) != string(program.Source) {
		t.Errorf("%v: the source differs", err)
	}
	again, err := program.Command(cache, nil)
	if err != nil || again[4] != command[4] {
		t.Errorf("%q, %v: the same source has another place", again, err)
	}
}

func TestAMachineWithoutJavaIsToldWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := jvm.Service().Command(t.TempDir(), nil); !errors.Is(err, jvm.ErrNoJava) {
		t.Errorf("%v", err)
	}
}
