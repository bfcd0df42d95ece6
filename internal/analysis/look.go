package analysis

import (
	"time"

	"github.com/loadline-dev/loadline/internal/analysis/diagnose"
	"github.com/loadline-dev/loadline/internal/analysis/observed"
	"github.com/loadline-dev/loadline/internal/record"
)

// Scenes are the highest steps of every setting of a run as the diagnosis looks at them, each beside the lower steps of its setting. Steps in
// which nothing was measured have none.
func Scenes(run record.Run) []SettingScene {
	var r Result
	under := r.examine(run, wishOf(""))
	var out []SettingScene
	for _, cells := range bySetting(r.Cells) {
		steps := byLoad(cells)
		for _, c := range steps[len(steps)-1] {
			if s := under[c].scene; s != nil {
				out = append(out, SettingScene{Setting: c.Setting, Load: c.Load, Repeat: c.Repeat, Scene: *s})
			}
		}
	}
	return out
}

// SettingScene is a step of a run as the diagnosis looks at it.
type SettingScene struct {
	Setting record.Setting
	Load    Load
	Repeat  int
	Scene   diagnose.Scene
}

// SceneOfLook is a look at services whose load is not ours: samples and dumps without intervals, taken from the cell's origin for some time.
func SceneOfLook(cell record.Cell, cores int, length time.Duration) (diagnose.Scene, []Caveat) {
	window := span{end: length}
	s := diagnose.Scene{To: length, Cores: cores, Services: observed.Of(cell, observed.Span{End: length}), HostCPURatio: hostSeries(cell, window),
		AcceptQueue: acceptQueue(cell, window)}
	r := CellResult{Services: s.Services}
	s.OwnCores = coresBusy(&r)
	var unread []Caveat
	s.Dumps, unread = dumpsOf(cell)
	return s, unread
}
