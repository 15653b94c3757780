package util

import (
	"errors"
	"slices"
	"strings"
)

// StringList is a flag that takes several values: separated by commas, by
// repeating the flag, or both. It is a flag.Value.
type StringList []string

// String returns the values, separated by commas.
func (list *StringList) String() string {
	return strings.Join(*list, ",")
}

// Set appends the values in a comma separated text. A text with an empty value
// in it is refused as a whole.
func (list *StringList) Set(value string) error {
	items := strings.Split(value, ",")
	if slices.Contains(items, "") {
		return errors.New("has an empty value between its commas")
	}
	*list = append(*list, items...)
	return nil
}
