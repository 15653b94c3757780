package util

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A list returns the values that it accepted, and none of them is empty.
func FuzzStringListSet(f *testing.F) {
	for _, value := range []string{"", "a", "a,b", ",", "a,,b", "a\nb, ,c"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		var list StringList
		if err := list.Set(value); err != nil {
			assert.Empty(t, list)
			return
		}
		assert.Equal(t, value, list.String())
		assert.Len(t, list, strings.Count(value, ",")+1)
		assert.NotContains(t, list, "")
	})
}
