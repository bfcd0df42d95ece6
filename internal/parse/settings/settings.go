// Package settings reads the configuration files of the systems whose limits Loadline checks, into the common model with file and line:
//
//   - Spring YAML and .properties: Tomcat's workers, Zuul with Ribbon and Hystrix, resilience4j, dynamic-tp, HikariCP, Jedis and Lettuce
//     pools, the application task executor;
//   - Hystrix properties alone;
//   - Loadline's own settings document (docs/formats/settings.md), as YAML or JSON, and a plain pool.
//
// Defaults are those of the systems themselves (Spring Cloud Netflix 2.2, Spring Boot 2.3 and later, Hystrix 1.5, resilience4j 2), and
// a default in force is in the model like a written value, without a line. What a file holds beside limits is left alone; a misspelt
// key in a family that is read is reported with the nearest name. The package does no I/O: files are handed in.
package settings

import (
	"path"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/parse/hystrix"
	"github.com/loadline-dev/loadline/internal/parse/limits"
	"github.com/loadline-dev/loadline/internal/parse/properties"
)

// File is one configuration file.
type File struct {
	Name string // shown in findings; its ending tells .properties from YAML and JSON
	Text []byte
}

// Read understands files together, as one application reads them: where two set a key, the later file wins, and Loadline's own
// documents may declare what the others' dependencies bear. An error is a file that cannot be read at all; what is wrong with single
// settings stands in the system's Faults.
func Read(files ...File) (limits.System, error) {
	var sys limits.System
	var all []limits.Property
	for _, f := range files {
		props, faults, err := flat(f)
		if err != nil {
			return limits.System{}, err
		}
		sys.Faults = append(sys.Faults, faults...)
		if own(props) {
			sys.Merge(readOwn(props))
			continue
		}
		all = append(all, props...)
	}
	if len(all) > 0 {
		sys.Merge(readApplication(all))
	}
	if !understood(sys) {
		return limits.System{}, nothingKnown(files)
	}
	return sys, nil
}

func flat(f File) ([]limits.Property, []limits.Fault, error) {
	if strings.EqualFold(path.Ext(f.Name), ".properties") {
		props, faults := properties.Parse(string(f.Text), f.Name)
		return props, faults, nil
	}
	props, err := flatten(f.Text, f.Name)
	return props, nil, err
}

func understood(sys limits.System) bool {
	return len(sys.Containers)+len(sys.Pools)+len(sys.Bulkheads)+len(sys.Connections)+len(sys.Commands)+len(sys.Breakers)+
		len(sys.Downstreams)+len(sys.Faults) > 0
}

func nothingKnown(files []File) error {
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.Name
	}
	return limits.Fault{Kind: limits.Invalid, At: limits.At{Key: strings.Join(names, ", ")}, Text: "no setting that is read here",
		Next: "known are pools, bulkheads, breakers and commands of a settings document, and the keys hystrix., zuul., ribbon., server.tomcat., " +
			"resilience4j., dynamictp., spring.dynamic.tp., spring.task.execution., spring.datasource. and spring.redis."}
}

// readApplication understands everything that is not Loadline's own document.
func readApplication(all []limits.Property) limits.System {
	s := newSource(all)
	sys := limits.System{}
	sys.Containers = readContainers(s)
	if s.has("zuul.") || slices.ContainsFunc(all, ribbonKey) {
		sys.Merge(readZuul(s))
	} else if s.has("hystrix.") {
		h := hystrix.Read(resolved(s))
		sys.Merge(h.Limits())
	}
	sys.Merge(readResilience(s))
	sys.Merge(readDynamic(s))
	sys.Merge(readSpringPools(s))
	sys.Faults = append(sys.Faults, s.faults...)
	return sys
}

// resolved is the Hystrix properties with placeholders replaced; those that cannot be are left out.
func resolved(s *source) []limits.Property {
	var out []limits.Property
	for _, p := range s.all {
		if !strings.HasPrefix(p.At.Key, "hystrix.") {
			continue
		}
		if q, ok := s.resolve(p, 0); ok {
			out = append(out, q)
		}
	}
	return out
}

// Lines tells on which line each key of a file stands, keys joined by dots as in findings. Of a key written twice it is the later one.
func Lines(f File) (map[string]int, error) {
	props, _, err := flat(f)
	if err != nil {
		return nil, err
	}
	out := make(map[string]int, len(props))
	for _, p := range props {
		out[p.At.Key] = p.At.Line
	}
	return out, nil
}
