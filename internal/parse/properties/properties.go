// Package properties reads Java's .properties text: keys and values with the line of each. The rules are those of
// java.util.Properties.load: comments begin with # or !, a key ends at the first unescaped =, : or blank, a backslash at the end of a
// line joins it with the next, and \t \n \r \f \uXXXX are escapes. Text is taken as UTF-8.
package properties

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/loadline-dev/loadline/internal/parse/limits"
)

// Parse reads text, in the order written; a key written twice appears twice, and the later one is meant. file only marks the places.
func Parse(text, file string) ([]limits.Property, []limits.Fault) {
	var out []limits.Property
	var faults []limits.Fault
	lines := split(text)
	for i := 0; i < len(lines); {
		number := i + 1
		logical, next := join(lines, i)
		i = next
		if logical == "" {
			continue
		}
		rawKey, rawValue := cut(logical)
		key, okKey := unescape(rawKey)
		value, okValue := unescape(rawValue)
		at := limits.At{Key: key, File: file, Line: number}
		if !okKey || !okValue {
			faults = append(faults, limits.Fault{Kind: limits.Invalid, At: at, Text: `\u without four hexadecimal digits`,
				Next: `write \u and four digits, or \\u for a backslash`})
			continue
		}
		out = append(out, limits.Property{Value: value, At: at})
	}
	return out, append(faults, overwritten(out)...)
}

// overwritten names the keys that a later line takes back: the usual way in which an edit has no effect.
func overwritten(all []limits.Property) []limits.Fault {
	last := make(map[string]limits.Property, len(all))
	for _, p := range all {
		last[p.At.Key] = p
	}
	var faults []limits.Fault
	for _, p := range all {
		if wins := last[p.At.Key]; wins.At.Line != p.At.Line {
			faults = append(faults, limits.Fault{Kind: limits.WithoutEffect, At: p.At, Also: []limits.At{wins.At},
				Text: fmt.Sprintf("%q is overwritten by line %d, which says %q", p.Value, wins.At.Line, wins.Value), Next: "keep one of the two lines"})
		}
	}
	return faults
}

func split(text string) []string {
	text = strings.TrimPrefix(text, "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = strings.ReplaceAll(text, "\r", "\n")
	return strings.Split(text, "\n")
}

// join makes one logical line of those from i on, and says where the next begins. Comments and blank lines give "".
func join(lines []string, i int) (string, int) {
	line := strings.TrimLeft(lines[i], " \t\f")
	if line == "" || line[0] == '#' || line[0] == '!' {
		return "", i + 1
	}
	var b strings.Builder
	for {
		i++
		if !continues(line) {
			b.WriteString(line)
			return b.String(), i
		}
		b.WriteString(line[:len(line)-1])
		if i == len(lines) {
			return b.String(), i
		}
		line = strings.TrimLeft(lines[i], " \t\f")
	}
}

// continues is true where an odd number of backslashes ends the line.
func continues(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

func cut(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
			continue
		}
		if strings.IndexByte("=: \t\f", line[i]) >= 0 {
			end = i
			break
		}
	}
	rest := strings.TrimLeft(line[end:], " \t\f")
	if rest != "" && (rest[0] == '=' || rest[0] == ':') {
		rest = strings.TrimLeft(rest[1:], " \t\f")
	}
	return line[:end], rest
}

func unescape(s string) (string, bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return strings.ToValidUTF8(s, "\ufffd"), true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			continue
		}
		i++
		if i == len(s) {
			break
		}
		if s[i] == 'u' {
			r, ok := hex4(s[i+1:])
			if !ok {
				return "", false
			}
			b.WriteRune(r)
			i += 4
			continue
		}
		b.WriteByte(plain(s[i]))
	}
	return strings.ToValidUTF8(b.String(), "\ufffd"), true
}

func hex4(s string) (rune, bool) {
	if len(s) < 4 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:4], 16, 32)
	if err != nil {
		return 0, false
	}
	if r := rune(n); utf8.ValidRune(r) {
		return r, true
	}
	return utf8.RuneError, true // half of a surrogate pair: no setting's name or number has one
}

func plain(c byte) byte {
	switch c {
	case 't':
		return '\t'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	default:
		return c
	}
}
