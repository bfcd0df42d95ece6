package hystrix_test

import (
	"strings"
	"testing"
	"time"

	"github.com/loadline-dev/loadline/internal/parse/hystrix"
	"github.com/loadline-dev/loadline/internal/parse/limits"
	"github.com/loadline-dev/loadline/internal/parse/properties"
)

func read(t *testing.T, text string) hystrix.Settings {
	t.Helper()
	props, faults := properties.Parse(text, "app.properties")
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return hystrix.Read(props)
}

// The values are those of Hystrix's configuration documentation.
func TestDefaultsAreHystrixs(t *testing.T) {
	s := read(t, "")
	c, p := s.Command("any"), s.Pool("any")
	for _, x := range []struct {
		name      string
		got, want any
	}{
		{"strategy", c.Strategy.Value, "THREAD"}, {"timeout", c.Timeout.Value, time.Second}, {"timeout enabled", c.TimeoutEnabled.Value, true},
		{"semaphore", c.SemaphorePermits.Value, 10}, {"fallback", c.FallbackPermits.Value, 10}, {"volume", c.RequestVolumeThreshold.Value, 20},
		{"sleep", c.SleepWindow.Value, 5 * time.Second}, {"percent", c.ErrorThresholdPercentage.Value, 50}, {"snapshot", c.HealthSnapshot.Value, 500 * time.Millisecond},
		{"window", c.RollingWindow.Value, 10 * time.Second}, {"buckets", c.RollingBuckets.Value, 10},
		{"core", p.CoreSize.Value, 10}, {"maximum", p.MaximumSize.Value, 10}, {"diverge", p.AllowDiverge.Value, false}, {"queue", p.MaxQueueSize.Value, -1},
		{"threshold", p.QueueSizeRejectionThreshold.Value, 5}, {"keep alive", p.KeepAlive.Value, time.Minute},
	} {
		if x.got != x.want {
			t.Errorf("%s: got %v, want %v", x.name, x.got, x.want)
		}
	}
	if c.Timeout.Given || c.Timeout.At.Key != "hystrix.command.any.execution.isolation.thread.timeoutInMilliseconds" {
		t.Errorf("a default says which key would change it: got %+v", c.Timeout)
	}
}

func TestTheKeysOwnPropertyStandsAboveCodeAndCodeAboveTheDefaultProperty(t *testing.T) {
	const name = "execution.isolation.thread.timeoutInMilliseconds"
	s := read(t, "hystrix.command.default."+name+"=300\nhystrix.command.price."+name+"=800")
	inCode := limits.At{Key: "in code"}
	s.Code("price", name, "500", inCode)
	s.Code("detail", name, "500", inCode)
	for key, want := range map[string]time.Duration{"price": 800, "detail": 500, "other": 300} {
		if got := s.Command(key).Timeout.Value; got != want*time.Millisecond {
			t.Errorf("%s: got %v, want %v ms", key, got, int64(want))
		}
	}
	if at := s.Command("price").Timeout.At; at.Line != 2 || at.File != "app.properties" {
		t.Errorf("the place of the value in force: got %v", at)
	}
}

func TestAKeyMayContainDots(t *testing.T) {
	s := read(t, "hystrix.command.OrderService#detail(java.lang.Long).circuitBreaker.requestVolumeThreshold=7")
	if got := s.Command("OrderService#detail(java.lang.Long)").RequestVolumeThreshold.Value; got != 7 || len(s.Faults()) != 0 {
		t.Errorf("got %d, faults %v", got, s.Faults())
	}
}

func TestAMisspeltPropertyNamesTheNearestOne(t *testing.T) {
	for text, want := range map[string]string{
		"hystrix.command.default.circuitBreaker.requestVolumeTreshold=20":                      "hystrix.command.default.circuitBreaker.requestVolumeThreshold",
		"hystrix.threadpool.default.coresize=10":                                               "hystrix.threadpool.default.coreSize",
		"hystrix.threadPool.default.coreSize=10":                                               "hystrix.threadpool.default.coreSize",
		"hystrix.command.default.execution.isolation.semaphore.maxConcurentRequests=3":         "hystrix.command.default.execution.isolation.semaphore.maxConcurrentRequests",
		"hystrix.threadpool.default.allowMaximumSizeToDivergeFromCoresize=true":                "hystrix.threadpool.default.allowMaximumSizeToDivergeFromCoreSize",
		"hystrix.command.price.execution.isolation.thread.timeoutInMiliseconds=800":            "hystrix.command.price.execution.isolation.thread.timeoutInMilliseconds",
		"hystrix.command.price.metrics.healthSnapshot.intervallInMilliseconds=800":             "hystrix.command.price.metrics.healthSnapshot.intervalInMilliseconds",
		"hystrix.collapser.any.timerDelayInMillisecond=1":                                      "hystrix.collapser.any.timerDelayInMilliseconds",
		"hystrix.command.default.fallback.isolation.semaphore.maxConcurrentRequest=10":         "hystrix.command.default.fallback.isolation.semaphore.maxConcurrentRequests",
		"hystrix.command.default.metrics.rollingStats.timeInMillisecond=10000":                 "hystrix.command.default.metrics.rollingStats.timeInMilliseconds",
		"hystrix.threadpool.default.queueSizeRejectionTreshold=10":                             "hystrix.threadpool.default.queueSizeRejectionThreshold",
		"hystrix.command.default.circuitBreaker.errorThresholdPercent=50":                      "hystrix.command.default.circuitBreaker.errorThresholdPercentage",
		"hystrix.command.default.execution.isolation.thread.interruptOnTimeOut=true":           "hystrix.command.default.execution.isolation.thread.interruptOnTimeout",
		"hystrix.command.default.execution.timeout.enable=true":                                "hystrix.command.default.execution.timeout.enabled",
		"hystrix.command.default.circuitBreaker.sleepWindowInMillis=5000":                      "hystrix.command.default.circuitBreaker.sleepWindowInMilliseconds",
		"hystrix.command.default.metrics.rollingPercentile.bucketSizes=5000":                   "hystrix.command.default.metrics.rollingPercentile.bucketSize",
		"hystrix.command.default.requestCache.enable=false":                                    "hystrix.command.default.requestCache.enabled",
		"hystrix.command.default.execution.isolation.semaphore.maxConcurrentrequests.typo=100": "",
	} {
		s := read(t, text)
		faults := s.Faults()
		if len(faults) != 1 || faults[0].Kind != limits.Unknown || !strings.Contains(faults[0].Next, want) {
			t.Errorf("%s: got %v, want a hint of %s", text, faults, want)
		}
	}
}

func TestAnUnreadableValueIsReportedAndTheNextInPrecedenceHolds(t *testing.T) {
	s := read(t, "hystrix.threadpool.default.coreSize=30\nhystrix.threadpool.price.coreSize=ten\nhystrix.threadpool.price.maxQueueSize=-2\n"+
		"hystrix.command.price.execution.isolation.strategy=PROCESS")
	if got := s.Pool("price").CoreSize.Value; got != 30 {
		t.Errorf("core: got %d, want the default property's 30", got)
	}
	faults := s.Faults()
	if len(faults) != 3 || faults[0].Kind != limits.Invalid || faults[0].At.Line != 2 || !strings.Contains(faults[0].Text, `"ten"`) {
		t.Errorf("faults: got %v", faults)
	}
}

func TestMaximumSizeActsOnlyWhenItMayDivergeAndIsLiftedToCore(t *testing.T) {
	for _, c := range []struct {
		text string
		max  int
	}{
		{"coreSize=10|maximumSize=30", 10},
		{"coreSize=10|maximumSize=30|allowMaximumSizeToDivergeFromCoreSize=true", 30},
		{"coreSize=40|maximumSize=30|allowMaximumSizeToDivergeFromCoreSize=true", 40},
		{"coreSize=30", 30},
	} {
		s := read(t, "hystrix.threadpool.p."+strings.ReplaceAll(c.text, "|", "\nhystrix.threadpool.p."))
		if p := s.Pool("p").Common(); p.Max.Value != c.max {
			t.Errorf("%s: max %d, want %d", c.text, p.Max.Value, c.max)
		}
	}
}

func TestAQueueOfZeroOrLessHandsOffAndHasNoThreshold(t *testing.T) {
	for _, size := range []string{"-1", "0"} {
		s := read(t, "hystrix.threadpool.p.maxQueueSize="+size+"\nhystrix.threadpool.p.queueSizeRejectionThreshold=6")
		if p := s.Pool("p").Common(); p.Queue.Value != 0 || p.Threshold.Known {
			t.Errorf("%s: got queue %d, threshold %+v", size, p.Queue.Value, p.Threshold)
		}
	}
}

func TestACommandTakesItsOverriddenPoolThenItsNamesakeThenTheDefault(t *testing.T) {
	s := read(t, "hystrix.command.a.threadPoolKeyOverride=shared\nhystrix.threadpool.b.coreSize=3\nhystrix.command.b.execution.timeout.enabled=true\nhystrix.command.c.execution.timeout.enabled=true")
	for key, want := range map[string]string{"a": "shared", "b": "b", "c": "default"} {
		if got := s.PoolKey(key); got != want {
			t.Errorf("%s: got %s, want %s", key, got, want)
		}
	}
}

func TestAWindowThatItsBucketsDoNotDivideIsAFault(t *testing.T) {
	s := read(t, "hystrix.command.a.metrics.rollingStats.numBuckets=7")
	sys := s.Limits()
	if len(sys.Faults) != 1 || sys.Faults[0].Kind != limits.Invalid || sys.Faults[0].At.Line != 1 {
		t.Errorf("got %v", sys.Faults)
	}
}

func FuzzRead(f *testing.F) {
	f.Add("hystrix.command.a.b.execution.timeout.enabled=true\nhystrix.threadpool.default.coreSize=99999999999999999999")
	f.Add("hystrix.command.=1\nhystrix.=2\nhystrix.threadpool.x.keepAliveTimeMinutes=2147483647")
	f.Fuzz(func(t *testing.T, text string) {
		props, _ := properties.Parse(text, "f")
		s := hystrix.Read(props)
		sys := s.Limits()
		for _, p := range sys.Pools {
			if !p.Core.Known || p.Core.Value < 1 || p.Max.Value < p.Core.Value || p.Queue.Value < 0 || p.KeepAlive.Value < 0 {
				t.Fatalf("pool out of range: %+v", p)
			}
		}
		for _, c := range sys.Commands {
			if !c.Timeout.Known || c.Timeout.Value < 0 || c.Breaker == nil {
				t.Fatalf("command out of range: %+v", c)
			}
		}
	})
}
