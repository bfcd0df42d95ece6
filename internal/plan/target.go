package plan

import "time"

// Protocols of Client.Protocol.
const (
	ProtocolAuto  = ""      // HTTP/1.1 in clear text, what the server prefers over TLS
	ProtocolHTTP1 = "http1" // HTTP/1.1
	ProtocolHTTP2 = "http2" // HTTP/2; in clear text with prior knowledge
	ProtocolGRPC  = "grpc"  // unary gRPC over HTTP/2: the URL's path is /package.Service/Method, the body is the encoded message
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
	// Cookies keeps the cookies of each user's flow and sends them back, as a browser does.
	Cookies bool
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

// Auth is who a request says it comes from. At most one of User and Bearer is set.
type Auth struct {
	User, Password string // basic
	Bearer         string // a token
}

// Flow is a sequence of requests that a user sends one after the other. In the open model an arrival is the begin of a flow. A flow
// ends early at a step that was no success, unless the step says Continue.
//
// Text of a step may hold {{name}}: a column of a feeder as {{feeder.column}}, a value that an earlier step has extracted, or one of
// {{user}} (the number of the user or arrival) and {{iteration}} (of the user's flow), both from 0. In URLs the values are escaped, elsewhere they stand as they are.
type Flow struct {
	Name   string
	Weight float64 // how often it is chosen beside the others; 0: 1
	Steps  []Step
}

// Step is a request of a flow.
type Step struct {
	Name     string
	Request  Request
	Checks   []Check       // all must hold, or the answer is a failure
	Extract  []Extract     // values for later steps
	Think    time.Duration // after the step, besides the load's think time
	Continue bool          // the flow goes on when the step was no success
}

// Check is what a right answer has. Zero fields match all.
type Check struct {
	Name     string
	Status   StatusMatch
	Header   []Header // all must match; an empty value means present
	Contains string   // of the body
	JSON     string   // a path in the body such as items.0.id
	Equals   string   // the text of the value at JSON; empty: there must be one
}

// Extract takes a value out of an answer. Exactly one of JSON and Header is set. When there is no such value, the answer is a failure.
type Extract struct {
	Name   string
	JSON   string // a path in the body such as items.0.id
	Header string
}

// Feeder is a file of values: CSV whose first line names the columns, or a JSON list of objects.
type Feeder struct {
	Name   string
	File   string // relative to the plan's folder; .json is read as JSON, anything else as CSV
	Choose string // ChooseInTurn (default), ChooseAtRandom or ChooseOnce
}

// How a feeder's rows are chosen; a flow takes one row of each feeder when it begins.
const (
	ChooseInTurn   = "sequential" // in turn, and again from the first
	ChooseAtRandom = "random"
	ChooseOnce     = "unique" // each once; a user for whom there is none ends, an arrival is dropped
)
