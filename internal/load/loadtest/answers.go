package loadtest

import (
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

func answers() []rule {
	rules := []rule{
		{"status", "Without rules a status decides: 429 and 503 are rejected, 504 is a timeout that was answered, 2xx and 3xx are success, all else is failure.", byStatus},
		{"outcome header", "X-Loadline-Outcome decides before the status does; a value that is no outcome of an answer decides nothing.", byHeader},
		{"plan's rules", "The plan's rules decide first, in their order, by status, header and body.", byRules},
		{"head", "The answer to HEAD has no body, whatever its Content-Length says.", head},
		{"request", "Method, path, headers and body arrive as the plan says.", request},
		{"large answer", "An answer larger than any buffer is read to its end, and its bytes are counted.", large},
	}
	for name, text := range framings() {
		rules = append(rules, rule{"framing: " + name, "An answer ends where its framing says, and the connection is used again where it may be.", func(t *testing.T, e load.Engine) {
			framing(t, e, text)
		}})
	}
	return rules
}

func byStatus(t *testing.T, e load.Engine) {
	codes := []int{200, 204, 301, 404, 429, 500, 503, 504, 201, 304}
	s := serve(t, func(x *exchange) then {
		code := codes[(x.number-1)%int64(len(codes))]
		if code == 204 || code == 304 {
			x.write("HTTP/1.1 " + itoa(int64(code)) + " X\r\n\r\n")
			return keep
		}
		x.write(status(code, ""))
		return keep
	})
	r := run(t.Context(), t, e, job(s, 2, 50))
	want := [record.NumOutcomes]int64{record.Success: 25, record.Failure: 10, record.Rejected: 10, record.Timeout: 5}
	if r.err != nil || r.all != want {
		t.Errorf("got %s (%v), want %s", describe(r.all), r.err, describe(want))
	}
	for _, c := range r.class(record.Timeout) {
		if !c.Answered {
			t.Error("a timeout by a 504 was answered")
		}
	}
	if r.codes["status 404"] != 5 || r.codes["status 503"] != 5 || r.codes["status 200"] != 0 {
		t.Errorf("codes: got %v, want each status that was no success five times", r.codes)
	}
	s.connections(t, 2)
}

func byHeader(t *testing.T, e load.Engine) {
	values := []string{"rejected", "short_circuited", "timeout", "failure", "success", "cut"}
	s := serve(t, func(x *exchange) then {
		x.write(status(500, "x-loadline-OUTCOME:  "+values[(x.number-1)%6]+" \r\n"))
		return keep
	})
	r := run(t.Context(), t, e, job(s, 1, 12))
	want := [record.NumOutcomes]int64{record.Success: 2, record.Failure: 4, record.Rejected: 2, record.ShortCircuited: 2, record.Timeout: 2}
	if r.err != nil || r.all != want {
		t.Errorf("got %s (%v), want %s", describe(r.all), r.err, describe(want))
	}
}

func byRules(t *testing.T, e load.Engine) {
	texts := []string{
		status(500, "X-Reason: full\r\n"),                                                      // the first rule
		status(500, "X-Reason: bug\r\n"),                                                       // failure
		"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nwe are busy",                             // the second rule
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbus\r\n1\r\ny\r\n0\r\n\r\n", // the second rule, across chunks
		status(418, ""),                       // the third rule
		status(503, "X-Retry: \r\n"),          // the fourth rule: present, though empty
		status(503, "X-Reason: not full\r\n"), // rejected by its status
	}
	s := serve(t, func(x *exchange) then {
		x.write(texts[(x.number-1)%int64(len(texts))])
		return keep
	})
	j := job(s, 1, 14)
	j.Target.Outcomes = []plan.OutcomeRule{
		{Status: plan.StatusMatch{Codes: []int{500}}, Header: []plan.Header{{Name: "x-reason", Value: "full"}}, Is: record.ShortCircuited},
		{Status: plan.StatusMatch{Classes: []int{2}}, Contains: "busy", Is: record.Rejected},
		{Status: plan.StatusMatch{Codes: []int{418}}, Is: record.Success},
		{Header: []plan.Header{{Name: "X-Retry"}}, Is: record.Failure},
	}
	r := run(t.Context(), t, e, j)
	want := [record.NumOutcomes]int64{record.ShortCircuited: 2, record.Failure: 4, record.Rejected: 6, record.Success: 2}
	if r.err != nil || r.all != want {
		t.Errorf("got %s (%v), want %s", describe(r.all), r.err, describe(want))
	}
}

// framings are answers that leave the connection open.
func framings() map[string]string {
	return map[string]string{
		"content length":     ok,
		"no body":            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"chunked":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3;ext=1\r\nyou\r\n0\r\n\r\n",
		"chunked, trailers":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\n\r\n",
		"no content":         "HTTP/1.1 204 No Content\r\n\r\n",
		"not modified":       "HTTP/1.1 304 Not Modified\r\nContent-Length: 700\r\n\r\n",
		"interim":            "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok,
		"interim, continue":  "HTTP/1.1 100 Continue\r\n\r\n" + ok,
		"1.0 with keepalive": "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok",
		"bare line feeds":    "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
	}
}

func framing(t *testing.T, e load.Engine, text string) {
	s := serve(t, func(x *exchange) then {
		if x.number%2 == 0 {
			x.write(text)
			return keep
		}
		for i := range len(text) { // Byte by byte: an answer may come in any pieces.
			x.write(text[i : i+1])
		}
		return keep
	})
	r := run(t.Context(), t, e, job(s, 1, 20))
	r.only(t, record.Success, 20)
	if s.conns.Load() != 1 {
		t.Errorf("one user sends all requests on one connection: %d", s.conns.Load())
	}
}

func head(t *testing.T, e load.Engine) {
	s := serve(t, func(x *exchange) then {
		if x.req.Method != "HEAD" {
			return reset
		}
		x.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
		return keep
	})
	j := job(s, 1, 10)
	j.Target.Request.Method = "HEAD"
	run(t.Context(), t, e, j).only(t, record.Success, 10)
}

func request(t *testing.T, e load.Engine) {
	s := serve(t, func(x *exchange) then {
		h := x.req.Header
		if x.req.Method != "PUT" || x.req.RequestURI != "/a%20b?c=d&e" || string(x.body) != "the body" || h.Get("X-A") != "1" || h.Get("User-Agent") != "me" ||
			x.req.Host != "example.test" || x.req.ContentLength != 8 || strings.Join(h.Values("X-Twice"), ",") != "1,2" {
			x.write(status(400, ""))
			return keep
		}
		x.write(ok)
		return keep
	})
	j := job(s, 1, 5)
	j.Target.Request.URL = s.url("/a%20b?c=d&e#fragment")
	j.Target.Request.Method, j.Target.Request.Body = "PUT", "the body"
	j.Target.Request.Headers = []plan.Header{{Name: "X-A", Value: "1"}, {Name: "user-agent", Value: "me"}, {Name: "Host", Value: "example.test"},
		{Name: "X-Twice", Value: "1"}, {Name: "X-Twice", Value: "2"}, {Name: "Content-Length", Value: "99"}}
	r := run(t.Context(), t, e, j)
	r.only(t, record.Success, 5)
	var addresses int64
	for _, i := range r.intervals {
		addresses += i.Addresses[s.listener.Addr().String()]
	}
	if addresses != 5 {
		t.Errorf("requests are counted by address: %d, want 5", addresses)
	}
}

func large(t *testing.T, e load.Engine) {
	const size = 1 << 20
	text := "HTTP/1.1 200 OK\r\nContent-Length: " + itoa(size) + "\r\n\r\n" + strings.Repeat("x", size)
	s := serve(t, func(x *exchange) then {
		x.write(text)
		return keep
	})
	j := job(s, 2, 10)
	j.Target.Request.Method, j.Target.Request.Body = "POST", strings.Repeat("y", size)
	r := run(t.Context(), t, e, j)
	r.only(t, record.Success, 10)
	var sent, read int64
	for _, i := range r.intervals {
		sent += i.BytesSent
		read += i.BytesRead
	}
	if read != 10*int64(len(text)) || sent < 10*size || sent > 10*(size+500) {
		t.Errorf("bytes: %d sent and %d read, want %d and some, and %d", sent, read, 10*size, 10*len(text))
	}
}
