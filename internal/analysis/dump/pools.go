package dump

import (
	"strings"

	"github.com/loadline-dev/loadline/internal/parse/threaddump"
)

// PoolOf names the pool that a thread belongs to: its name without the number at the end, a container's or label's name where the
// dump tells one, or the function that started it.
func PoolOf(t *threaddump.Thread) string {
	switch {
	case labelled(t) != "":
		return labelled(t)
	case t.Internal:
		return "(JVM)"
	case strings.HasPrefix(t.CreatedBy, "runtime."):
		return "(runtime)"
	case t.Name == "" && t.Container != "" && t.Container != "<root>":
		return withoutHash(t.Container)
	case t.Name == "" && t.Virtual:
		return "(virtual)"
	case t.Name == "" && t.CreatedBy != "":
		return t.CreatedBy
	case t.Name == "" && len(t.Stack) > 0:
		return t.Stack[len(t.Stack)-1].Func
	case t.Name == "":
		return "(unnamed)"
	}
	return poolOfName(t.Name)
}

// labelled is the pool that a goroutine's labels name: «pool», or the worker's own name without its number, as package pool labels its workers
// («price-worker-3»). Empty: none.
func labelled(t *threaddump.Thread) string {
	if pool := t.Labels["pool"]; pool != "" {
		return pool
	}
	worker := t.Labels["worker"]
	at := strings.LastIndex(worker, "-worker-")
	if at < 1 || strings.Trim(worker[at+len("-worker-"):], "0123456789") != "" {
		return ""
	}
	return worker[:at]
}

func withoutHash(container string) string {
	name, _, _ := strings.Cut(container, "@")
	return name
}

// poolOfName cuts the worker's number off: «http-nio-8080-exec-10», «ForkJoinPool-1-worker-3», «qtp123-34», «RMI TCP Connection(3)-10.0.0.1».
func poolOfName(name string) string {
	if strings.HasPrefix(name, "qtp") {
		if head, _, ok := strings.Cut(name, "-"); ok {
			return head
		}
	}
	if strings.HasPrefix(name, "RMI TCP Connection(") {
		return "RMI TCP Connection"
	}
	if strings.HasPrefix(name, "OkHttp ") {
		return "OkHttp"
	}
	end := len(name)
	for end > 0 && name[end-1] >= '0' && name[end-1] <= '9' {
		end--
	}
	if end == len(name) || end == 0 {
		return name
	}
	return strings.TrimRight(name[:end], "-_#. (:")
}

// Kind is a pool's name with every number replaced by one star: pools that are made again and again share it.
func Kind(pool string) string {
	var b strings.Builder
	number := false
	for _, c := range pool {
		if c >= '0' && c <= '9' {
			if !number {
				b.WriteByte('*')
			}
			number = true
			continue
		}
		number = false
		b.WriteRune(c)
	}
	return b.String()
}
