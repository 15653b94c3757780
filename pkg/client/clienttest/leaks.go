package clienttest

import (
	"regexp"
	"strings"
)

// quoted matches a client's value in double quotes, also one that is cut by the
// end of the text. It contains no line break.
var quoted = regexp.MustCompile(`"(\\.|[^"\\\r\n])*("|$)`)

// insides are texts that only come from Go's values, types and stacks.
var insides = []string{"0x", "&{", "map[", "goroutine", "json.", "json:", "http.", "errors.", "api.", "Go ", "%!", "Accept", "\n", "\r"}

// Leaks returns which of the insides a text contains. Values in double quotes
// and what is in the echo come from the client and do not count.
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
