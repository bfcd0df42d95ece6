// Package jolokia reads what Jolokia, which serves a JVM's MBeans over HTTP, answers to a bulk read of the pools that Loadline knows. It
// does no I/O.
package jolokia

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/loadline-dev/loadline/internal/record"
)

// bean is a kind of MBean with what its attributes mean.
type bean struct {
	pattern string
	kind    record.PoolKind
	name    func(properties map[string]string, rest string) string
	fields  map[string]func(*record.PoolSample) **float64
}

func size(p *record.PoolSample) **float64      { return &p.Size }
func core(p *record.PoolSample) **float64      { return &p.Core }
func most(p *record.PoolSample) **float64      { return &p.Max }
func active(p *record.PoolSample) **float64    { return &p.Active }
func queue(p *record.PoolSample) **float64     { return &p.Queue }
func capacity(p *record.PoolSample) **float64  { return &p.Capacity }
func waiting(p *record.PoolSample) **float64   { return &p.Waiting }
func completed(p *record.PoolSample) **float64 { return &p.Completed }

type fields = map[string]func(*record.PoolSample) **float64

// beans are Tomcat's connectors and executors, its and Commons' connection pools, HikariCP and Druid.
func beans() []bean {
	property := func(key string) func(map[string]string, string) string {
		return func(p map[string]string, _ string) string { return strings.Trim(p[key], `"`) }
	}
	hikari := func(_ map[string]string, rest string) string {
		name := rest[strings.IndexByte(rest, '(')+1:]
		return strings.TrimSuffix(name, ")")
	}
	return []bean{
		{pattern: "Catalina:type=ThreadPool,name=*", kind: record.KindPool, name: property("name"),
			fields: fields{"currentThreadCount": size, "currentThreadsBusy": active, "maxThreads": most, "minSpareThreads": core}},
		{pattern: "Tomcat:type=ThreadPool,name=*", kind: record.KindPool, name: property("name"),
			fields: fields{"currentThreadCount": size, "currentThreadsBusy": active, "maxThreads": most, "minSpareThreads": core}},
		{pattern: "Catalina:type=Executor,name=*", kind: record.KindPool, name: property("name"),
			fields: fields{"poolSize": size, "activeCount": active, "maxThreads": most, "minSpareThreads": core, "queueSize": queue, "completedTaskCount": completed, "maxQueueSize": capacity}},
		{pattern: "com.zaxxer.hikari:type=Pool (*)", kind: record.KindBulkhead, name: hikari,
			fields: fields{"ActiveConnections": active, "TotalConnections": size, "ThreadsAwaitingConnection": waiting}},
		{pattern: "com.zaxxer.hikari:type=PoolConfig (*)", kind: record.KindBulkhead, name: hikari, fields: fields{"MaximumPoolSize": most}},
		{pattern: "org.apache.commons.pool2:type=*,name=*", kind: record.KindBulkhead, name: property("name"),
			fields: fields{"NumActive": active, "NumWaiters": waiting, "MaxTotal": most, "ReturnedCount": completed}},
		{pattern: "tomcat.jdbc:type=ConnectionPool,*", kind: record.KindBulkhead, name: property("name"),
			fields: fields{"Active": active, "Size": size, "MaxActive": most, "WaitCount": waiting}},
		{pattern: "com.alibaba.druid:type=DruidDataSource,*", kind: record.KindBulkhead, name: property("id"),
			fields: fields{"ActiveCount": active, "PoolingCount": nil, "MaxActive": most, "WaitThreadCount": waiting}},
	}
}

// Request is the body of the bulk read: HTTP POST to the agent's address.
func Request() ([]byte, error) {
	type read struct {
		Type      string         `json:"type"`
		MBean     string         `json:"mbean"`
		Attribute []string       `json:"attribute"`
		Config    map[string]any `json:"config"`
	}
	var out []read
	for _, b := range beans() {
		attributes := make([]string, 0, len(b.fields))
		for name := range b.fields {
			attributes = append(attributes, name)
		}
		slices.Sort(attributes)
		out = append(out, read{"read", b.pattern, attributes, map[string]any{"ignoreErrors": true}})
	}
	return json.Marshal(out)
}

// answer is one of the bulk's. A pattern that matches no bean is answered with 404, which is none of the caller's faults.
type answer struct {
	Status int                                   `json:"status"`
	Error  string                                `json:"error"`
	Value  map[string]map[string]json.RawMessage `json:"value"`
}

// Read makes pools of the answers, without service and time.
func Read(body io.Reader) ([]record.PoolSample, error) {
	var raw []json.RawMessage
	if err := json.NewDecoder(body).Decode(&raw); err != nil {
		return nil, fmt.Errorf("jolokia: found no list of answers: %w", err)
	}
	known := beans()
	if len(raw) != len(known) {
		return nil, fmt.Errorf("jolokia: found %d answers, want %d: is this address Jolokia's?", len(raw), len(known))
	}
	pools := map[string]*record.PoolSample{}
	for i, text := range raw {
		var a answer
		if err := json.Unmarshal(text, &a); err != nil || a.Status != 200 {
			continue // Most services have few of the kinds.
		}
		for object, attributes := range a.Value {
			known[i].take(pools, object, attributes)
		}
	}
	out := make([]record.PoolSample, 0, len(pools))
	for _, p := range pools {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b record.PoolSample) int { return strings.Compare(a.Pool, b.Pool) })
	return out, nil
}

func (b bean) take(pools map[string]*record.PoolSample, object string, attributes map[string]json.RawMessage) {
	_, rest, _ := strings.Cut(object, ":")
	name := b.name(properties(rest), rest)
	if name == "" {
		return
	}
	p := pools[name]
	if p == nil {
		p = &record.PoolSample{Pool: name, Kind: b.kind}
		pools[name] = p
	}
	values := map[string]float64{}
	for attribute, text := range attributes {
		var v *float64
		if json.Unmarshal(text, &v) != nil || v == nil || *v < 0 {
			continue // -1 is how they say that there is none.
		}
		values[attribute] = *v
		if into := b.fields[attribute]; into != nil {
			*into(p) = v
		}
	}
	if idle, ok := values["PoolingCount"]; ok { // Druid tells who is idle and who is active.
		total := idle + values["ActiveCount"]
		p.Size = &total
	}
}

// properties reads the key properties of an object's name. Values in quotes may hold commas.
func properties(rest string) map[string]string {
	out := map[string]string{}
	for rest != "" {
		key, after, found := strings.Cut(rest, "=")
		if !found {
			return out
		}
		end := strings.IndexByte(after, ',')
		if strings.HasPrefix(after, `"`) {
			if closing := strings.Index(after[1:], `"`); closing >= 0 {
				end = strings.IndexByte(after[closing+2:], ',')
				if end >= 0 {
					end += closing + 2
				}
			}
		}
		if end < 0 {
			out[key] = after
			return out
		}
		out[key], rest = after[:end], after[end+1:]
	}
	return out
}
