package loop

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestRequestsOfNetHTTPAreReadWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]string{"GET", "HEAD", "POST", "PUT", "DELETE"}).Draw(t, "method")
		body := rapid.SliceOfN(rapid.Byte(), 0, 2000).Draw(t, "body")
		path := rapid.StringMatching(`/[a-z0-9/]{0,40}(\?[a-z]=[0-9]{1,4})?`).Draw(t, "path")
		r, err := http.NewRequest(method, "http://127.0.0.1"+path, bytes.NewReader(body))
		if err != nil {
			t.Skip(err)
		}
		if len(body) == 0 {
			r.Body = nil
		}
		r.Close = rapid.Bool().Draw(t, "close")
		r.Header.Set("X-Noise", rapid.StringMatching(`[ -~]{0,60}`).Draw(t, "noise"))
		var wire bytes.Buffer
		if err := r.Write(&wire); err != nil {
			t.Skip(err)
		}
		whole := wire.Len()
		wire.WriteString("GET /next HTTP/1.1\r\n") // What follows must not matter.
		h, status := parse(wire.Bytes())
		if status != complete || h.length != whole || string(h.Method) != method || string(h.Target) != r.URL.RequestURI() || h.close != r.Close ||
			h.reply.headOnly != (method == "HEAD") {
			t.Fatalf("status %d, %d of %d bytes, %s %s, close %v of %q", status, h.length, whole, h.Method, h.Target, h.close, wire.Bytes())
		}
		cut := rapid.IntRange(0, whole-1).Draw(t, "cut")
		if _, status := parse(wire.Bytes()[:cut]); status != incomplete {
			t.Fatalf("the first %d of %d bytes give status %d, want incomplete", cut, whole, status)
		}
	})
}

func TestWhatIsNoRequestIsTold(t *testing.T) {
	for _, c := range []struct {
		text string
		want parseStatus
	}{
		{"\r\n\r\n", malformed},
		{"GET\r\n\r\n", malformed},
		{"GET / \r\n\r\n", malformed},
		{"GET / HTTP/2.0\r\n\r\n", malformed},
		{" / HTTP/1.1\r\n\r\n", malformed},
		{"GET / HTTP/1.1\r\nno colon\r\n\r\n", malformed},
		{"GET / HTTP/1.1\r\nHost : x\r\n\r\n", malformed},
		{"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", malformed},
		{"GET / HTTP/1.1\r\nContent-Length: 1x\r\n\r\n", malformed},
		{"GET / HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n", unsupported},
		{"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", unsupported},
		{"POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n", unsupported},
		{"GET / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", incomplete},
		{"GET / HTTP/1.0\r\n\r\n", complete},
	} {
		if _, got := parse([]byte(c.text)); got != c.want {
			t.Errorf("%q: status %d, want %d", c.text, got, c.want)
		}
	}
}

func TestConnectionsOfOldClientsCloseUnlessTheyAskToStay(t *testing.T) {
	for text, want := range map[string]bool{
		"GET / HTTP/1.0\r\n\r\n":                           true,
		"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n": false,
		"GET / HTTP/1.1\r\n\r\n":                           false,
		"GET / HTTP/1.1\r\nConnection: close\r\n\r\n":      true,
	} {
		if h, _ := parse([]byte(text)); h.close != want {
			t.Errorf("%q: close %v, want %v", text, h.close, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "POST /a HTTP/1.1\r\nContent-Length: 2\r\n\r\nab", "GET / HTTP/1.1\r\n: x\r\n\r\n", "\r\n\r\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, status := parse(b)
		if status != complete {
			return
		}
		if h.length > len(b) || h.length < len("G / HTTP/1.1\r\n\r\n") || len(h.Method) == 0 || len(h.Target) == 0 {
			t.Fatalf("%+v of %q", h, b)
		}
		// What is complete stays so, and alike, whatever follows.
		again, status := parse(append(bytes.Clone(b[:h.length]), "xyz"...))
		if status != complete || again.length != h.length || !strings.EqualFold(string(again.Method), string(h.Method)) {
			t.Fatalf("%q reads as %+v, then as %+v", b, h, again)
		}
	})
}

func TestTheScheduleGivesAnswersInTheOrderOfTheirTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s schedule
		times := rapid.SliceOf(rapid.Int64Range(0, 50)).Draw(t, "times")
		counts := map[int64]int{}
		for _, at := range times {
			counts[at]++
			s.push(answer{at: timeOf(at)})
		}
		last := timeOf(-1)
		for range times {
			a := s.pop()
			if a.at < last {
				t.Fatalf("%v after %v", a.at, last)
			}
			last = a.at
			counts[int64(a.at)]--
		}
		for at, n := range counts {
			if n != 0 || len(s) != 0 {
				t.Fatalf("%d: %d lost or doubled, %d left", at, n, len(s))
			}
		}
	})
}

func timeOf(n int64) time.Duration { return time.Duration(n) }
