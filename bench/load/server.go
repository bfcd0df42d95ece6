package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// server is what receives the load.
type server struct {
	cmd *exec.Cmd
	url string
}

const nginxConfig = `
daemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log %[1]s/error.log;
worker_rlimit_nofile 65536;
events { worker_connections 30000; multi_accept on; }
http {
  access_log off;
  keepalive_requests 1000000000;
  keepalive_timeout 600s;
  server { listen 127.0.0.1:%[2]d backlog=65535; location / { return 200 "ok"; } }
}
`

func start(ctx context.Context, o options, loadline, dir string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s := &server{url: fmt.Sprintf("http://127.0.0.1:%d", port)}
	listen := fmt.Sprintf("--listen=127.0.0.1:%d", port)
	switch o.target {
	case "nginx":
		file := filepath.Join(dir, "nginx.conf")
		if err := os.WriteFile(file, fmt.Appendf(nil, nginxConfig, dir, port), 0o600); err != nil {
			return nil, err
		}
		s.cmd = pinned(ctx, o.server, "nginx", "-c", file, "-p", dir)
	case "echo":
		s.cmd = pinned(ctx, o.server, loadline, "lab", "echo", listen)
	case "sleep":
		s.cmd = pinned(ctx, o.server, loadline, "lab", "sleep", listen)
		s.url += "/sleep/20"
	default:
		return nil, fmt.Errorf("target: found %q, allowed: nginx, echo, sleep", o.target)
	}
	s.cmd.Stderr = os.Stderr
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	if err := s.ready(ctx); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			return resp.Body.Close()
		}
		if ctx.Err() != nil {
			return fmt.Errorf("the server did not answer: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (s *server) stop() {
	// SIGTERM first: nginx has a worker that would stay.
	_ = s.cmd.Process.Signal(os.Interrupt)
	_ = s.cmd.Wait()
}
