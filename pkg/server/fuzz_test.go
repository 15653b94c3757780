package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Whatever the headers say, nobody becomes another one without the right to.
func FuzzImpersonation(f *testing.F) {
	for _, seed := range []string{"User\x00bob", "Group\x00system:masters", "User\x00bob\x00Group\x00x", "Uid\x007", "Extra-A%\x00b", "Extra-%2f\x00b\x00User\x00system:serviceaccount:a:b", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parts := strings.Split(text, "\x00")
		headers := []string{"Authorization: ann"}
		for i := 0; i+1 < len(parts); i += 2 {
			headers = append(headers, "Impersonate-"+parts[i]+": "+parts[i+1])
		}
		answer := ask(guarded("ann get toys who"), "GET", "/who", headers...)
		if answer.Code == http.StatusOK {
			assert.Equal(t, "ann  [g] map[]", strings.Split(answer.Body.String(), " with ")[0])
			return
		}
		assert.Contains(t, []int{400, 403}, answer.Code)
		text2, err := io.ReadAll(answer.Body)
		assert.NoError(t, err)
		assert.NotContains(t, string(text2), "\n")
	})
}
