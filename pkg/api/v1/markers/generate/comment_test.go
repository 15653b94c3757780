package generate

import "strings"

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

// attributes returns the columns of a struct or of a field that a schema has as they are.
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

// presence returns whether a field is required, if that is not as the options in its tag say.
func (m markers) presence(options string) []string {
	omitted := strings.Contains(options, "omitempty")
	switch {
	case m.has("required") && omitted:
		return []string{"required"}
	case m.has("optional") && !m.has("required") && !omitted:
		return []string{"optional"}
	}
	return nil
}

// describe returns the description that OpenAPI has of a comment: paragraphs are lines, and indented
// lines are kept. That of an enum may end with an empty line, as a list of the values follows it.
func describe(comment string, isEnum bool) string {
	const end = "Possible enum values:"
	lines := strings.Split(strings.TrimRight(comment, "\n"), "\n")
	if isEnum {
		lines = append(lines, "", end)
	}
	text := ""
	for _, line := range lines {
		line = strings.TrimRight(line, " ")
		switch leading := strings.TrimLeft(line, " "); {
		case line == "---":
			return strings.TrimSpace(text)
		case line == "":
			text = withoutLast(text) + "\n\n"
		case strings.HasPrefix(leading, "TODO"), strings.HasPrefix(leading, "+"):
		case strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
			text = withoutLast(text) + "\n" + line + "\n"
		default:
			text += line + " "
		}
	}
	text = strings.TrimSpace(text)
	if isEnum {
		text = strings.TrimSuffix(strings.TrimSuffix(text, end), "\n\n")
	}
	return text
}

// withoutLast returns a text without the space or the end of a line at its end.
func withoutLast(text string) string { return text[:max(len(text)-1, 0)] }
