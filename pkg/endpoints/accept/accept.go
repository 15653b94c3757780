// Package accept reads which media types a client wants.
package accept

import (
	"cmp"
	"mime"
	"slices"
	"strconv"
	"strings"
)

// maxRanges bounds how many media types of a request are looked at.
const maxRanges = 100

// Range is a media type, or a pattern of some, that a client accepts.
type Range struct {
	Type       string // in small letters, such as application/json or */*
	Parameters map[string]string
	quality    float64
}

// IsJSON reports whether JSON is of the type.
func (r Range) IsJSON() bool {
	return r.Type == "application/json" || r.Type == "application/*" || r.Type == "*/*"
}

// Parse returns what Accept headers say, what the client likes best first. What cannot be
// read is left out, and what the client refuses: its weight is 0. A client that says nothing accepts everything.
func Parse(headers []string) []Range {
	text := strings.Join(headers, ",")
	if strings.TrimSpace(text) == "" {
		return []Range{{Type: "*/*"}}
	}
	var ranges []Range
	for _, one := range strings.SplitN(text, ",", maxRanges) {
		mediaType, parameters, err := mime.ParseMediaType(one)
		if q := quality(parameters["q"]); err == nil && q > 0 {
			ranges = append(ranges, Range{mediaType, parameters, q})
		}
	}
	slices.SortStableFunc(ranges, func(a, b Range) int { return cmp.Compare(b.quality, a.quality) })
	return ranges
}

// quality returns how much a client likes a media type, which is 1 if it does not say.
func quality(parameter string) float64 {
	if quality, err := strconv.ParseFloat(parameter, 64); err == nil && quality >= 0 {
		return min(quality, 1)
	}
	return 1
}
