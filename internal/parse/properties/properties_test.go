package properties_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/loadline-dev/loadline/internal/parse/limits"
	"github.com/loadline-dev/loadline/internal/parse/properties"
)

// The expected pairs follow the rules in the documentation of java.util.Properties.load, whose own examples are the first rows.
func TestKeysAndValuesAreThoseOfJavaUtilProperties(t *testing.T) {
	for _, c := range []struct {
		text, key, value string
		line             int
	}{
		{"Truth = Beauty", "Truth", "Beauty", 1},
		{" Truth:Beauty", "Truth", "Beauty", 1},
		{"Truth                    :Beauty", "Truth", "Beauty", 1},
		{"fruits                           apple, banana, pear, \\\n                                  cantaloupe", "fruits", "apple, banana, pear, cantaloupe", 1},
		{"cheeses", "cheeses", "", 1},
		{"# comment\n! comment\n\nkey=v", "key", "v", 4},
		{`a\:b\=c\ d=e`, "a:b=c d", "e", 1},
		{`k=a\tb\u0041\\`, "k", "a\tbA\\", 1},
		{"k=v\r\n", "k", "v", 1},
		{"k=v \\", "k", "v ", 1},
		{"k = = v", "k", "= v", 1},
		{"k=a\\\n   # not a comment", "k", "a# not a comment", 1},
	} {
		got, faults := properties.Parse(c.text, "f")
		if len(got) != 1 || len(faults) != 0 {
			t.Errorf("%q: got %v, faults %v, want one pair", c.text, got, faults)
			continue
		}
		if got[0].At.Key != c.key || got[0].Value != c.value || got[0].At.Line != c.line || got[0].At.File != "f" {
			t.Errorf("%q: got %q = %q at line %d, want %q = %q at line %d", c.text, got[0].At.Key, got[0].Value, got[0].At.Line, c.key, c.value, c.line)
		}
	}
}

func TestABadUnicodeEscapeIsReportedWithItsLine(t *testing.T) {
	got, faults := properties.Parse("a=1\nb=\\u12", "f.properties")
	if len(got) != 1 || len(faults) != 1 || faults[0].At.Line != 2 || faults[0].At.File != "f.properties" {
		t.Errorf("got %v, faults %v", got, faults)
	}
}

func TestAKeyWrittenTwiceNamesTheLineThatWins(t *testing.T) {
	_, faults := properties.Parse("k=1\nother=2\nk=3", "f")
	if len(faults) != 1 || faults[0].At.Line != 1 || faults[0].Also[0].Line != 3 || faults[0].Kind != limits.WithoutEffect {
		t.Errorf("got %v", faults)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a=b\nc : d\\\n e\n#x\n\\u0041=1")
	f.Fuzz(func(t *testing.T, text string) {
		got, faults := properties.Parse(text, "f")
		lines := 1 + strings.Count(text, "\n") + strings.Count(text, "\r")
		last := 0
		for _, p := range got {
			if p.At.Line <= last || p.At.Line > lines || !utf8.ValidString(p.Value) || !utf8.ValidString(p.At.Key) {
				t.Fatalf("pair %+v after line %d of %d", p, last, lines)
			}
			last = p.At.Line
		}
		for _, x := range faults {
			if x.At.Line < 1 || x.At.Line > lines {
				t.Fatalf("fault outside the text: %v", x)
			}
		}
	})
}
