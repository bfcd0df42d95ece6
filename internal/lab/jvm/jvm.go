// Package jvm runs the lab's Java sources on the machine's JDK: Service.java needs nothing else. The process becomes the JVM, so that who
// started it observes, dumps and ends the JVM itself.
package jvm

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

//go:embed Service.java
var service []byte

// ErrNoJava is wrapped where no JDK is installed.
var ErrNoJava = errors.New("no JDK is installed")

// Program is a Java source with what it needs.
type Program struct {
	Name      string // of the class, and so of the file
	Source    []byte
	ClassPath string   // empty: the JDK alone
	Options   []string // of the JVM
}

// Service is the small service of the JDK alone.
func Service() Program { return Program{Name: "Service", Source: service} }

// Command is the program as a command line: its source is written below cache, a folder that is made where it is missing. The error wraps
// ErrNoJava where there is no JDK.
func (p Program) Command(cache string, arguments []string) ([]string, error) {
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("%w: install Debian's default-jdk-headless, or put java on the PATH", ErrNoJava)
	}
	sum := sha256.Sum256(p.Source)
	folder := filepath.Join(cache, hex.EncodeToString(sum[:8]))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("keep the Java source: %w", err)
	}
	file := filepath.Join(folder, p.Name+".java")
	if err := os.WriteFile(file, p.Source, 0o644); err != nil {
		return nil, fmt.Errorf("keep the Java source: %w", err)
	}
	command := append([]string{java}, p.Options...)
	if p.ClassPath != "" {
		command = append(command, "-cp", p.ClassPath)
	}
	return append(append(command, file), arguments...), nil
}

// Exec makes this process the program. It returns only with an error.
func (p Program) Exec(cache string, arguments, environ []string) error {
	command, err := p.Command(cache, arguments)
	if err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", command[0], syscall.Exec(command[0], command, environ))
}
