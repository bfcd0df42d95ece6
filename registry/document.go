package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// Schema is the name of the document's format (docs/formats/settings.md).
const Schema = "loadline.settings/1"

// Document is the settings of a whole process. Every part may be missing; what it does not say stays as the code made it. A Document
// that was given to a Registry must not be changed any more.
type Document struct {
	Schema      string                `json:"schema,omitempty"` // Schema, or empty for the same
	Replicas    int                   `json:"replicas,omitempty"`
	Downstreams map[string]Downstream `json:"downstreams,omitempty"`
	Pools       map[string]Section    `json:"pools,omitempty"`
	Bulkheads   map[string]Section    `json:"bulkheads,omitempty"`
	Breakers    map[string]Section    `json:"breakers,omitempty"`
	Commands    map[string]Section    `json:"commands,omitempty"`
	Tiers       map[string]Tier       `json:"tiers,omitempty"`
	Schedule    []Shift               `json:"schedule,omitempty"`
	Timezone    string                `json:"timezone,omitempty"` // of the schedule, such as Europe/Berlin; local time by default
}

// Downstream is a dependency and what it can bear.
type Downstream struct {
	Limit    int `json:"limit"`              // connections or calls at once, from all replicas together; at least 1
	Replicas int `json:"replicas,omitempty"` // instances of this process that share it; the document's by default
	Hosts    int `json:"hosts,omitempty"`    // its own instances, for the checks of connections per host; not known by default
}

func (d Downstream) validate(path string) error {
	if d.Limit < 1 || d.Replicas < 0 || d.Replicas > maxReplicas || d.Hosts < 0 || d.Hosts > maxReplicas {
		return fmt.Errorf("%s: limit %d, replicas %d, hosts %d: a limit of at least 1, and 0 to %d replicas and hosts are allowed",
			path, d.Limit, d.Replicas, d.Hosts, maxReplicas)
	}
	return nil
}

// Tier is a named set of settings that can be put over the document's, such as low, normal and peak.
type Tier struct {
	Pools     map[string]Section `json:"pools,omitempty"`
	Bulkheads map[string]Section `json:"bulkheads,omitempty"`
	Breakers  map[string]Section `json:"breakers,omitempty"`
	Commands  map[string]Section `json:"commands,omitempty"`
}

// Shift puts a tier in force from a time of day on, until the next shift.
type Shift struct {
	Tier string   `json:"tier"`
	From string   `json:"from"`           // 15:04
	Days []string `json:"days,omitempty"` // mon to sun; every day by default
}

// maxDocument is the longest document that is read, in bytes.
const maxDocument = 4 << 20

// ParseDocument reads a document in JSON. Unknown keys are faults. An error names the line where there is one, the key, what was found
// and what is allowed; values are checked against their kinds here and against each other when the document is applied.
func ParseDocument(text []byte) (Document, error) {
	if len(text) > maxDocument {
		return Document{}, fmt.Errorf("document: %d bytes: at most %d are read", len(text), maxDocument)
	}
	var d Document
	if err := parse(text, &d); err != nil {
		return Document{}, err
	}
	if err := d.Validate(); err != nil {
		return Document{}, err
	}
	return d, nil
}

func jsonFault(text []byte, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: not JSON: %w", lineAt(text, syntax.Offset), err)
	case errors.As(err, &kind):
		where := ""
		if kind.Field != "" {
			where = kind.Field + ": "
		}
		return fmt.Errorf("line %d: %sfound %s: %s is allowed", lineAt(text, kind.Offset), where, kind.Value, jsonName(kind.Type))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("line %d: the document ends too early", lineAt(text, int64(len(text))))
	}
	return err
}

func jsonName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Slice:
		return "a list"
	case reflect.String:
		return "text"
	default:
		return "a number"
	}
}

func lineAt(text []byte, offset int64) int {
	return 1 + bytes.Count(text[:min(max(int(offset), 0), len(text))], []byte("\n"))
}

// Validate reports every fault that can be seen without the members. It changes nothing.
func (d Document) Validate() error {
	var faults []error
	if d.Schema != "" && d.Schema != Schema {
		faults = append(faults, fmt.Errorf("schema: %q: this program reads %s", d.Schema, Schema))
	}
	if d.Replicas < 0 || d.Replicas > maxReplicas {
		faults = append(faults, fmt.Errorf("replicas: %d: 1 to %d are allowed", d.Replicas, maxReplicas))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Downstreams)) {
		faults = append(faults, d.Downstreams[name].validate("downstreams."+name))
	}
	faults = append(faults, checkSections("", d.sections)...)
	for _, name := range slices.Sorted(maps.Keys(d.Tiers)) {
		if name == "" {
			faults = append(faults, errors.New("tiers: an empty name: it stands for no tier; give each a name such as low"))
		}
		faults = append(faults, checkSections("tiers."+name+".", d.Tiers[name].sections)...)
	}
	if _, err := d.location(); err != nil {
		faults = append(faults, err)
	}
	for i, s := range d.Schedule {
		faults = append(faults, s.validate(fmt.Sprintf("schedule[%d]", i), d.Tiers))
	}
	return errors.Join(faults...)
}

func (d Document) sections(kind Kind) map[string]Section {
	return map[Kind]map[string]Section{Pool: d.Pools, Bulkhead: d.Bulkheads, Breaker: d.Breakers, Command: d.Commands}[kind]
}

func (t Tier) sections(kind Kind) map[string]Section {
	return map[Kind]map[string]Section{Pool: t.Pools, Bulkhead: t.Bulkheads, Breaker: t.Breakers, Command: t.Commands}[kind]
}

// checkSections decodes every section for its form alone.
func checkSections(prefix string, sections func(Kind) map[string]Section) []error {
	var faults []error
	for _, kind := range kinds {
		named := sections(kind)
		for _, name := range slices.Sorted(maps.Keys(named)) {
			path := prefix + string(kind) + "s." + name
			if name == "" {
				faults = append(faults, fmt.Errorf("%s: an empty name: give each entry the name of its %s", path, kind))
			}
			_, rest, err := declared(kind, named[name], path+".")
			faults = append(faults, err...)
			faults = append(faults, decode(blank(kind), rest, path+".")...)
		}
	}
	return faults
}

// Facts are what a section may say beside settings: what is known of the work, for the checks. Zero is not known.
type Facts struct {
	ServiceTime   time.Duration // how long a task or call holds its slot
	RatePerSec    float64       // offered
	CallerTimeout time.Duration // after which callers leave
	Downstream    string        // the dependency of which a task or call holds one connection
	Pool          string        // of a command isolated by a pool, by name
	Bulkhead      string        // of a command under a shared bulkhead, by name
}

// factKeys are the keys of Facts by kind.
var factKeys = map[Kind][]string{
	Pool:     {"service_time", "rate_per_sec", "caller_timeout", "downstream"},
	Bulkhead: {"service_time", "rate_per_sec", "caller_timeout", "downstream"},
	Breaker:  {"rate_per_sec", "caller_timeout"},
	Command:  {"service_time", "rate_per_sec", "downstream", "pool", "bulkhead"},
}

// declared splits a section into facts and settings.
func declared(kind Kind, s Section, path string) (Facts, Section, []error) {
	var f Facts
	v := reflect.ValueOf(&f).Elem()
	facts, rest := Section{}, Section{}
	for key, value := range s {
		if slices.Contains(factKeys[kind], key) {
			facts[key] = value
		} else {
			rest[key] = value
		}
	}
	var faults []error
	for key, value := range facts {
		if text, ok := value.(string); ok && (key == "downstream" || key == "pool" || key == "bulkhead") {
			v.FieldByName(strings.ToUpper(key[:1]) + key[1:]).SetString(text)
			continue
		}
		faults = append(faults, decode(v, Section{key: value}, path)...)
	}
	return f, rest, faults
}

func (s Shift) validate(path string, tiers map[string]Tier) error {
	var faults []error
	if _, ok := tiers[s.Tier]; !ok {
		hint := "define it under tiers"
		if near, ok := limits.Nearest(s.Tier, slices.Sorted(maps.Keys(tiers))); ok {
			hint = "did you mean " + near + "?"
		}
		faults = append(faults, fmt.Errorf("%s.tier: %q is not a tier of this document; %s", path, s.Tier, hint))
	}
	if _, err := time.Parse("15:04", s.From); err != nil {
		faults = append(faults, fmt.Errorf("%s.from: found %q: a time from 00:00 to 23:59 is allowed", path, s.From))
	}
	for _, day := range s.Days {
		if !slices.Contains(weekdays, day) {
			faults = append(faults, fmt.Errorf("%s.days: found %q: %s are allowed", path, day, strings.Join(weekdays, ", ")))
		}
	}
	return errors.Join(faults...)
}

// weekdays in the order of time.Weekday.
var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func (d Document) location() (*time.Location, error) {
	if d.Timezone == "" {
		return time.Local, nil
	}
	l, err := time.LoadLocation(d.Timezone)
	if err != nil {
		return nil, fmt.Errorf("timezone: found %q: a name such as Europe/Berlin or UTC is allowed", d.Timezone)
	}
	return l, nil
}
