package accept

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatAClientLikesBestComesFirst(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, header, types string }{
		{"nothing is said", " ", "*/*"},
		{"one", "application/json", "application/json"},
		{"the first of several", "a/b,c/d", "a/b c/d"},
		{"the one with the larger weight, without the one that is refused", "a/b;q=0.5,c/d;q=0.9,e/f;q=0", "c/d a/b"},
		{"no weight is 1, and so is one that cannot be read, or is larger", "a/b;q=0.5,c/d,e/f;q=x,g/h;q=2,i/j;q=-1", "c/d e/f g/h i/j a/b"},
		{"large letters", "Application/JSON", "application/json"},
		{"what is no type is left out", ",;,a/b,;", "a/b"},
		{"only that", ";;", ""},
	} {
		var types []string
		for _, one := range Parse([]string{row.header}) {
			types = append(types, one.Type)
		}
		assert.Equal(t, row.types, strings.Join(types, " "), row.name)
	}
	assert.Len(t, Parse([]string{strings.Repeat("a/b,", 1000)}), maxRanges-1, "the last one is the rest, which is no type")
}
