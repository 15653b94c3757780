package util

import (
	"strconv"
	"strings"
)

// MaxLine is the length, in bytes, to which a text in an answer or in the log is cut.
const MaxLine = 1024

// Loggable makes a part of a URI fit for the log: cut if it is long, quoted unless it is
// printable ASCII.
func Loggable(uri string) string {
	if len(uri) > MaxLine {
		uri = uri[:MaxLine] + "..."
	}
	if strings.ContainsFunc(uri, func(char rune) bool { return char <= ' ' || char > '~' }) {
		return strconv.QuoteToASCII(uri)
	}
	return uri
}
