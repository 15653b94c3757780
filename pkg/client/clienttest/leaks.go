package clienttest

import (
	"regexp"
	"strings"
)

// quoted is a value that a text repeats in double quotes, or what is left of it
// in a text that was cut. A line break is never part of it.
var quoted = regexp.MustCompile(`"(\\.|[^"\\\r\n])*("|$)`)

// insides are words that a Go program says only of its own values, types and
// stacks.
var insides = []string{"0x", "&{", "map[", "goroutine", "json.", "json:", "http.", "errors.", "api.", "Go ", "%!", "Accept", "\n", "\r"}

// Leaks returns the words of a text for people that tell of the inside of the
// program. What the text repeats of a client's own words does not count: it
// stands in double quotes, or is in the echo.
func Leaks(text, echo string) []string {
	text = quoted.ReplaceAllString(text, "")
	var leaks []string
	for _, inside := range insides {
		if strings.Contains(text, inside) && !strings.Contains(echo, inside) {
			leaks = append(leaks, inside)
		}
	}
	return leaks
}
