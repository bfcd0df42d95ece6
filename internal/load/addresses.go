package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// book holds the addresses of a target. All are used in turn. A name is looked up again when its time has passed. It is safe for
// concurrent use.
type book struct {
	host    string
	port    uint16
	ttl     time.Duration
	current atomic.Pointer[[]int16] // which of all are in use
	turn    atomic.Uint32
	failed  atomic.Int64 // look-ups that failed since that was last asked

	mu  sync.Mutex       // guards all
	all []netip.AddrPort // ever seen, in the order in which they came
}

// mostAddresses bounds what a name that changes all the time can cost.
const mostAddresses = 4096

// newBook looks the target up. A name's addresses that refuse a connection are left out where another accepts: localhost often names two,
// and a server listens on one.
func newBook(ctx context.Context, e endpoint, ttl time.Duration) (*book, error) {
	port, err := strconv.ParseUint(e.port, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("target: found port %q, allowed: 1 to 65535", e.port)
	}
	b := &book{host: e.host, port: uint16(port), ttl: ttl}
	if addr, err := netip.ParseAddr(e.host); err == nil {
		b.ttl = 0
		return b, b.use([]netip.Addr{addr})
	}
	found, err := lookUp(ctx, e.host)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if found, err = answering(ctx, found, b.port); err != nil {
		return nil, err
	}
	return b, b.use(found)
}

func lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s has no address", host)
	}
	return found, err
}

func answering(ctx context.Context, addrs []netip.Addr, port uint16) ([]netip.Addr, error) {
	if len(addrs) < 2 {
		return addrs, nil
	}
	var out []netip.Addr
	var faults []error
	for _, a := range addrs {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(a.Unmap(), port).String())
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

// use makes addresses the ones in use.
func (b *book) use(addrs []netip.Addr) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var now []int16
	for _, a := range addrs {
		full := netip.AddrPortFrom(a.Unmap(), b.port)
		at := slices.Index(b.all, full)
		if at < 0 && len(b.all) == mostAddresses {
			return fmt.Errorf("target: %s: found more than %d addresses", b.host, mostAddresses)
		}
		if at < 0 {
			at = len(b.all)
			b.all = append(b.all, full)
		}
		now = append(now, int16(at))
	}
	b.current.Store(&now)
	return nil
}

// next is the address that the next connection goes to, with its number.
func (b *book) next() (netip.AddrPort, int16) {
	now := *b.current.Load()
	number := now[int(b.turn.Add(1)-1)%len(now)]
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all[number], number
}

// text is the address of a number.
func (b *book) text(number int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all[number].String()
}

// refresh looks the name up again whenever its time has passed, until ctx ends. When a look-up fails the addresses stay in use.
func (b *book) refresh(ctx context.Context) {
	if b.ttl <= 0 {
		return
	}
	ticker := time.NewTicker(b.ttl)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		found, err := lookUp(ctx, b.host)
		if err == nil {
			err = b.use(found)
		}
		if err != nil && ctx.Err() == nil {
			b.failed.Add(1)
		}
	}
}

// sources are the local addresses that connections come from in turn.
type sources struct {
	ranges []netip.Prefix
	sizes  []uint32 // usable addresses of each
	total  uint32
	turn   atomic.Uint32
}

const mostSources = 65_536

// sourcesOf reads addresses and prefixes; nil where there are none.
func sourcesOf(texts []string) (*sources, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	s := &sources{}
	for _, text := range texts {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			a, addrErr := netip.ParseAddr(text)
			if addrErr != nil {
				return nil, fmt.Errorf("target: client: sources: found %q, allowed: an address such as 127.0.0.2 or a prefix such as 127.0.0.0/24", text)
			}
			p = netip.PrefixFrom(a, a.BitLen())
		}
		p = p.Masked()
		free := p.Addr().BitLen() - p.Bits()
		if free > 16 {
			return nil, fmt.Errorf("target: client: sources: found %q, allowed: prefixes of at most %d addresses", text, mostSources)
		}
		size := uint32(1) << free
		if size > 2 && p.Addr().Is4() {
			size -= 2 // The first names the network, the last is for broadcasts.
		}
		s.ranges, s.sizes = append(s.ranges, p), append(s.sizes, size)
		s.total += size
	}
	return s, nil
}

// count is how many addresses there are, at least one.
func (s *sources) count() int64 {
	if s == nil {
		return 1
	}
	return int64(s.total)
}

// next is the address that the next connection comes from.
func (s *sources) next() netip.Addr {
	n := (s.turn.Add(1) - 1) % s.total
	for i, p := range s.ranges {
		if n >= s.sizes[i] {
			n -= s.sizes[i]
			continue
		}
		if p.Addr().Is4() && p.Addr().BitLen()-p.Bits() > 1 {
			n++
		}
		return add(p.Addr(), n)
	}
	return s.ranges[0].Addr()
}

// add is the n-th address after a; n is below 2^16, and so are the bits of a that it changes.
func add(a netip.Addr, n uint32) netip.Addr {
	b := a.AsSlice()
	low := uint32(b[len(b)-2])<<8 | uint32(b[len(b)-1])
	low += n
	b[len(b)-2], b[len(b)-1] = byte(low>>8), byte(low)
	out, _ := netip.AddrFromSlice(b)
	return out
}
