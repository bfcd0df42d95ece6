// Package prometheus samples a service's metrics endpoint and maps what it finds to the one model of a pool.
package prometheus

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
	"github.com/loadline-dev/loadline/internal/parse/exposition"
)

// maxText is how much of an answer is read: a large Spring service tells about 1 MB.
const maxText = 32 << 20

// Config names the endpoint.
type Config struct {
	Service string            // the name that samples carry; required
	URL     string            // http or https; required
	Header  http.Header       // sent with every scrape, such as Authorization
	Client  http.RoundTripper // default: a transport of its own with one kept connection, without a proxy
}

// Validate joins all faults.
func (c Config) Validate() error {
	var faults []error
	if c.Service == "" {
		faults = append(faults, errors.New("field Service: found none, want the service's name"))
	}
	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		faults = append(faults, fmt.Errorf("field URL: found %q, want http://HOST:PORT/PATH or https://…", c.URL))
	}
	return errors.Join(faults...)
}

// Collector scrapes one endpoint. It is for one goroutine at a time.
type Collector struct {
	config Config
	own    *http.Transport // nil where the config has one
	marks  exposition.Marks
	buffer bytes.Buffer
}

// New makes a Collector. Nothing is asked yet.
func New(c Config) (*Collector, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("prometheus: %w", err)
	}
	out := &Collector{config: c}
	if c.Client == nil {
		out.own = &http.Transport{MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}
		out.config.Client = out.own
	}
	return out, nil
}

// Source is the endpoint's address.
func (c *Collector) Source() string { return c.config.URL }

// Close ends the kept connection.
func (c *Collector) Close() error {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}

// Collect scrapes once. The samples carry the middle of the time between asking and the answer's first byte, which is when the
// service looked at its figures as near as can be told.
func (c *Collector) Collect(ctx context.Context, clock observe.Clock) (observe.Batch, error) {
	asked := clock()
	answer, err := c.ask(ctx)
	if err != nil {
		return observe.Batch{}, err
	}
	defer answer.Body.Close()
	at := asked + (clock()-asked)/2
	c.buffer.Reset()
	n, err := io.Copy(&c.buffer, io.LimitReader(answer.Body, maxText+1))
	if err != nil {
		return observe.Batch{}, fmt.Errorf("read metrics: %w", err)
	}
	if n > maxText {
		return observe.Batch{}, fmt.Errorf("read metrics: found more than %d MiB, want the text of one service", maxText>>20)
	}
	if answer.StatusCode != http.StatusOK {
		return observe.Batch{}, fmt.Errorf("found status %s, want 200 OK with Prometheus text", answer.Status)
	}
	reading, err := exposition.Read(&c.buffer)
	return c.batch(reading, at), err
}

func (c *Collector) ask(ctx context.Context) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.config.URL, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range c.config.Header {
		request.Header[name] = values
	}
	request.Header.Set("Accept", "text/plain;version=0.0.4")
	return c.config.Client.RoundTrip(request)
}

func (c *Collector) batch(reading exposition.Reading, at time.Duration) observe.Batch {
	c.marks.Apply(&reading)
	out := observe.Batch{Pools: reading.Pools, Series: reading.Series}
	for i := range out.Pools {
		out.Pools[i].Service, out.Pools[i].At = c.config.Service, at
	}
	for i := range out.Series {
		out.Series[i].Source, out.Series[i].At = c.config.Service, at
	}
	return out
}
