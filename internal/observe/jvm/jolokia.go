package jvm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/loadline-dev/loadline/internal/observe"
	"github.com/loadline-dev/loadline/internal/parse/jolokia"
)

// JolokiaConfig names an agent.
type JolokiaConfig struct {
	Service string            // the name that samples carry; required
	URL     string            // of the agent, such as http://127.0.0.1:8778/jolokia/; required
	Header  http.Header       // sent with every request, such as Authorization
	Client  http.RoundTripper // default: a transport of its own with one kept connection, without a proxy
}

// Validate joins all faults.
func (c JolokiaConfig) Validate() error {
	var faults []error
	if c.Service == "" {
		faults = append(faults, errors.New("field Service: found none, want the service's name"))
	}
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" {
		faults = append(faults, fmt.Errorf("field URL: found %q, want http://HOST:PORT/jolokia/", c.URL))
	}
	return errors.Join(faults...)
}

// Jolokia samples the pools that a JVM's MBeans show. It is for one goroutine at a time.
type Jolokia struct {
	config  JolokiaConfig
	own     *http.Transport // nil where the config has one
	request []byte
}

// NewJolokia makes one. Nothing is asked yet.
func NewJolokia(c JolokiaConfig) (*Jolokia, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("jolokia: %w", err)
	}
	request, err := jolokia.Request()
	if err != nil {
		return nil, fmt.Errorf("jolokia: %w", err)
	}
	out := &Jolokia{config: c, request: request}
	if c.Client == nil {
		out.own = &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}
		out.config.Client = out.own
	}
	return out, nil
}

// Source is the agent's address.
func (j *Jolokia) Source() string { return j.config.URL }

// Close ends the kept connection.
func (j *Jolokia) Close() error {
	if j.own != nil {
		j.own.CloseIdleConnections()
	}
	return nil
}

// Collect asks once. Samples carry the middle of the time between asking and the answer's first byte.
func (j *Jolokia) Collect(ctx context.Context, clock observe.Clock) (observe.Batch, error) {
	const most = 16 << 20
	asked := clock()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, j.config.URL, bytes.NewReader(j.request))
	if err != nil {
		return observe.Batch{}, err
	}
	for name, values := range j.config.Header {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := j.config.Client.RoundTrip(request)
	if err != nil {
		return observe.Batch{}, err
	}
	defer answer.Body.Close()
	at := asked + (clock()-asked)/2
	if answer.StatusCode != http.StatusOK {
		return observe.Batch{}, fmt.Errorf("found status %s, want 200 OK from Jolokia", answer.Status)
	}
	pools, err := jolokia.Read(io.LimitReader(answer.Body, most))
	for i := range pools {
		pools[i].Service, pools[i].At = j.config.Service, at
	}
	return observe.Batch{Pools: pools}, err
}
