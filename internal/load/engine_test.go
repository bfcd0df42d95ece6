package load_test

import (
	"testing"

	"github.com/loadline-dev/loadline/internal/load"
	"github.com/loadline-dev/loadline/internal/load/loadtest"
)

func engine(t *testing.T, c load.Config) load.Engine {
	t.Helper()
	e, err := load.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestTheFastEngineDoesWhatEnginesMust(t *testing.T) {
	loadtest.Run(t, engine(t, load.Config{Kind: load.Fast}), loadtest.Features{MaxRequests: true})
}

func TestTheGeneralEngineDoesWhatEnginesMust(t *testing.T) {
	loadtest.Run(t, engine(t, load.Config{Kind: load.General}), loadtest.Features{Redirects: true})
}
