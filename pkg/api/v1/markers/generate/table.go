package main

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// table has the lines of each type that has markers, by the path of its package and its name.
type table map[string][]string

const header = `# Made by go generate of the comments in k8s.io/api and k8s.io/apimachinery (Apache License 2.0).
# Package markers explains the lines.
`

// encode returns the table as it is stored: a paragraph for each type.
func (t table) encode() []byte {
	var text bytes.Buffer
	text.WriteString(header)
	for _, name := range slices.Sorted(maps.Keys(t)) {
		fmt.Fprintf(&text, "\n%s\n", name)
		for _, line := range t[name] {
			fmt.Fprintf(&text, "\t%s\n", line)
		}
	}
	return text.Bytes()
}

// markers are the lines of a comment that begin with a plus, by name.
type markers map[string][]string

func markersOf(comment string) markers {
	m := markers{}
	for line := range strings.Lines(comment) {
		if marker, ok := strings.CutPrefix(strings.TrimSpace(line), "+"); ok {
			name, value, _ := strings.Cut(marker, "=")
			m[name] = append(m[name], value)
		}
	}
	return m
}

func (m markers) has(name string) bool { return m[name] != nil }

// attributes returns the columns of a struct or of a field that a schema needs as they are.
func (m markers) attributes() (columns []string) {
	for _, kept := range []struct{ marker, name string }{
		{"listType", "list"}, {"listMapKey", "key"}, {"mapType", "map"}, {"structType", "map"},
	} {
		for _, value := range m[kept.marker] {
			columns = append(columns, kept.name+"="+value)
		}
	}
	for _, kept := range []string{"union", "unionDiscriminator"} {
		if m.has(kept) {
			columns = append(columns, kept)
		}
	}
	return columns
}

// value is a constant of an enum.
type value struct{ name, text, comment string }

// line returns the columns of a value: itself, and its meaning without the name of the constant.
func (v value) line() string {
	meaning := strings.TrimPrefix(strings.TrimSpace(v.comment), v.name)
	return strings.TrimRight(strconv.Quote(v.text)+"\t"+strings.Join(strings.Fields(meaning), " "), "\t")
}

// enum has the values of an enum by their text.
type enum map[string]value

// add adds a value. Of two constants with the same text, the one with the longer comment counts.
func (e enum) add(v value) {
	old, there := e[v.text]
	if !there || len(old.comment) < len(v.comment) || len(old.comment) == len(v.comment) && old.comment > v.comment {
		e[v.text] = v
	}
}

// lines returns the values, sorted as Go writes them.
func (e enum) lines() (lines []string) {
	for _, v := range e {
		lines = append(lines, v.line())
	}
	slices.Sort(lines)
	return lines
}
