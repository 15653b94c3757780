package util

import "strconv"

// MaxLine is where a text in an answer or in the log is cut, in bytes.
const MaxLine = 1024

// Loggable makes a part of a URI fit for the log: cut if it is long, quoted unless it is
// printable ASCII.
func Loggable(uri string) string {
	if len(uri) > MaxLine {
		uri = uri[:MaxLine] + "..."
	}
	for i := range len(uri) {
		if uri[i] <= ' ' || uri[i] > '~' {
			return strconv.QuoteToASCII(uri)
		}
	}
	return uri
}
