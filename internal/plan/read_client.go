package plan

import (
	"fmt"
	"net/netip"
	"time"
)

const (
	maxRedirects = 20
	maxSources   = 65_536
)

// client reads how the generator connects to the target.
func (r *reader) client(n *node) Client {
	const key = "target.client"
	f := r.mapping(n, key, "protocol", "follow", "proxy", "tls", "close", "max_requests", "connect_rate", "sources", "dns_ttl")
	out := Client{
		Follow:      f.whole("follow", 0, 0, maxRedirects),
		Close:       f.truth("close"),
		MaxRequests: f.whole("max_requests", 0, 0, 1_000_000_000),
		DNSTTL:      f.duration("dns_ttl", 0, span{0, 24 * time.Hour}),
	}
	if f.has("protocol") {
		out.Protocol = f.word("protocol", ProtocolHTTP1, ProtocolHTTP1, ProtocolHTTP2)
	}
	if p := f.find("proxy"); p != nil {
		out.Proxy = r.url(p, join(key, "proxy"))
	}
	if v := f.find("connect_rate"); v != nil {
		out.ConnectRate, _ = r.number(v, join(key, "connect_rate"), bounds{min: 0, max: maxRate})
	}
	if t := f.find("tls"); t != nil {
		tls := r.mapping(t, join(key, "tls"), "insecure", "ca_file", "server_name")
		out.TLS = TLS{Insecure: tls.truth("insecure"), CAFile: tls.textOr("ca_file", "the path of a PEM file, from the plan's folder", ""),
			ServerName: tls.textOr("server_name", "a host name", "")}
	}
	if s := f.find("sources"); s != nil {
		out.Sources = r.sources(s, join(key, "sources"))
	}
	return out
}

// sources reads local addresses and prefixes.
func (r *reader) sources(n *node, key string) []string {
	if n.kind != sequence || len(n.items) == 0 || len(n.items) > maxSources {
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: "a list of local addresses or prefixes such as 127.0.0.0/24"})
		return nil
	}
	var out []string
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", key, i)
		value := r.text(item, at, "an address or prefix")
		_, addressErr := netip.ParseAddr(item.value)
		_, prefixErr := netip.ParsePrefix(item.value)
		if item.kind == text && addressErr != nil && prefixErr != nil {
			r.add(Fault{Line: item.line, Key: at, Found: item.describe(), Allowed: "an address such as 127.0.0.2 or a prefix such as 127.0.0.0/24"})
		}
		out = append(out, value)
	}
	return out
}

// truth reads true or false; not given is false.
func (f fields) truth(name string) bool {
	n := f.find(name)
	if n == nil {
		return false
	}
	switch n.value {
	case "true":
		return true
	case "false":
		return false
	}
	f.fail(name, n.describe(), "true or false", "")
	return false
}
