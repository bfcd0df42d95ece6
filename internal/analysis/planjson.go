package analysis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// planObject gives the plan's YAML as JSON, its keys in their order; text that is no YAML mapping (a run imported from elsewhere) is
// kept under «source».
func planObject(source []byte) json.RawMessage {
	if len(source) == 0 {
		return json.RawMessage("{}")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(source, &doc); err == nil && len(doc.Content) == 1 && doc.Content[0].Kind == yaml.MappingNode {
		w := jsonWriter{left: maxPlanNodes}
		if err := w.node(doc.Content[0]); err == nil {
			return w.out.Bytes()
		}
	}
	// A map of one string always encodes.
	out, _ := json.Marshal(map[string]string{"source": string(source)})
	return out
}

// maxPlanNodes bounds what aliases of aliases can grow to; the plan's reader has the same bound.
const maxPlanNodes = 100_000

// jsonWriter writes YAML nodes as JSON.
type jsonWriter struct {
	out  bytes.Buffer
	left int
}

var errPlanSize = errors.New("too many values")

func (w *jsonWriter) node(n *yaml.Node) error {
	if w.left--; w.left < 0 {
		return errPlanSize
	}
	switch n.Kind {
	case yaml.MappingNode:
		return w.mapping(n)
	case yaml.SequenceNode:
		return w.sequence(n)
	case yaml.AliasNode:
		return w.node(n.Alias)
	default:
		return w.scalar(n)
	}
}

func (w *jsonWriter) mapping(n *yaml.Node) error {
	w.out.WriteByte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		if i > 0 {
			w.out.WriteByte(',')
		}
		key, err := json.Marshal(n.Content[i].Value)
		if err != nil {
			return err
		}
		w.out.Write(key)
		w.out.WriteByte(':')
		if err := w.node(n.Content[i+1]); err != nil {
			return err
		}
	}
	w.out.WriteByte('}')
	return nil
}

func (w *jsonWriter) sequence(n *yaml.Node) error {
	w.out.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			w.out.WriteByte(',')
		}
		if err := w.node(item); err != nil {
			return err
		}
	}
	w.out.WriteByte(']')
	return nil
}

// scalar writes numbers, truth and null as such, everything else as text: a date or an infinity has no form in JSON.
func (w *jsonWriter) scalar(n *yaml.Node) error {
	var value any
	if err := n.Decode(&value); err != nil {
		return fmt.Errorf("line %d: %w", n.Line, err)
	}
	out, err := json.Marshal(value)
	if err != nil || n.Tag == "!!timestamp" || n.Tag == "!!binary" {
		out, err = json.Marshal(n.Value)
	}
	if err != nil {
		return err
	}
	w.out.Write(out)
	return nil
}
