package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/loadline-dev/loadline/internal/record"
)

// maxSettings bounds the combinations of one plan.
const maxSettings = 10_000

// readVary reads the settings and holds them against the references of the rest.
func (p *Plan) readVary(out *faults) {
	r := &reader{faults: out}
	var varied *node
	if p.root.kind == mapping {
		varied = fields{r: r, node: p.root}.find("vary")
	}
	var declared []string
	if varied != nil {
		p.Vary, declared = r.vary(varied)
	}
	used := map[string]bool{}
	p.eachOutsideVary(func(key string, n *node) { references(n, key, declared, used, out) })
	for _, name := range declared {
		if !used[name] {
			out.add(Fault{Line: varied.line, Key: "vary." + name, Found: "a varied value that nothing uses", Allowed: "values that stand as ${" + name + "} somewhere",
				Do: "write ${" + name + "} where it belongs, or remove it"})
		}
	}
}

func names(s record.Setting) []string {
	out := make([]string, len(s))
	for i, f := range s {
		out[i] = f.Name
	}
	return out
}

// vary reads the settings: listed, or factors crossed. The names come back even where the settings are at fault.
func (r *reader) vary(n *node) ([]record.Setting, []string) {
	const want = "settings: a list of mappings, or names with lists of values, which are crossed"
	f := r.open(n, "vary", want)
	if n.kind != mapping {
		return nil, nil
	}
	if len(n.entry) == 0 {
		r.add(Fault{Line: n.line, Key: "vary", Found: "nothing to vary", Allowed: want, Do: "remove vary, or name what varies"})
		return nil, nil
	}
	listed := f.find("settings")
	if listed == nil {
		return r.factors(n)
	}
	if len(n.entry) > 1 {
		r.add(Fault{Line: n.line, Key: "vary", Found: "settings beside other names", Allowed: "either settings or names to cross",
			Do: "name the varied value settings otherwise, or write all combinations under settings"})
	}
	return r.settings(listed)
}

// factors crosses names with values; the last name varies fastest.
func (r *reader) factors(n *node) ([]record.Setting, []string) {
	out := []record.Setting{nil}
	var declared []string
	for _, e := range n.entry {
		key := "vary." + e.key
		r.checkName(e.line, key, e.key)
		declared = append(declared, e.key)
		values := r.levels(e.value, key)
		if len(out)*len(values) > maxSettings {
			r.add(Fault{Line: n.line, Key: "vary", Found: fmt.Sprintf("more than %d combinations", maxSettings), Allowed: fmt.Sprintf("at most %d", maxSettings),
				Do: "vary fewer values, or list the settings that matter"})
			return nil, declared
		}
		var crossed []record.Setting
		for _, s := range out {
			for _, v := range values {
				crossed = append(crossed, append(slices.Clone(s), record.Factor{Name: e.key, Value: v}))
			}
		}
		out = crossed
	}
	return out, declared
}

func (r *reader) levels(n *node, key string) []any {
	const want = "a list of one or more values: text, numbers, true or false"
	if n.kind != sequence || len(n.items) == 0 {
		found := n.describe()
		if n.kind == sequence {
			found = "an empty list"
		}
		r.add(Fault{Line: n.line, Key: key, Found: found, Allowed: want, Do: "write [value, …]"})
		return nil
	}
	var out []any
	seen := map[string]bool{}
	for i, item := range n.items {
		at := fmt.Sprintf("%s[%d]", key, i)
		v, ok := r.level(item, at)
		if ok && seen[valueText(v)] {
			r.add(Fault{Line: item.line, Key: at, Found: valueText(v) + " a second time", Allowed: "each value once", Do: "use load.repeats to measure a setting several times"})
		}
		if ok {
			seen[valueText(v)] = true
			out = append(out, v)
		}
	}
	return out
}

// level reads one varied value and keeps its type, which the result files show.
func (r *reader) level(n *node, key string) (any, bool) {
	switch n.kind {
	case text:
		if strings.Contains(n.value, "${") {
			r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: "values without ${…}"})
			return nil, false
		}
		return n.value, true
	case boolean:
		return strings.EqualFold(n.value, "true"), true
	case number:
		if i, err := strconv.ParseInt(n.value, 10, 64); err == nil && strconv.FormatInt(i, 10) == n.value {
			return i, true
		}
		if v, ok := decimal(n); ok {
			return v, true
		}
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: "numbers in decimal notation", Do: "quote it if it is text"})
		return nil, false
	default:
		r.add(Fault{Line: n.line, Key: key, Found: n.describe(), Allowed: "text, a number, true or false"})
		return nil, false
	}
}

func (r *reader) checkName(line int, key, name string) {
	if !isName(name) {
		r.add(Fault{Line: line, Key: key, Found: fmt.Sprintf("the name %q", shorten(name)), Allowed: "letters, digits, _, - and ., a letter or _ first"})
	}
}

func listOf(n int) string {
	if n == 0 {
		return "an empty list"
	}
	return fmt.Sprintf("a list of %d", n)
}

// settings reads combinations written one by one. All name the same values, so that every reference has one in each.
func (r *reader) settings(n *node) ([]record.Setting, []string) {
	if n.kind != sequence || len(n.items) == 0 || len(n.items) > maxSettings {
		found := n.describe()
		if n.kind == sequence {
			found = listOf(len(n.items))
		}
		r.add(Fault{Line: n.line, Key: "vary.settings", Found: found, Allowed: fmt.Sprintf("a list of 1 to %d mappings", maxSettings), Do: "write [{name: value}, …]"})
		return nil, nil
	}
	var out []record.Setting
	var declared []string
	seen := map[string]int{}
	for i, item := range n.items {
		key := fmt.Sprintf("vary.settings[%d]", i)
		s := r.setting(item, key)
		if i == 0 {
			declared = names(s)
		}
		r.sameNames(item.line, key, s, declared)
		s = ordered(s, declared)
		if first, twice := seen[s.Key()]; twice {
			r.add(Fault{Line: item.line, Key: key, Found: fmt.Sprintf("the same setting as settings[%d]", first), Allowed: "each setting once",
				Do: "use load.repeats to measure a setting several times"})
		}
		seen[s.Key()] = i
		out = append(out, s)
	}
	return out, declared
}

func (r *reader) setting(n *node, key string) record.Setting {
	f := r.open(n, key, "a mapping of names and values")
	if n.kind == mapping && len(n.entry) == 0 {
		r.add(Fault{Line: n.line, Key: key, Found: "an empty setting", Allowed: "a mapping of names and values"})
	}
	var out record.Setting
	for _, e := range f.node.entry {
		r.checkName(e.line, join(key, e.key), e.key)
		if _, twice := out.Value(e.key); twice {
			continue // Told already.
		}
		if v, ok := r.level(e.value, join(key, e.key)); ok {
			out = append(out, record.Factor{Name: e.key, Value: v})
		}
	}
	return out
}

func (r *reader) sameNames(line int, key string, s record.Setting, declared []string) {
	for _, name := range declared {
		if _, ok := s.Value(name); !ok {
			r.add(Fault{Line: line, Key: key, Found: "a setting without " + name, Allowed: "the same names in every setting", Do: "add " + name})
		}
	}
	for _, f := range s {
		if !slices.Contains(declared, f.Name) {
			r.add(Fault{Line: line, Key: join(key, f.Name), Found: "a name that the first setting does not have", Allowed: strings.Join(declared, ", "),
				Do: "name the same values in every setting"})
		}
	}
}

// ordered puts a setting's factors into the order of the first setting.
func ordered(s record.Setting, declared []string) record.Setting {
	out := slices.Clone(s)
	slices.SortStableFunc(out, func(a, b record.Factor) int { return slices.Index(declared, a.Name) - slices.Index(declared, b.Name) })
	return out
}
