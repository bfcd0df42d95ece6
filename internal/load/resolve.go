package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
)

// resolve gives all addresses of an endpoint.
func resolve(ctx context.Context, e endpoint) ([]netip.AddrPort, error) {
	port, err := strconv.ParseUint(e.port, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("target: found port %q, allowed: 1 to 65535", e.port)
	}
	if addr, err := netip.ParseAddr(e.host); err == nil {
		return []netip.AddrPort{netip.AddrPortFrom(addr.Unmap(), uint16(port))}, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", e.host)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	var out []netip.AddrPort
	for _, a := range found {
		out = append(out, netip.AddrPortFrom(a.Unmap(), uint16(port)))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %s has no address", ErrUnreachable, e.host)
	}
	return out, nil
}

// answering leaves out the addresses that refuse where another accepts: localhost often names two, and a server listens on one.
func answering(ctx context.Context, addrs []netip.AddrPort) ([]netip.AddrPort, error) {
	if len(addrs) < 2 {
		return addrs, nil
	}
	var out []netip.AddrPort
	var faults []error
	for _, a := range addrs {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", a.String())
		if err != nil {
			faults = append(faults, err)
			continue
		}
		out = append(out, a)
		if err := c.Close(); err != nil {
			return nil, fmt.Errorf("target: probe: %w", err)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, errors.Join(faults...))
	}
	return out, nil
}
