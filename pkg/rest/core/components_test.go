package core_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	. "kube2014/pkg/master/endpointstest"
	"kube2014/pkg/rest/core"
	"kube2014/pkg/rest/core/components"
	"kube2014/pkg/storage/memory"
)

const componentsPath = "/api/v1/componentstatuses"

func withComponents(t *testing.T, all ...components.Component) *Door {
	return OpenWith(t, core.Resources(core.Config{Objects: memory.New(1), Now: time.Now, Components: all})...)
}

func TestAComponentTellsItsHealth(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch req.URL.Path {
		case "/healthz":
			_, _ = w.Write([]byte("ok"))
		case "/elsewhere":
			http.Redirect(w, req, "/healthz", http.StatusFound)
		default:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	d := withComponents(t, components.New("well", server.URL+"/healthz"), components.New("ill", server.URL+"/ill"), components.New("moved", server.URL+"/elsewhere"),
		components.Component{Name: "own", Check: func(context.Context) (string, error) { return "", errors.New("does not answer") }})
	for name, text := range map[string]string{
		"well": `"status":"True","message":"ok"`, "ill": `"status":"False","message":"HTTP probe failed with statuscode: 500"`,
		"moved": `"status":"False","message":"HTTP probe failed with statuscode: 302"`, "own": `"status":"False","message":"does not answer"`,
	} {
		assert.Contains(t, d.Must("GET", componentsPath+"/"+name, "").Text, text)
	}
	listed := d.Must("GET", componentsPath, "")
	names, _ := listed.Names()
	assert.Equal(t, []string{"well", "ill", "moved", "own"}, names)
	assert.Contains(t, listed.Header.Get("Warning"), "v1 ComponentStatus is deprecated in v1.19+")
	names, _ = d.Must("GET", componentsPath+"?fieldSelector=metadata.name%3Down", "").Names()
	assert.Equal(t, []string{"own"}, names)
	names, _ = d.Must("GET", componentsPath+"?labelSelector=a%3Db", "").Names()
	assert.Empty(t, names)
	assert.Equal(t, 404, d.Do("GET", componentsPath+"/nope", "").Status)
	assert.Equal(t, 405, d.Do("DELETE", componentsPath+"/own", "").Status)
	assert.Contains(t, d.Must("GET", componentsPath, "", "Accept", Table).Text, "Unhealthy")
}

func TestAComponentThatDoesNotAnswerDoesNotHoldTheOthersUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		d := withComponents(t, components.Component{Name: "a", Check: hangs}, components.Component{Name: "b", Check: hangs})
		begin := time.Now()
		text := d.Must("GET", componentsPath, "").Text
		require.Contains(t, text, context.DeadlineExceeded.Error())
		assert.Equal(t, 2*time.Second, time.Since(begin))
	})
}
