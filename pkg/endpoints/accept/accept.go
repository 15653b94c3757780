// Package accept parses the Accept headers of requests.
package accept

import (
	"cmp"
	"mime"
	"slices"
	"strconv"
	"strings"
)

// maxRanges bounds how many media types of a request are parsed.
const maxRanges = 100

// Range is a media type, or a pattern of some, that a client accepts.
type Range struct {
	Type       string // in lower case, such as application/json or */*
	Parameters map[string]string
	quality    float64
}

// IsJSON reports whether the range includes JSON.
func (r Range) IsJSON() bool { return r.Includes("application/json") }

// Includes reports whether the range includes a media type of applications.
func (r Range) Includes(mediaType string) bool {
	return r.Type == mediaType || r.Type == "application/*" || r.Type == "*/*"
}

// Parse returns the media ranges in Accept headers, in the order of the client's preference. Malformed ranges
// and those with a weight of 0 are left out. A client without Accept headers accepts everything.
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

// quality returns the weight of a media range. The default is 1.
func quality(parameter string) float64 {
	if quality, err := strconv.ParseFloat(parameter, 64); err == nil && quality >= 0 {
		return min(quality, 1)
	}
	return 1
}
