package jolokia_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/loadline-dev/loadline/internal/parse/jolokia"
	"github.com/loadline-dev/loadline/internal/record"
)

// answers puts Jolokia's answer to each of our reads together; those of other patterns find no bean.
func answers(t *testing.T, byPattern map[string]string) string {
	t.Helper()
	body, err := jolokia.Request()
	if err != nil {
		t.Fatal(err)
	}
	var asked []struct {
		Type      string   `json:"type"`
		MBean     string   `json:"mbean"`
		Attribute []string `json:"attribute"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, a := range asked {
		if a.Type != "read" || len(a.Attribute) == 0 {
			t.Errorf("request %+v", a)
		}
		if value, ok := byPattern[a.MBean]; ok {
			out = append(out, `{"status":200,"value":`+value+`}`)
			continue
		}
		out = append(out, `{"status":404,"error_type":"javax.management.InstanceNotFoundException","error":"No MBean"}`)
	}
	return "[" + strings.Join(out, ",") + "]"
}

func value(p *float64) any {
	if p == nil {
		return "unknown"
	}
	return *p
}

func TestPoolsOfSeveralKindsOfBeans(t *testing.T) {
	pools, err := jolokia.Read(strings.NewReader(answers(t, map[string]string{
		"Catalina:type=ThreadPool,name=*": `{"Catalina:name=\"http-nio-8080\",type=ThreadPool":{"currentThreadCount":25,"currentThreadsBusy":7,"maxThreads":200,"minSpareThreads":10},
			"Catalina:name=\"http-nio-8443\",type=ThreadPool":{"currentThreadCount":10,"currentThreadsBusy":1,"maxThreads":-1,"minSpareThreads":"none"}}`,
		"com.zaxxer.hikari:type=Pool (*)":          `{"com.zaxxer.hikari:type=Pool (orders)":{"ActiveConnections":10,"TotalConnections":10,"ThreadsAwaitingConnection":14}}`,
		"com.zaxxer.hikari:type=PoolConfig (*)":    `{"com.zaxxer.hikari:type=PoolConfig (orders)":{"MaximumPoolSize":10}}`,
		"com.alibaba.druid:type=DruidDataSource,*": `{"com.alibaba.druid:id=stock,type=DruidDataSource":{"ActiveCount":3,"PoolingCount":2,"MaxActive":20,"WaitThreadCount":0}}`,
	})))
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]record.PoolSample{}
	for _, p := range pools {
		byName[p.Pool] = p
	}
	if len(byName) != 4 {
		t.Errorf("pools %v, want 4: Hikari's two beans are one pool", byName)
	}
	tomcat := byName["http-nio-8080"]
	if tomcat.Kind != record.KindPool || value(tomcat.Size) != 25.0 || value(tomcat.Active) != 7.0 || value(tomcat.Max) != 200.0 || value(tomcat.Core) != 10.0 {
		t.Errorf("%+v", tomcat)
	}
	if p := byName["http-nio-8443"]; p.Max != nil || p.Core != nil {
		t.Errorf("-1 and a text are unknown: %v, %v", value(p.Max), value(p.Core))
	}
	if p := byName["orders"]; p.Kind != record.KindBulkhead || value(p.Waiting) != 14.0 || value(p.Max) != 10.0 {
		t.Errorf("%+v", p)
	}
	if p := byName["stock"]; value(p.Size) != 5.0 || value(p.Active) != 3.0 {
		t.Errorf("%+v", p)
	}
}

func TestWhatIsNotJolokiasIsRefused(t *testing.T) {
	for _, text := range []string{"", "<html>", "{}", "[]"} {
		if _, err := jolokia.Read(strings.NewReader(text)); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
}

func FuzzReadNeverPanics(f *testing.F) {
	f.Add(`[{"status":200,"value":{"Catalina:name=\"a,b\",type=ThreadPool":{"maxThreads":1}}},{},{},{},{},{},{},{}]`)
	f.Add(`[{"status":200,"value":{"com.zaxxer.hikari:type=Pool":{"maxThreads":null}}},1,{},{},{},{},{},{}]`)
	f.Fuzz(func(_ *testing.T, text string) { _, _ = jolokia.Read(strings.NewReader(text)) })
}
