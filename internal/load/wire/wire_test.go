package wire_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/loadline-dev/loadline/internal/load/wire"
)

func wanted(t interface{ Fatal(...any) }) *wire.Wanted {
	w, err := wire.NewWanted(1<<20, "X-A", "Server")
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// read feeds a whole answer at once.
func read(t testing.TB, text string, head bool) (*wire.Response, int, error) {
	t.Helper()
	var r wire.Response
	r.Begin(wanted(t), nil, head)
	n, err := r.Feed([]byte(text))
	return &r, n, err
}

func TestAnAnswersEndAndReuseFollowFromItsFraming(t *testing.T) {
	for _, c := range []struct {
		name, text string
		head       bool
		rest       int // bytes that belong to no answer
		done       bool
		reusable   bool
		body       string
	}{
		{"length", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcX", false, 1, true, true, "abc"},
		{"reason missing", "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", false, 0, true, true, ""},
		{"same length twice", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\ncontent-length: 3\r\n\r\nabc", false, 0, true, true, "abc"},
		{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n1\r\na\r\n002;x=y\r\nbc\r\n0\r\nT: 1\r\n\r\n", false, 0, true, true, "abc"},
		{"chunked and length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false, 0, true, false, ""},
		{"coded, not chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc", false, 0, false, false, "abc"},
		{"until the end", "HTTP/1.1 200 OK\r\n\r\nabc", false, 0, false, false, "abc"},
		{"head", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", true, 0, true, true, ""},
		{"204", "HTTP/1.1 204 No\r\nContent-Length: 3\r\n\r\n", false, 0, true, true, ""},
		{"304", "HTTP/1.1 304 No\r\nTransfer-Encoding: chunked\r\n\r\n", false, 0, true, true, ""},
		{"close", "HTTP/1.1 200 OK\r\nConnection: x, CLOSE\r\nContent-Length: 0\r\n\r\n", false, 0, true, false, ""},
		{"1.0", "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false, 0, true, false, ""},
		{"1.0 kept", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n", false, 0, true, true, ""},
		{"interim", "HTTP/1.1 103 E\r\nConnection: close\r\nContent-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, 0, true, true, ""},
		{"switched", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nzzz", false, 3, true, false, ""},
	} {
		r, n, err := read(t, c.text, c.head)
		if err != nil || len(c.text)-n != c.rest || r.Done() != c.done || r.Reusable() != c.reusable || string(r.Body()) != c.body {
			t.Errorf("%s: rest %d, done %v, reusable %v, body %q, error %v", c.name, len(c.text)-n, r.Done(), r.Reusable(), r.Body(), err)
		}
	}
}

func TestAnswersWhoseEndIsInDoubtAreRefused(t *testing.T) {
	for text, want := range map[string]error{
		"HTTX/1.1 200 OK\r\n":                                                                 wire.ErrStatusLine,
		"HTTP/2.0 200 OK\r\n":                                                                 wire.ErrStatusLine,
		"HTTP/1.1 20 OK\r\n":                                                                  wire.ErrStatusLine,
		"HTTP/1.1 2000 OK\r\n":                                                                wire.ErrStatusLine,
		"HTTP/1.1 099 OK\r\n":                                                                 wire.ErrStatusLine,
		"\r\n":                                                                                wire.ErrStatusLine,
		"HTTP/1.1 200 OK\r\nno colon\r\n":                                                     wire.ErrHeader,
		"HTTP/1.1 200 OK\r\n: v\r\n":                                                          wire.ErrHeader,
		"HTTP/1.1 200 OK\r\nA : v\r\n":                                                        wire.ErrHeader,
		"HTTP/1.1 200 OK\r\nContent-Length: \r\n":                                             wire.ErrLength,
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n":                                           wire.ErrLength,
		"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n":                                           wire.ErrLength,
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n":                         wire.ErrLength,
		"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n":                       wire.ErrLength,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n":                           wire.ErrChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\ng\r\n":                          wire.ErrChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n":                         wire.ErrChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n":                    wire.ErrChunk,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n":           wire.ErrChunk,
		"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", wire.MaxHeaderBytes):                   wire.ErrTooLarge,
		"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: aaaaaaaaaaaaaaaaaaaa\r\n", 20_000):         wire.ErrTooLarge,
		strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 20_000):                               wire.ErrTooLarge,
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;" + strings.Repeat("x", 5000): wire.ErrChunk,
	} {
		if _, _, err := read(t, text, false); !errors.Is(err, want) {
			t.Errorf("%.60q: got %v, want %v", text, err, want)
		}
	}
}

func TestWantedHeadersAreKeptWhateverTheirCase(t *testing.T) {
	r, _, err := read(t, "HTTP/1.1 200 OK\r\nsErVeR:  me\t\r\nX-A:1\r\nx-a: 2\r\nX-B: 3\r\nContent-Length: 0\r\n\r\n", false)
	if err != nil {
		t.Fatal(err)
	}
	a, okA := r.Value(0)
	s, okS := r.Value(1)
	if string(a) != "1, 2" || string(s) != "me" || !okA || !okS {
		t.Errorf("got %q %v, %q %v", a, okA, s, okS)
	}
	r.Begin(wanted(t), nil, false)
	if _, ok := r.Value(0); ok {
		t.Error("a new answer has no headers yet")
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	w, err := wire.NewWanted(0, "X-Loadline-Outcome")
	if err != nil {
		t.Fatal(err)
	}
	text := []byte("HTTP/1.1 503 Service Unavailable\r\nServer: x\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nX-Loadline-Outcome: rejected\r\n" +
		"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n")
	var r wire.Response
	var m wire.Memory
	allocs := testing.AllocsPerRun(100, func() {
		r.Begin(w, &m, false)
		for _, part := range [][]byte{text[:40], text[40:100], text[100:]} { // In the middle of lines.
			if _, err := r.Feed(part); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocs != 0 || !r.Done() {
		t.Errorf("%v allocations, done %v", allocs, r.Done())
	}
}

// answers draws answers that are right, in every framing.
func answers() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		for range rapid.IntRange(0, 2).Draw(t, "interim") {
			b.WriteString("HTTP/1.1 103 Early\r\nLink: <a>\r\n\r\n")
		}
		b.WriteString(rapid.SampledFrom([]string{"HTTP/1.1 200 OK\r\n", "HTTP/1.1 503 No\r\n", "HTTP/1.0 404 \r\n"}).Draw(t, "line"))
		for range rapid.IntRange(0, 4).Draw(t, "headers") {
			b.WriteString(rapid.SampledFrom([]string{"Server: x\r\n", "X-A: 1\r\n", "Date: now\r\n", "Connection: close\r\n", "A-Name-Of-Some-Length:  v \r\n"}).Draw(t, "header"))
		}
		body := rapid.StringN(0, 300, 300).Draw(t, "body")
		switch rapid.IntRange(0, 2).Draw(t, "framing") {
		case 0:
			b.WriteString("Content-Length: " + itoa(len(body)) + "\r\n\r\n" + body)
		case 1:
			b.WriteString("\r\n" + body)
		default:
			b.WriteString("Transfer-Encoding: chunked\r\n\r\n")
			chunked(&b, body, rapid.IntRange(1, 40).Draw(t, "chunk"))
		}
		return b.String()
	})
}

func itoa(n int) string { return strconv.Itoa(n) }

func chunked(b *strings.Builder, body string, size int) {
	const hex = "0123456789abcdef"
	for len(body) > 0 {
		n := min(size, len(body))
		b.WriteString(string([]byte{hex[n/16], hex[n%16]}) + "\r\n" + body[:n] + "\r\n")
		body = body[n:]
	}
	b.WriteString("0\r\n\r\n")
}

// whole reads an answer with net/http, which is the oracle; interim answers are passed over as a client does.
func whole(text string) (*http.Response, []byte, error) {
	in := bufio.NewReader(strings.NewReader(text))
	for {
		resp, err := http.ReadResponse(in, &http.Request{Method: "GET"})
		if err != nil {
			return nil, nil, err
		}
		if resp.StatusCode >= 100 && resp.StatusCode < 200 && resp.StatusCode != 101 {
			continue
		}
		body, err := io.ReadAll(resp.Body)
		return resp, body, errors.Join(err, resp.Body.Close())
	}
}

func TestAnswersAreReadAsNetHTTPReadsThemInWhateverPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := answers().Draw(t, "answer")
		var r wire.Response
		r.Begin(wanted(t), nil, false)
		for rest := text; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if taken, err := r.Feed([]byte(rest[:n])); err != nil || taken != n {
				t.Fatalf("%q: took %d of %d: %v", text, taken, n, err)
			}
			rest = rest[n:]
		}
		if !r.End() {
			t.Fatalf("%q: not complete at its end", text)
		}
		resp, body, err := whole(text)
		if err != nil {
			t.Fatal(err)
		}
		if r.Status() != resp.StatusCode || !bytes.Equal(r.Body(), body) {
			t.Fatalf("%q: got %d with %q, net/http has %d with %q", text, r.Status(), r.Body(), resp.StatusCode, body)
		}
		if r.Reusable() && resp.Close {
			t.Fatalf("%q: reusable, net/http closes it", text)
		}
	})
}

func FuzzAnswersOfAnyBytes(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 204 N\r\n\r\n", "HTTP/1.0 200 OK\n\nabc"} {
		f.Add([]byte(s), 7)
	}
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		one, n, err := read(t, string(data), false)
		if n > len(data) || err == nil && !one.Done() && n != len(data) {
			t.Fatalf("took %d of %d bytes, done %v", n, len(data), one.Done())
		}
		cut = max(1, min(cut, len(data)))
		var two wire.Response
		two.Begin(wanted(t), nil, false)
		var taken int
		var err2 error
		for at := 0; at < len(data) && err2 == nil && !two.Done(); {
			piece := data[at:min(at+cut, len(data))]
			var n int
			n, err2 = two.Feed(piece)
			at += n
			taken += n
		}
		if (err == nil) != (err2 == nil) || err == nil && (taken != n || one.Done() != two.Done() || one.Status() != two.Status() || !bytes.Equal(one.Body(), two.Body())) {
			t.Fatalf("%q at once: %d %v %v; in pieces of %d: %d %v %v", data, n, one.Done(), err, cut, taken, two.Done(), err2)
		}
		if err == nil && one.Done() {
			againstNetHTTP(t, data, one)
		}
	})
}

// againstNetHTTP compares what both accept. net/http reads some answers more freely: it is the oracle for those that it reads.
func againstNetHTTP(t *testing.T, data []byte, r *wire.Response) {
	t.Helper()
	resp, body, err := whole(string(data))
	if err != nil || resp.StatusCode == 101 {
		return
	}
	if resp.StatusCode != r.Status() || !bytes.Equal(body, r.Body()) {
		t.Errorf("%q: got %d with %q, net/http has %d with %q", data, r.Status(), r.Body(), resp.StatusCode, body)
	}
}

func TestARememberedHeadIsReadAsIfItWereNew(t *testing.T) {
	w := wanted(t)
	rapid.Check(t, func(t *rapid.T) {
		var m wire.Memory
		var r wire.Response
		// A few answers that come again and again, in whole or in two pieces, so that some are known and some are not.
		few := rapid.SliceOfN(answers(), 1, 3).Draw(t, "answers")
		for range rapid.IntRange(1, 12).Draw(t, "times") {
			text := rapid.SampledFrom(few).Draw(t, "answer")
			head := rapid.Bool().Draw(t, "head")
			var plain wire.Response
			plain.Begin(w, nil, head)
			wantN, wantErr := plain.Feed([]byte(text))
			r.Begin(w, &m, head)
			cut := rapid.IntRange(0, len(text)).Draw(t, "cut")
			n, err := r.Feed([]byte(text[:cut]))
			if err == nil && n == cut {
				var more int
				more, err = r.Feed([]byte(text[cut:]))
				n += more
			}
			a, okA := r.Value(0)
			b, okB := plain.Value(0)
			if n != wantN || (err == nil) != (wantErr == nil) || r.Done() != plain.Done() || r.Status() != plain.Status() || r.Reusable() != plain.Reusable() ||
				!bytes.Equal(r.Body(), plain.Body()) || okA != okB || !bytes.Equal(a, b) || r.End() != plain.End() {
				t.Fatalf("%q: with memory %d %v %v, without %d %v %v", text, n, r.Done(), err, wantN, plain.Done(), wantErr)
			}
		}
	})
}

func BenchmarkFeed(b *testing.B) {
	w, err := wire.NewWanted(0, "X-Loadline-Outcome")
	if err != nil {
		b.Fatal(err)
	}
	text := []byte("HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Type: text/plain\r\n" +
		"Content-Length: 2\r\nConnection: keep-alive\r\n\r\nok")
	var r wire.Response
	var m wire.Memory
	for b.Loop() {
		r.Begin(w, &m, false)
		if _, err := r.Feed(text); err != nil || !r.Done() {
			b.Fatal(err)
		}
	}
}
