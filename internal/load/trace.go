package load

import (
	"crypto/tls"
	"net/http/httptrace"
	"sync/atomic"
)

// exchangeTrace notes how the connection of one exchange came to be. Its hooks run on goroutines of net/http, some after the exchange.
type exchangeTrace struct {
	ledger    *ledger
	connected atomic.Bool
	conns     atomic.Int32
	dialed    atomic.Int64
	shaking   atomic.Int64
	shook     atomic.Bool
}

func (t *exchangeTrace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		ConnectStart:      func(string, string) { t.dialed.Store(t.ledger.clock()) },
		ConnectDone:       t.connectDone,
		TLSHandshakeStart: func() { t.shaking.Store(t.ledger.clock()) },
		TLSHandshakeDone:  t.shaken,
		GotConn:           t.gotConn,
	}
}

func (t *exchangeTrace) connectDone(_, _ string, err error) {
	if err != nil {
		return
	}
	took := t.ledger.clock() - t.dialed.Load()
	t.ledger.note(func(r *recorder) { observe(&r.connect, took) })
}

func (t *exchangeTrace) shaken(_ tls.ConnectionState, err error) {
	if err != nil {
		return
	}
	t.shook.Store(true)
	took := t.ledger.clock() - t.shaking.Load()
	t.ledger.note(func(r *recorder) { observe(&r.tls, took) })
}

// gotConn runs before a request is sent. The transport sends again by itself where an idle connection turned out to be closed.
func (t *exchangeTrace) gotConn(info httptrace.GotConnInfo) {
	t.connected.Store(true)
	t.ledger.connected()
	again := t.conns.Add(1) > 1
	name := info.Conn.RemoteAddr().String()
	t.ledger.note(func(r *recorder) {
		r.address(name)
		if again {
			r.code("idle connection was closed, sent again")
		}
	})
}
