package apiserver

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"kube2014/pkg/api"
)

// overtaken admits changes of objects that others change first, each time or as often as it says.
type overtaken struct {
	times    int
	admitted int
	outcomes []error
}

func (o *overtaken) Admit(_ context.Context, change Change) (interface{}, func(error), error) {
	o.admitted++
	return change.Object, func(outcome error) { o.outcomes = append(o.outcomes, outcome) }, nil
}

type overtakenStorage struct {
	toyStorage
	by *overtaken
}

func (s *overtakenStorage) Update(interface{}) error {
	time.Sleep(time.Second)
	if s.by.admitted <= s.by.times {
		return api.NewOutdated(api.Key{Kind: "toy", ID: "x"})
	}
	return nil
}

func TestAChangeIsAdmittedAgainIfTheObjectHasChangedMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		by := &overtaken{times: 1}
		server := New(map[string]RESTStorage{"toys": &overtakenStorage{by: by}}, "/prefix")
		server.Admission = by
		assert.Equal(t, http.StatusOK, ask(server, "PUT", "/prefix/toys/x", `{"name":"x"}`).Code)
		assert.Equal(t, []error{api.NewOutdated(api.Key{Kind: "toy", ID: "x"}), nil}, by.outcomes, "each admission ends")
	})
}

func TestAChangeIsNotAdmittedAgainForever(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		by, began := &overtaken{times: 1000}, time.Now()
		server := New(map[string]RESTStorage{"toys": &overtakenStorage{by: by}}, "/prefix")
		server.Admission = by
		answer := ask(server, "PUT", "/prefix/toys/x", `{"name":"x"}`)
		assert.Equal(t, http.StatusConflict, answer.Code)
		assert.Equal(t, `Conflict: toy "x" is changed by too many others at once`, answer.Body.String())
		assert.Equal(t, admissionTime+time.Second, time.Since(began))
	})
}
