package ui

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func get(t *testing.T, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, path, nil))
	return answer
}

func TestThePageAndItsFilesAreServedUnderAPolicy(t *testing.T) {
	t.Parallel()
	types := map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	all, err := fs.Glob(embedded, "page/*")
	require.NoError(t, err)
	assert.Greater(t, len(all), 5)
	for _, file := range all {
		at := Path + strings.TrimSuffix(path.Base(file), "index.html")
		answer := get(t, "GET", at)
		assert.Equal(t, 200, answer.Code, at)
		assert.Equal(t, types[path.Ext(file)], answer.Header().Get("Content-Type"), at)
		want, err := embedded.ReadFile(file)
		require.NoError(t, err)
		assert.Equal(t, string(want), answer.Body.String())
		assert.Empty(t, get(t, "HEAD", at).Body)
	}
	for _, at := range []string{Path, Path + "nothing.js"} {
		header := get(t, "GET", at).Header()
		assert.Regexp(t, `^default-src 'none'; .*connect-src 'self'; .*frame-ancestors 'none'`, header.Get("Content-Security-Policy"))
		assert.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		assert.Equal(t, "no-referrer", header.Get("Referrer-Policy"))
	}
	assert.Equal(t, http.StatusNotFound, get(t, "GET", Path+"nothing.js").Code)
	assert.Equal(t, Path, get(t, "GET", "/ui").Header().Get("Location"))
}

// What is embedded refers only to what is embedded, or to the server: that holds before a browser looks.
func TestThePageRefersToNothingElse(t *testing.T) {
	t.Parallel()
	refers := regexp.MustCompile(`(?:src|href|from|import)[= ]"([^"#][^"]*)"`)
	all, err := fs.Glob(embedded, "page/*.[hjc]*")
	require.NoError(t, err)
	found := 0
	for _, file := range all {
		text, err := embedded.ReadFile(file)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "http:", file)
		assert.NotContains(t, string(text), "https:", file)
		assert.NotContains(t, string(text), "innerHTML", file)
		for _, match := range refers.FindAllStringSubmatch(string(text), -1) {
			found++
			_, err := fs.Stat(embedded, path.Join("page", match[1]))
			assert.NoError(t, err, "%s: %s", file, match[1])
		}
	}
	assert.Greater(t, found, 8)
}
