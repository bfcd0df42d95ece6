package plan

import "time"

// Protocols of Client.Protocol.
const (
	ProtocolAuto  = ""      // HTTP/1.1 in clear text, what the server prefers over TLS
	ProtocolHTTP1 = "http1" // HTTP/1.1
	ProtocolHTTP2 = "http2" // HTTP/2; in clear text with prior knowledge
)

// Client says how the generator connects to the target. The zero value is the default throughout.
type Client struct {
	Protocol string // a Protocol constant
	// Follow is how many redirects a request follows, 0 to 20; 0: none, a redirect is an answer like any other. The latency is that of
	// the whole chain.
	Follow int
	Proxy  string // the URL of an HTTP proxy; empty: none, whatever the environment says
	TLS    TLS

	Close       bool    // a connection for every request: Connection: close
	MaxRequests int     // requests after which a connection is closed; 0: no limit
	ConnectRate float64 // new connections per second at most; 0: no limit
	// Sources are local addresses or prefixes, such as 127.0.0.0/24, that connections come from in turn. Each has its own local ports. At most
	// 65536 addresses. Empty: as the kernel chooses.
	Sources []string
	// DNSTTL is how long the addresses of a name are used before it is looked up again; 0: for the whole cell. All addresses are used in
	// turn.
	DNSTTL time.Duration
}

// TLS says how certificates are handled.
type TLS struct {
	Insecure   bool   // any certificate is accepted
	CAFile     string // PEM file of certificates to trust instead of the system's; relative to the plan's folder
	ServerName string // to ask for and to check instead of the URL's host
}
