package interchange

import (
	"bytes"
	"strconv"

	"github.com/loadline-dev/loadline/internal/record"
)

func statusCode(status int) []byte { return strconv.AppendInt([]byte("status "), int64(status), 10) }

// errorWords maps what a client says of an error to its class; the first that is contained in the text counts.
var errorWords = []struct {
	word    string
	outcome record.Outcome
}{
	{"connection refused", record.Refused}, {"actively refused", record.Refused},
	{"no such host", record.DNS}, {"lookup ", record.DNS}, {"name resolution", record.DNS},
	{"assign requested address", record.ClientLimit}, {"too many open files", record.ClientLimit},
	{"tls:", record.TLS}, {"x509", record.TLS}, {"certificate", record.TLS},
	{"aborted due to deadline", record.Cut},
	{"timeout", record.Timeout}, {"timed out", record.Timeout}, {"deadline exceeded", record.Timeout},
	{"reset by peer", record.Reset}, {"broken pipe", record.Reset}, {"eof", record.Reset}, {"closed", record.Reset},
}

// errorOutcome is the class of a transport error, by the words of its text.
func errorOutcome(text []byte) record.Outcome {
	text = bytes.ToLower(text)
	for _, w := range errorWords {
		if bytes.Contains(text, []byte(w.word)) {
			return w.outcome
		}
	}
	return record.Failure
}
