package api

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var idRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$`)

// An id that is accepted stays one segment of a key and of a URL.
func FuzzValidateID(f *testing.F) {
	for _, id := range []string{"web-1", "", "..", "a/b", "a%2fb", "_a", "é", strings.Repeat("x", 254), "a\x00", "a\n"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		err := ValidateID(id)
		require.Equal(t, idRule.MatchString(id), err == nil, id)
		if err != nil {
			assert.Equal(t, Invalid, KindOf(err))
			assert.NotContains(t, err.Error(), "\n")
			assert.Less(t, len(err.Error()), 1000)
			return
		}
		assert.Equal(t, "/dir/"+id, path.Clean("/dir/"+id))
		assert.Equal(t, id, url.PathEscape(id))
		assert.Equal(t, id, url.QueryEscape(id))
	})
}
