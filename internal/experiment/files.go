package experiment

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/loadline-dev/loadline/internal/plan"
	"github.com/loadline-dev/loadline/internal/schedule"
)

// maxBody bounds a request's body. It is sent whole with every request and held in memory; a device or a pipe would have no end.
const maxBody = 64 << 20

// CheckFiles looks at the files that a plan names, in all of its settings, before anything is started: bodies of requests, recorded
// arrivals, certificates. The error is a *plan.InvalidError with every fault found.
func CheckFiles(p *plan.Plan, folder string) error {
	c := fileCheck{plan: p, folder: folder, seen: map[string]bool{}}
	for _, s := range p.Settings() {
		filled, err := p.ForSetting(s)
		if err != nil {
			return err
		}
		c.body("target.request.body_file", filled.Target.Request.BodyFile)
		c.file("target.client.tls.ca_file", filled.Target.Client.TLS.CAFile)
		for i, step := range filled.Apply {
			if step.HTTP != nil {
				c.body(fmt.Sprintf("apply[%d].http.body_file", i), step.HTTP.BodyFile)
			}
		}
		c.recorded("load.recorded", filled.Load.Recorded)
	}
	if len(c.faults) == 0 {
		return nil
	}
	return &plan.InvalidError{Faults: c.faults}
}

// fileCheck looks at each file once per key.
type fileCheck struct {
	plan   *plan.Plan
	folder string
	seen   map[string]bool
	faults []plan.Fault
}

func (c *fileCheck) fault(key, found, allowed string) {
	c.faults = append(c.faults, plan.Fault{File: c.plan.File, Key: key, Found: found, Allowed: allowed,
		Do: "paths begin in the plan's folder"})
}

// file looks at a file that may be unnamed, and gives its size; false where there is none to look at or it is at fault.
func (c *fileCheck) file(key, name string) (size int64, ok bool) {
	const allowed = "a file that can be read"
	if name == "" || c.seen[key+"\x00"+name] {
		return 0, false
	}
	c.seen[key+"\x00"+name] = true
	info, err := os.Stat(below(c.folder, name))
	if err != nil {
		c.fault(key, fmt.Sprintf("%s, %v", name, reasonOf(err)), allowed)
		return 0, false
	}
	if !info.Mode().IsRegular() {
		c.fault(key, name+", which is no file", allowed)
		return 0, false
	}
	f, err := os.Open(below(c.folder, name))
	if err != nil {
		c.fault(key, fmt.Sprintf("%s, %v", name, reasonOf(err)), allowed)
		return 0, false
	}
	f.Close()
	return info.Size(), true
}

func (c *fileCheck) body(key, name string) {
	if size, ok := c.file(key, name); ok && size > maxBody {
		c.fault(key, fmt.Sprintf("%s of %d bytes", name, size), fmt.Sprintf("at most %d bytes", maxBody))
	}
}

func (c *fileCheck) recorded(key, name string) {
	if _, ok := c.file(key, name); !ok {
		return
	}
	f, err := os.Open(below(c.folder, name))
	if err == nil {
		defer f.Close()
		_, err = schedule.Read(f)
	}
	if err != nil {
		c.fault(key, fmt.Sprintf("%s, %v", name, err), "a file of recorded arrivals")
	}
}

// reasonOf is a file error without the path, which stands beside it.
func reasonOf(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
