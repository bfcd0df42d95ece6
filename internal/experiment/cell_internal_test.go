package experiment

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/record"
)

func TestATargetThatAnswersNothingIsToldInTheWordsOfWhatItDid(t *testing.T) {
	request := plan.Request{URL: "http://127.0.0.1:1/", Timeout: 500 * time.Millisecond}
	silent := &tap{planned: 7}
	silent.ends[record.Timeout] = 7
	if err := silent.silence(request); !errors.Is(err, load.ErrUnreachable) || !strings.Contains(err.Error(), "no answer within its timeout of 500ms") {
		t.Errorf("found %v", err)
	}
	closing := &tap{planned: 80}
	closing.ends[record.Timeout], closing.ends[record.Reset] = 1, 79
	err := closing.silence(request)
	if !errors.Is(err, load.ErrUnreachable) || !strings.Contains(err.Error(), "none of 80 requests was answered; 79 ended as reset") ||
		strings.Contains(err.Error(), "timeout") {
		t.Errorf("found %v", err)
	}
}

func TestWhatAWriterSaysTwiceIsToldOnce(t *testing.T) {
	full := errors.New("the disk is full")
	if err := joinNew(full, full); err.Error() != "the disk is full" {
		t.Errorf("found %q", err)
	}
	if err := joinNew(errors.New("died"), full); err.Error() != "died\nthe disk is full" {
		t.Errorf("found %q", err)
	}
	if err := joinNew(nil, full); !errors.Is(err, full) {
		t.Errorf("found %v", err)
	}
}

func TestASourcesNoteIsToldOnceARun(t *testing.T) {
	var o once
	if !o.first("host") || o.first("host") || !o.first("order") {
		t.Error("first is not the first alone")
	}
}
