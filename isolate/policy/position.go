package policy

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

type position struct{ line, col int }

// positions says where each key and table of a file stands, by its path, such
// as "network.allow[0].destination". A table has the place of its header.
type positions map[string]position

// findPositions walks the syntax of a file that the TOML reader accepted.
func findPositions(src []byte) positions {
	w := posWalker{src: src, at: positions{}, count: map[string]int{}, here: position{1, 1}}
	w.parser.Reset(src)
	for w.parser.NextExpression() {
		w.expression(w.parser.Expression())
	}
	return w.at
}

type posWalker struct {
	parser unstable.Parser
	src    []byte
	at     positions
	count  map[string]int // entries so far of each array of tables
	table  string         // the header in force

	seen int // how far the file was counted, and the place there
	here position
}

func (w *posWalker) expression(e *unstable.Node) {
	switch e.Kind {
	case unstable.Table:
		w.table = w.keys(e.Key(), "", false)
	case unstable.ArrayTable:
		w.table = w.keys(e.Key(), "", true)
	case unstable.KeyValue:
		w.keyValue(e, w.table)
	}
}

// keys notes the place of each part of a dotted key and gives the whole path.
// A part that names an array of tables means its newest entry; a header in
// double brackets begins a new one.
func (w *posWalker) keys(it unstable.Iterator, path string, begin bool) string {
	for it.Next() {
		node := it.Node()
		if path != "" {
			path += "."
		}
		path += string(node.Data)
		pos := w.pos(node.Raw.Offset)
		w.note(path, pos)
		last := it.IsLast()
		if begin && last {
			w.count[path]++
		}
		if n := w.count[path]; n > 0 {
			path = fmt.Sprintf("%s[%d]", path, n-1)
			w.note(path, pos)
		}
	}
	return path
}

func (w *posWalker) keyValue(e *unstable.Node, table string) {
	w.value(e.Value(), w.keys(e.Key(), table, false))
}

func (w *posWalker) value(v *unstable.Node, path string) {
	switch v.Kind {
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			w.keyValue(it.Node(), path)
		}
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next(); i++ {
			here := fmt.Sprintf("%s[%d]", path, i)
			w.note(here, w.at[path])
			w.value(it.Node(), here)
		}
	}
}

// note keeps the first place of a path.
func (w *posWalker) note(path string, pos position) {
	if _, ok := w.at[path]; !ok {
		w.at[path] = pos
	}
}

// pos counts on from the last place: keys come in the order of the file, and to
// count from its beginning for each would be quadratic.
func (w *posWalker) pos(offset uint32) position {
	at := min(int(offset), len(w.src))
	if at < w.seen {
		w.seen, w.here = 0, position{1, 1}
	}
	part := w.src[w.seen:at]
	if i := bytes.LastIndexByte(part, '\n'); i >= 0 {
		w.here.line += bytes.Count(part, []byte{'\n'})
		w.here.col, part = 1, part[i+1:]
	}
	w.here.col += utf8.RuneCount(part)
	w.seen = at
	return w.here
}

// lineCol turns an offset into a line and a column, both from 1; the column
// counts characters.
func lineCol(src []byte, offset int) (line, col int) {
	before := src[:min(offset, len(src))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1
}

// locate fills in where the keys of faults stand in the file. A key that the
// file does not hold keeps no place.
func locate(src []byte, faults []*Error) {
	at := findPositions(src)
	for _, e := range faults {
		for path := e.Key; path != ""; {
			if pos, ok := at[path]; ok {
				e.Line, e.Col = pos.line, pos.col
				break
			}
			cut := strings.LastIndexAny(path, ".[")
			if cut < 0 {
				break
			}
			path = path[:cut]
		}
	}
}
