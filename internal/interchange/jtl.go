package interchange

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/record"
)

// jtlRow is one sample of JMeter, in either form.
type jtlRow struct {
	stamp     int64 // ns
	elapsed   int64 // ms
	label     []byte
	code      []byte
	message   []byte
	thread    []byte
	host      []byte
	success   bool
	users     int64
	count     int64 // samples for which the row stands; 0 and 1: itself
	subSample bool  // known to be one; otherwise found by its label
}

// jtl gathers rows of both forms and knows which of them are requests.
type jtl struct {
	opt      Options
	requests *fold
	sums     *fold // transaction controllers
	parents  map[string]*parent
	hosts    map[string]int64
	caveats  []record.ImportCaveat
	subs     int64
	counted  int64 // rows that are neither sub-samples nor transactions
}

// parent is the last top-level sample of a thread.
type parent struct{ label []byte }

func newJTL(opt Options) *jtl {
	return &jtl{opt: opt, requests: newFold(), sums: newFold(), parents: map[string]*parent{}, hosts: map[string]int64{}}
}

const transactionMessage = "Number of samples in transaction"

func (j *jtl) add(r jtlRow, line int) error {
	if r.count > 1 {
		return faultAt(line, "save with the sample sender mode Standard and import that file",
			"the row stands for %d samples (statistical mode): no percentile can be had from it", r.count)
	}
	if r.subSample || j.isSub(r) {
		j.subs++
		return nil
	}
	s := sample{start: r.stamp, latency: time.Duration(milliseconds(r.elapsed)), users: j.usersNow(r)}
	s.outcome, s.code = jtlOutcome(r)
	if bytes.HasPrefix(r.message, []byte(transactionMessage)) {
		return atLine(j.sums.add(s), line)
	}
	j.counted++
	return atLine(j.requests.add(s), line)
}

// isSub finds sub-samples by their name: that of the thread's last top-level sample, a hyphen, and a number. Redirects and embedded
// resources are written so after their parent, whose time holds theirs.
func (j *jtl) isSub(r jtlRow) bool {
	p := j.parents[string(r.thread)]
	if p == nil {
		p = &parent{}
		j.parents[string(r.thread)] = p
	}
	rest, ok := bytes.CutPrefix(r.label, p.label)
	if ok && len(p.label) > 0 && len(rest) > 1 && rest[0] == '-' && len(bytes.Trim(rest, "-0123456789")) == 0 {
		return true
	}
	p.label = append(p.label[:0], r.label...)
	return false
}

// usersNow sums the users over the agents, each of which counts only its own.
func (j *jtl) usersNow(r jtlRow) int {
	if len(r.host) == 0 {
		return int(r.users)
	}
	if j.hosts[string(r.host)] != r.users {
		j.hosts[string(r.host)] = r.users
	}
	var sum int64
	for _, n := range j.hosts {
		sum += n
	}
	return int(sum)
}

const nonHTTP = "Non HTTP response code: "

// jtlClasses maps the Java exception in a response code to an outcome; the first that is contained in it counts.
var jtlClasses = []struct {
	class   string
	outcome record.Outcome
}{
	{"SocketTimeoutException", record.Timeout}, {"ConnectTimeoutException", record.Timeout},
	{"HttpHostConnectException", record.Refused}, {"ConnectException", record.Refused},
	{"NoHttpResponseException", record.Reset}, {"UnknownHostException", record.DNS}, {"BindException", record.ClientLimit},
	{"SSL", record.TLS}, {"SocketException", record.Reset},
}

func jtlOutcome(r jtlRow) (record.Outcome, []byte) {
	if class, ok := bytes.CutPrefix(r.code, []byte(nonHTTP)); ok {
		for _, c := range jtlClasses {
			if bytes.Contains(class, []byte(c.class)) {
				return c.outcome, class
			}
		}
		return record.Failure, class
	}
	switch {
	case r.success:
		return record.Success, nil
	case string(r.code) == "429", string(r.code) == "503":
		return record.Rejected, r.code
	case string(r.code) == "504":
		return record.Timeout, r.code
	case len(r.code) > 0 && r.code[0] == '2':
		return record.Failure, []byte("assertion failed")
	default:
		return record.Failure, r.code
	}
}

// cells ends the gathering. Transactions count where asked for, or where the file holds nothing else.
func (j *jtl) cells(variant string) ([]record.Cell, error) {
	from := j.requests
	switch {
	case j.opt.Transactions && j.sums.count > 0:
		from = j.sums
		j.caveat("transactions", fmt.Sprintf("transaction controllers are counted as asked, their %d children are not", j.counted))
	case j.requests.count == 0 && j.sums.count > 0:
		from = j.sums
		j.caveat("transactions", "the file holds transaction controllers only: each is the sum of the requests within it")
	case j.sums.count > 0:
		j.caveat("transactions", fmt.Sprintf("%d rows of transaction controllers are sums of rows counted already, and left out", j.sums.count))
	}
	if from.count == 0 {
		return nil, faultAt(0, "check that the test ran and that the file is whole", "no samples")
	}
	if j.subs > 0 {
		j.caveat("sub-samples", fmt.Sprintf("%d rows of sub-samples (redirects, embedded resources) are part of the row before them, and left out", j.subs))
	}
	j.caveat("resolution", "times are whole milliseconds, taken as the start of the sample; connecting is part of them")
	if len(j.hosts) > 1 {
		j.caveat("merged-agents", fmt.Sprintf("%d agents are merged by their own clocks: skew between them moves the curve", len(j.hosts)))
	}
	return from.cells(record.Imported{Tool: "jmeter", Variant: variant, Caveats: j.caveats,
		Latency: record.LatencyMeaning{From: "sent", Connect: true}}), nil
}

func (j *jtl) caveat(code, text string) {
	j.caveats = append(j.caveats, record.ImportCaveat{Code: code, Text: text})
}

// readJTL tells XML from CSV by the first byte that is not a space.
func readJTL(in *bufio.Reader, opt Options) ([]record.Cell, error) {
	skipMark(in)
	first, err := firstByte(in)
	if err == io.EOF {
		return nil, faultAt(0, "check that the test ran and that the file is whole", "the file is empty")
	}
	if err != nil {
		return nil, err
	}
	if first == '<' {
		return readJTLXML(in, opt)
	}
	return readJTLCSV(in, opt)
}

// skipMark passes over a UTF-8 byte order mark.
func skipMark(in *bufio.Reader) {
	if head, _ := in.Peek(3); bytes.Equal(head, []byte("\xef\xbb\xbf")) {
		_, _ = in.Discard(3)
	}
}

// firstByte passes over white space and peeks at what follows.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		head, err := in.Peek(1)
		if err != nil {
			return 0, err
		}
		if !bytes.Contains([]byte(" \t\r\n"), head) {
			return head[0], nil
		}
		_, _ = in.Discard(1)
	}
}

// jtlColumns are the columns of a JTL in the only order in which JMeter writes them.
var jtlColumns = []string{"timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType", "success",
	"failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Filename", "Latency", "Encoding", "SampleCount", "ErrorCount",
	"Hostname", "IdleTime", "Connect"}

// jtlDefault are the columns of JMeter 5 where nothing else is configured.
var jtlDefault = []string{"timeStamp", "elapsed", "label", "responseCode", "responseMessage", "threadName", "dataType", "success",
	"failureMessage", "bytes", "sentBytes", "grpThreads", "allThreads", "URL", "Latency", "IdleTime", "Connect"}

// jtlCSV is a CSV in reading: where each column stands, -1 for none.
type jtlCSV struct {
	rows    rows
	width   int
	index   map[string]int
	layout  string // of formatted stamps; empty for epoch ms
	columns struct{ stamp, elapsed, label, code, message, thread, success, users, count, host int }
}

func readJTLCSV(in *bufio.Reader, opt Options) ([]record.Cell, error) {
	c, gathered, err := openJTLCSV(in, opt)
	if err != nil {
		return nil, err
	}
	for {
		fields, err := c.rows.next()
		if err == io.EOF {
			return gathered.cells("CSV")
		}
		if err == errOpenQuote || (err == nil && len(fields) < c.width && !c.rows.ended) {
			gathered.caveat("truncated", fmt.Sprintf("the last record (line %d) is cut off, and left out", c.rows.line))
			return gathered.cells("CSV")
		}
		if err != nil {
			return nil, faultAt(c.rows.line, "check that the file is whole", "%v", err)
		}
		if len(fields) == 1 && len(fields[0]) == 0 {
			continue
		}
		row, err := c.row(fields, opt)
		if err != nil {
			return nil, err
		}
		if err := gathered.add(row, c.rows.line); err != nil {
			return nil, err
		}
	}
}

func openJTLCSV(in *bufio.Reader, opt Options) (*jtlCSV, *jtl, error) {
	head, err := in.Peek(min(in.Size(), 1<<16))
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	gathered := newJTL(opt)
	c := &jtlCSV{rows: rows{in: in, delim: delimiterOf(line)}}
	if first := line[0]; first >= '0' && first <= '9' {
		gathered.caveat("no-header", "the file has no header: JMeter 5's default columns are assumed")
		return c, gathered, c.locate(jtlDefault)
	}
	fields, err := c.rows.next()
	if err != nil {
		return nil, nil, faultAt(1, "check that this is a JTL", "%v", err)
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = string(f)
	}
	return c, gathered, c.locate(names)
}

// delimiterOf finds the configured delimiter: the first byte that ends a name or number.
func delimiterOf(line []byte) byte {
	for _, b := range line {
		if b == ',' || b == '\t' || b == ';' || b == '|' {
			return b
		}
	}
	return ','
}

// locate notes where the columns stand, and refuses a header that JMeter would not write.
func (c *jtlCSV) locate(names []string) error {
	c.width = len(names)
	c.index = map[string]int{}
	last := -1
	for i, name := range names {
		at := slices.Index(jtlColumns, name)
		if at < 0 {
			if i == 0 {
				return faultAt(1, "pass --format's right name, or a file with JMeter's header", "the header begins with %q, which is no column of a JTL (%s, …)", clip(name), strings.Join(jtlColumns[:3], ", "))
			}
			continue // A sample variable, or a column of another service.
		}
		if at <= last {
			return faultAt(1, "restore the order in which JMeter wrote the columns", "column %q stands after %q: JMeter never writes this order, so the columns may be mixed up", name, jtlColumns[last])
		}
		last = at
		c.index[name] = i
	}
	for _, needed := range []string{"timeStamp", "elapsed"} {
		if _, ok := c.index[needed]; !ok {
			return faultAt(1, "save with jmeter.save.saveservice."+map[string]string{"timeStamp": "timestamp_format=ms", "elapsed": "time=true"}[needed],
				"no column %q: neither rate nor percentile can be had", needed)
		}
	}
	at := func(name string) int {
		if i, ok := c.index[name]; ok {
			return i
		}
		return -1
	}
	c.columns.stamp, c.columns.elapsed, c.columns.label, c.columns.code = at("timeStamp"), at("elapsed"), at("label"), at("responseCode")
	c.columns.message, c.columns.thread, c.columns.success = at("responseMessage"), at("threadName"), at("success")
	c.columns.users, c.columns.count, c.columns.host = at("allThreads"), at("SampleCount"), at("Hostname")
	return nil
}

func (c *jtlCSV) row(fields [][]byte, opt Options) (jtlRow, error) {
	var r jtlRow
	if len(fields) < c.width {
		return r, faultAt(c.rows.line, "check that the file is whole and its delimiter the same throughout", "%d fields, the header has %d", len(fields), c.width)
	}
	field := func(i int) []byte {
		if i < 0 {
			return nil
		}
		return fields[i]
	}
	var err error
	if r.stamp, err = c.stampOf(field(c.columns.stamp), opt); err != nil {
		return r, err
	}
	elapsed := field(c.columns.elapsed)
	var ok bool
	if r.elapsed, ok = integer(elapsed); !ok {
		return r, faultAt(c.rows.line, "check the file", "elapsed: found %q, want whole milliseconds", clip(string(elapsed)))
	}
	r.label, r.code, r.message = field(c.columns.label), field(c.columns.code), field(c.columns.message)
	r.thread, r.host = field(c.columns.thread), field(c.columns.host)
	r.users, _ = integer(field(c.columns.users))
	r.count, _ = integer(field(c.columns.count))
	if c.columns.success < 0 {
		r.success = len(r.code) > 0 && (r.code[0] == '2' || r.code[0] == '3')
	} else {
		r.success = string(field(c.columns.success)) == "true"
	}
	return r, nil
}

// jtlLayouts are the formats of stamps that are met in practice.
var jtlLayouts = []string{"2006/01/02 15:04:05.000", "2006-01-02 15:04:05.000", "2006/01/02 15:04:05", "2006-01-02 15:04:05",
	"2006-01-02T15:04:05.000Z07:00", "2006-01-02T15:04:05.000", "01/02/2006 15:04:05", "02.01.2006 15:04:05"}

func (c *jtlCSV) stampOf(text []byte, opt Options) (int64, error) {
	if ms, ok := integer(text); ok {
		return milliseconds(ms), nil
	}
	if c.layout != "" {
		if t, err := time.ParseInLocation(c.layout, string(text), opt.Location); err == nil {
			return t.UnixNano(), nil
		}
	}
	for _, layout := range jtlLayouts {
		if t, err := time.ParseInLocation(layout, string(text), opt.Location); err == nil {
			c.layout = layout
			return t.UnixNano(), nil
		}
	}
	return 0, faultAt(c.rows.line, "save with jmeter.save.saveservice.timestamp_format=ms", "timeStamp: found %q, want epoch milliseconds or a date such as %s", clip(string(text)), jtlLayouts[0])
}
