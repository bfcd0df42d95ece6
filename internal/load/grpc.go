package load

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

// Unary gRPC is an HTTP/2 request whose body is one message with a prefix and whose status comes in a trailer.
//
// Source: gRPC over HTTP/2, https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md.

// grpcPrefix is the length of what stands before a message: a flag and the message's length.
const grpcPrefix = 5

// The status codes that are more than a failure.
const (
	grpcOK               = 0
	grpcDeadlineExceeded = 4
	grpcExhausted        = 8
	grpcUnavailable      = 14
	grpcUnknown          = 2
)

// asGRPC makes a message's body a gRPC message.
func (m *message) asGRPC() {
	framed := make([]byte, grpcPrefix, grpcPrefix+len(m.body))
	binary.BigEndian.PutUint32(framed[1:], uint32(len(m.body)))
	m.body, m.method = append(framed, m.body...), "POST"
	m.header = append(m.header, plan.Header{Name: "Content-Type", Value: "application/grpc"}, plan.Header{Name: "Te", Value: "trailers"})
}

// grpcReply says what a gRPC answer is: the plan's rules first, then the outcome header among headers or trailers, then the status. An
// answer without a status did not come from a gRPC service.
func grpcReply(c *classifier, a *httpAnswer) reply {
	for name, values := range a.response.Trailer {
		a.response.Header[name] = values // Rules see trailers as headers.
	}
	out := reply{answered: true, status: a.response.StatusCode, answer: a}
	if outcome, decided := c.decided(a); decided {
		out.outcome = outcome
	} else {
		out.outcome = byGRPCStatus(grpcStatus(a.response.Header))
	}
	if out.outcome != record.Success {
		out.code = fmt.Sprintf("grpc %d", grpcStatus(a.response.Header))
	}
	return out
}

func grpcStatus(h http.Header) int {
	n, err := strconv.Atoi(h.Get("Grpc-Status"))
	if err != nil {
		return grpcUnknown
	}
	return n
}

func byGRPCStatus(status int) record.Outcome {
	switch status {
	case grpcOK:
		return record.Success
	case grpcExhausted, grpcUnavailable:
		return record.Rejected
	case grpcDeadlineExceeded:
		return record.Timeout
	}
	return record.Failure
}

// checkGRPC refuses what a gRPC target cannot have.
func checkGRPC(t plan.Target) error {
	if t.Client.Protocol != plan.ProtocolGRPC {
		return nil
	}
	if len(t.Flows) > 0 {
		return errors.New("target: client: protocol: found grpc with flows, allowed: one request")
	}
	u, err := url.Parse(t.Request.URL)
	if err != nil || len(u.Path) < 4 || u.RawQuery != "" {
		return fmt.Errorf("target: request: url: found %q with grpc, allowed: a method such as http://127.0.0.1:50051/package.Service/Method", t.Request.URL)
	}
	return nil
}
