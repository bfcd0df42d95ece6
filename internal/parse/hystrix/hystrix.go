// Package hystrix reads Netflix Hystrix's property names as they stand (hystrix.command.KEY.…, hystrix.threadpool.KEY.…) with Hystrix's
// precedence and defaults, and gives the settings in force with the place each came from.
//
// Precedence, highest first: the property of the key itself, a value set in code for the key, the property of «default», the built-in
// default (HystrixPropertiesStrategy of Hystrix 1.5). A value that cannot be read is reported and the next in that order holds, as in
// Hystrix. Keys may contain dots: what counts as the property is the longest known name at the end.
//
// The package imports the standard library only.
package hystrix

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// DefaultKey is the key whose properties hold for every key without its own.
const DefaultKey = "default"

// Settings is a set of Hystrix properties, read. The zero Settings is every default.
type Settings struct {
	commands map[string]map[string]limits.Property // by key, then by property name
	pools    map[string]map[string]limits.Property
	inCode   map[string]map[string]limits.Property // values set in code, by command key
	faults   []limits.Fault
}

// Read takes the properties that begin with «hystrix.», in order (the last of a key wins), and leaves the others alone.
func Read(all []limits.Property) Settings {
	s := Settings{commands: map[string]map[string]limits.Property{}, pools: map[string]map[string]limits.Property{}}
	for _, p := range all {
		if rest, ok := strings.CutPrefix(p.At.Key, "hystrix."); ok {
			s.take(rest, p)
		}
	}
	return s
}

func (s *Settings) take(rest string, p limits.Property) {
	family, tail, _ := strings.Cut(rest, ".")
	switch family {
	case "command":
		s.put(s.commands, commandSpecs, tail, p)
	case "threadpool":
		s.put(s.pools, poolSpecs, tail, p)
	case "collapser":
		s.put(map[string]map[string]limits.Property{}, collapserSpecs, tail, p)
	case "stream", "config", "timer", "plugin", "dashboard", "shareSecurityContext", "metrics", "wrappers":
		return // Not about limits.
	default:
		f := limits.Fault{Kind: limits.Unknown, At: p.At, Text: "Hystrix reads no such key",
			Next: "keys begin with hystrix.command., hystrix.threadpool. or hystrix.collapser."}
		if near, ok := limits.Nearest(family, []string{"command", "threadpool", "collapser"}); ok {
			f.Next = "did you mean hystrix." + near + "." + tail + "?"
		}
		s.faults = append(s.faults, f)
	}
}

// put splits «KEY.property» at the longest known property name and keeps the value.
func (s *Settings) put(into map[string]map[string]limits.Property, specs []spec, tail string, p limits.Property) {
	longest := -1
	for i, sp := range specs {
		if strings.HasSuffix(tail, "."+sp.name) && len(tail) > len(sp.name)+1 && (longest < 0 || len(sp.name) > len(specs[longest].name)) {
			longest = i
		}
	}
	if longest < 0 {
		s.faults = append(s.faults, unknown(specs, tail, p.At))
		return
	}
	sp := specs[longest]
	key := tail[:len(tail)-len(sp.name)-1]
	if f, bad := sp.fault(p); bad {
		s.faults = append(s.faults, f)
		return
	}
	if into[key] == nil {
		into[key] = map[string]limits.Property{}
	}
	into[key][sp.name] = p
}

func unknown(specs []spec, tail string, at limits.At) limits.Fault {
	f := limits.Fault{Kind: limits.Unknown, At: at, Text: "Hystrix reads no such property: the line has no effect"}
	key, name, found := strings.Cut(tail, ".")
	if !found {
		f.Next = "a key and a property follow the family, such as hystrix.command.KEY.execution.timeout.enabled"
		return f
	}
	names := make([]string, len(specs))
	for i, sp := range specs {
		names[i] = sp.name
	}
	if near, ok := limits.Nearest(name, names); ok {
		f.Next = "did you mean " + at.Key[:len(at.Key)-len(tail)] + key + "." + near + "?"
	} else {
		f.Next = "see Hystrix's configuration page for the names"
	}
	return f
}

// Code adds a value set in code for a command (HystrixCommandProperties.Setter), which stands above the properties of «default». name
// is the property without its prefix; at says what set it.
func (s *Settings) Code(command, name, value string, at limits.At) {
	if s.inCode == nil {
		s.inCode = map[string]map[string]limits.Property{}
	}
	if s.inCode[command] == nil {
		s.inCode[command] = map[string]limits.Property{}
	}
	s.inCode[command][name] = limits.Property{Value: value, At: at}
}

// Faults are the properties that could not be taken as they stand.
func (s *Settings) Faults() []limits.Fault { return slices.Clone(s.faults) }

// CommandKeys are the keys that have a property or a value in code, sorted, «default» among them only where it has one.
func (s *Settings) CommandKeys() []string {
	all := map[string]bool{}
	for key := range s.commands {
		all[key] = true
	}
	for key := range s.inCode {
		all[key] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// PoolKeys are the keys that have a property, sorted.
func (s *Settings) PoolKeys() []string { return slices.Sorted(maps.Keys(s.pools)) }

// Default is a property of «default» as it is written, and false where it is not. Family is command or threadpool.
func (s *Settings) Default(family, name string) (limits.Property, bool) {
	from := s.commands
	if family == "threadpool" {
		from = s.pools
	}
	p, ok := from[DefaultKey][name]
	return p, ok
}

// lookup finds the property in force by precedence.
func lookup(sp spec, prefix string, layers ...map[string]limits.Property) (limits.Property, bool) {
	for _, layer := range layers {
		if p, ok := layer[sp.name]; ok {
			return p, true
		}
	}
	return limits.Property{Value: sp.builtIn, At: limits.At{Key: prefix + sp.name}}, false
}

// find gives the value of one property in the form that parse makes of it.
type scope struct {
	specs  []spec
	prefix string
	layers []map[string]limits.Property
}

func (s *Settings) command(key string) scope {
	return scope{specs: commandSpecs, prefix: "hystrix.command." + key + ".",
		layers: []map[string]limits.Property{s.commands[key], s.inCode[key], s.commands[DefaultKey]}}
}

func (s *Settings) pool(key string) scope {
	return scope{specs: poolSpecs, prefix: "hystrix.threadpool." + key + ".",
		layers: []map[string]limits.Property{s.pools[key], s.pools[DefaultKey]}}
}

// of reads the property called name. Values were checked when they were read, so a failing parse is impossible but for values in code.
func of[T any](sc scope, name string, parse func(string) (T, error)) limits.Of[T] {
	i := slices.IndexFunc(sc.specs, func(sp spec) bool { return sp.name == name })
	sp := sc.specs[i]
	p, given := lookup(sp, sc.prefix, sc.layers...)
	v, err := parse(strings.TrimSpace(p.Value))
	if err != nil {
		v, _ = parse(sp.builtIn)
		return limits.Default(v, sc.prefix+name)
	}
	return limits.Of[T]{Value: v, Known: true, Given: given, At: p.At}
}

func (sc scope) int(name string) limits.Of[int]   { return of(sc, name, strconv.Atoi) }
func (sc scope) bool(name string) limits.Of[bool] { return of(sc, name, parseBool) }
func (sc scope) text(name string) limits.Of[string] {
	return of(sc, name, func(s string) (string, error) { return s, nil })
}

func (sc scope) millis(name string) limits.Of[time.Duration] {
	return of(sc, name, func(s string) (time.Duration, error) { return duration(s, time.Millisecond) })
}

func (sc scope) minutes(name string) limits.Of[time.Duration] {
	return of(sc, name, func(s string) (time.Duration, error) { return duration(s, time.Minute) })
}

func duration(s string, unit time.Duration) (time.Duration, error) {
	n, err := strconv.Atoi(s)
	bound := int(int64(1<<62) / int64(unit))
	return time.Duration(min(max(n, -bound), bound)) * unit, err
}

// parseBool takes what Archaius takes as a boolean (org.apache.commons.lang.BooleanUtils).
func parseBool(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "true", "t", "yes", "y", "on", "1":
		return true, nil
	case "false", "f", "no", "n", "off", "0":
		return false, nil
	default:
		return false, strconv.ErrSyntax
	}
}
