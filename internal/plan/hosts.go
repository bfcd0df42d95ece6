package plan

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// ErrHost is wrapped by what CheckHosts returns: load would go to a host that was not allowed, or the list of allowed hosts is at fault.
var ErrHost = errors.New("host not allowed")

// Hosts are the hosts that receive the plan's load, over all settings, without ports, each once, in order.
func (p *Plan) Hosts() ([]string, error) {
	var out []string
	for _, s := range p.Settings() {
		filled, err := p.ForSetting(s)
		if err != nil {
			return nil, err
		}
		u, err := url.Parse(filled.Target.Request.URL)
		if err != nil {
			return nil, fmt.Errorf("target.request.url: %w", err)
		}
		if h := hostName(u.Hostname()); !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out, nil
}

// CheckHosts refuses hosts that are neither local nor allowed. Local are localhost and literal loopback and private addresses (RFC 1918,
// RFC 4193); any other name or address must be among the allowed, each of which is given exactly once. No name is resolved: what a
// name stands for can change between the check and the load.
func CheckHosts(hosts, allowed []string) error {
	var faults []error
	var known []string
	for _, a := range allowed {
		name := hostName(a)
		switch {
		case name == "" || strings.ContainsAny(name, "/ *@"):
			faults = append(faults, fmt.Errorf("%w: --allow-host %q: found no host name, want one such as example.com, without scheme, port or path", ErrHost, a))
		case slices.Contains(known, name):
			faults = append(faults, fmt.Errorf("%w: --allow-host %s is given more than once: allowed exactly once per host; remove the repetition", ErrHost, name))
		}
		known = append(known, name)
	}
	for _, h := range hosts {
		name := hostName(h)
		if LocalHost(name) || slices.Contains(known, name) {
			continue
		}
		faults = append(faults, fmt.Errorf("%w: found %s, which is neither localhost nor a literal loopback or private address; "+
			"if you may load it, add --allow-host %s", ErrHost, name, name))
	}
	return errors.Join(faults...)
}

// LocalHost tells whether a host is localhost or a literal loopback or private address.
func LocalHost(host string) bool {
	name := hostName(host)
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	addr = addr.Unmap()
	return addr.IsLoopback() || addr.IsPrivate()
}

// hostName makes equal hosts equal: lower case, without the dot that ends a full name and the brackets of an IPv6 address.
func hostName(host string) string {
	host = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(host)), ".")
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return host[1 : len(host)-1]
	}
	return host
}
