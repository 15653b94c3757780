package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// report prints the results as they come, and counts them.
type report struct {
	out      io.Writer
	meanings map[string]string

	requests, alike, unexplained int
	deviations                   map[string]int
}

var tableRow = regexp.MustCompile(`(?m)^\| (D\d+) \| (.*?) \| (.*?) \|`)

// readMeanings reads what each deviation is from the table of the documents.
func readMeanings(file string) (map[string]string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	meanings := map[string]string{}
	for _, row := range tableRow.FindAllStringSubmatch(string(data), -1) {
		meanings[row[1]] = strings.ReplaceAll(row[2]+" -> "+row[3], "`", "")
	}
	if len(meanings) == 0 {
		return nil, fmt.Errorf("%s has no table of deviations", file)
	}
	return meanings, nil
}

func (r *report) begin(recording string) { r.line("%s\n", recording) }

func (r *report) add(result result) {
	r.requests++
	for _, deviation := range result.deviations {
		r.deviations[deviation]++
	}
	switch {
	case result.original == result.ours:
		r.alike++
		return
	case !result.explained:
		r.unexplained++
	}
	step, original, ours := result.step, result.original, result.ours
	r.line("%s: %s %s %s", step.Name, step.Method, step.Path, cut(oneLine(step.Body), width/2))
	// What only differs in its type is told by D17.
	if !result.explained || original.Status != ours.Status || original.Body != ours.Body {
		r.both(original, ours)
	}
	for _, deviation := range result.deviations {
		r.line("  %-8s  %s", deviation, r.meanings[deviation])
	}
	if !result.explained {
		r.line("  UNEXPLAINED")
		if rest := result.rest; rest.original.Body != original.Body || rest.ours.Body != ours.Body {
			r.both(rest.original, rest.ours)
		}
	}
	r.line("")
}

func (r *report) both(original, ours answer) {
	r.line("  original  %s", inOneLine(original, ours))
	r.line("  ours      %s", inOneLine(ours, original))
}

func (r *report) line(format string, arguments ...any) {
	fmt.Fprintln(r.out, strings.TrimRight(fmt.Sprintf(format, arguments...), " "))
}

// inOneLine tells of an answer what is not the same in the other one.
func inOneLine(a, other answer) string {
	if a.Status == 0 {
		return a.Note
	}
	line := strconv.Itoa(a.Status)
	if a.ContentType != other.ContentType && other.Status != 0 {
		line += fmt.Sprintf("  %-*s", len(plainText), oneLine(a.ContentType))
	}
	if a.Body != other.Body {
		line += "  " + excerpt(a.Body, other.Body)
	}
	return line
}

const (
	width = 80 // of what a server sent
	lead  = 30 // what an excerpt shows before the difference
)

// excerpt returns a part of a body where it begins to differ from another one.
func excerpt(body, other string) string {
	if body != other && oneLine(body) == oneLine(other) { // only their blanks differ
		body, other = strconv.Quote(body), strconv.Quote(other)
	}
	text, otherText := []rune(oneLine(body)), []rune(oneLine(other))
	same := 0
	for same < len(text) && same < len(otherText) && text[same] == otherText[same] {
		same++
	}
	if same > 2*lead {
		return cut("…"+string(text[same-lead:]), width)
	}
	return cut(string(text), width)
}

// oneLine makes a text of a server fit for a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, strings.Join(strings.Fields(text), " "))
}

func cut(text string, length int) string {
	if runes := []rune(text); len(runes) > length {
		return string(runes[:length-1]) + "…"
	}
	return text
}

func (r *report) notes(lines []string) {
	for _, line := range lines {
		r.line("%s", strings.ToUpper(line[:1])+line[1:])
	}
}

func (r *report) summary() {
	var counts []string
	for _, deviation := range slices.SortedFunc(maps.Keys(r.deviations), byNumber) {
		counts = append(counts, fmt.Sprintf("%s %d", deviation, r.deviations[deviation]))
	}
	by := ""
	if len(counts) > 0 {
		by = " (" + strings.Join(counts, ", ") + ")"
	}
	if r.unexplained > 0 {
		r.line("Does the original run with -machines 127.0.0.1,127.0.0.2, and does nobody else use it?")
	}
	r.line("%d requests: %d alike, %d different%s, %d unexplained",
		r.requests, r.alike, r.requests-r.alike, by, r.unexplained)
}

func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
