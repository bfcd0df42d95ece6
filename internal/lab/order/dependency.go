package order

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// dependency calls the price service over kept connections.
type dependency struct {
	transport *http.Transport
	request   *http.Request // copied for each call
}

// idleConnections is how many connections are kept between calls; at least as many as calls that run at once, or every burst would open
// new ones.
const idleConnections = 10_000

func newDependency(url string) (*dependency, error) {
	request, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return nil, fmt.Errorf("price: %w", err)
	}
	return &dependency{
		request: request,
		transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
			MaxIdleConns:        idleConnections,
			MaxIdleConnsPerHost: idleConnections,
			IdleConnTimeout:     2 * time.Minute,
			DisableCompression:  true,
			ReadBufferSize:      2 << 10,
			WriteBufferSize:     2 << 10,
		},
	}, nil
}

// maxPrice bounds what is read of an answer.
const maxPrice = 64 << 10

// get calls the dependency.
func (d *dependency) get(ctx context.Context) ([]byte, error) {
	// Note: the transport itself is called; http.Client adds redirects and cookies, which this call has no use for, at some microseconds.
	response, err := d.transport.RoundTrip(d.request.WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("price: %w", err)
	}
	defer response.Body.Close()
	size := response.ContentLength
	if size < 0 || size > maxPrice {
		size = maxPrice
	}
	body := make([]byte, size)
	n, err := io.ReadFull(response.Body, body)
	if err != nil && (response.ContentLength >= 0 || err != io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("price: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("price: %s", response.Status)
	}
	return body[:n], nil
}

func (d *dependency) close() { d.transport.CloseIdleConnections() }
