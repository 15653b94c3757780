package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// recordedRefusal is a request that kube-apiserver 1.36.3 was asked with -authorization-mode RBAC
// and no roles but its own, by bob, by an admin in system:masters, or without a user. Of an
// answer that is no refusal there is only the status.
type recordedRefusal struct {
	User, Method, Path, Body string
	Headers                  map[string]string
	Status                   int
	Type, Answer             string
}

func (r recordedRefusal) String() string {
	text := []string{r.User, r.Method, r.Path}
	for name, value := range r.Headers {
		text = append(text, name+": "+value)
	}
	return strings.Join(text, " ")
}

// wanted returns what is to be answered: at paths of the first door the same in a line of text.
func (r recordedRefusal) wanted(t *testing.T, mediaType string) string {
	if !strings.HasPrefix(mediaType, "text/plain") || r.Answer == "" {
		assert.Equal(t, r.Type, mediaType, r.String())
		return r.Answer
	}
	var status metav1.Status
	require.NoError(t, json.Unmarshal([]byte(r.Answer), &status))
	if status.Reason == metav1.StatusReasonForbidden {
		return "F" + strings.TrimPrefix(status.Message, "f")
	}
	return status.Message
}

func TestWhoIsRefusedIsToldSoInTheBytesOfTodaysServer(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/refusals.json")
	require.NoError(t, err)
	var recorded []recordedRefusal
	require.NoError(t, json.Unmarshal(text, &recorded))
	s := openSecure(t, "-authorization_mode", "RBAC", "-token_auth_file", filesOf(t).write("tokens", "admintoken,admin,1,system:masters\nbobtoken,bob,2\n"))
	client := clientWith(t, s.trusted, nil)
	for _, r := range recorded {
		who := credentials{}
		if r.User != "" {
			who = bearer(r.User + "token")
		}
		for name, value := range r.Headers {
			who = who.as(name + ": " + value)
		}
		status, answer, header := askWith(t, client, who, r.Method, s.url+r.Path, r.Body)
		if assert.Equal(t, r.Status, status, r.String()) && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
			assert.Equal(t, r.wanted(t, header.Get("Content-Type")), answer, r.String())
		}
	}
}
