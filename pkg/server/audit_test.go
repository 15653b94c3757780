package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"kube2014/pkg/audit"
	"kube2014/pkg/auth/authorizer"
	"kube2014/pkg/server"
	"kube2014/pkg/server/request"
)

// trail is an audit that is kept.
type trail struct{ bytes.Buffer }

// of returns the events of each request, by id, in the order in which they were written.
func (w *trail) of(t *testing.T) map[string][]auditv1.Event {
	events := map[string][]auditv1.Event{}
	for line := range strings.Lines(w.String()) {
		var event auditv1.Event
		require.NoError(t, json.Unmarshal([]byte(line), &event), line)
		events[string(event.AuditID)] = append(events[string(event.AuditID)], event)
	}
	return events
}

// inShort tells events: "RequestReceived", or "ResponseComplete 200".
func inShort(events []auditv1.Event) (stages []string) {
	for _, event := range events {
		stage := string(event.Stage)
		if event.ResponseStatus != nil {
			stage += fmt.Sprintf(" %d", event.ResponseStatus.Code)
		}
		stages = append(stages, stage)
	}
	return stages
}

// mayNotUpdate lets everybody do everything else.
type mayNotUpdate struct{}

func (mayNotUpdate) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.Verb == "update" {
		return authorizer.Deny, "nobody may", nil
	}
	return authorizer.Allow, "everybody may", nil
}

// played are toys that are played with in every way.
func played() toys {
	return toys{
		"/bear": bear["/bear"], "/broken": bear["/broken"], "/half": bear["/half"],
		"/abort":  func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"/silent": func(http.ResponseWriter, *http.Request) {},
		"/gone": func(_ http.ResponseWriter, req *http.Request) {
			<-req.Context().Done()
		},
		"/slow": func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(time.Hour)
			_, _ = io.WriteString(w, "too late") // the error tells so
		},
		"/observed": func(w http.ResponseWriter, req *http.Request) {
			observer := request.ObserverFrom(req.Context())
			observer.RequestObject(`{"metadata":{"name":"bear"}}`)
			observer.Annotate("toys/why", "for fun")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, `{"kind":"Toy"}`) // the recorder takes all
		},
	}
}

func playPolicy(level auditv1.Level) *audit.Policy {
	return &audit.Policy{Rules: []auditv1.PolicyRule{{Level: auditv1.LevelNone, Users: []string{"quiet"}}, {Level: level}}}
}

// audited returns the chain before the toys, with authentication and authorization, and its audit.
func audited(level auditv1.Level) (http.Handler, *trail) {
	written := &trail{}
	return chainOf(played(), server.Config{Audit: audit.New(playPolicy(level), written),
		Auth: server.Auth{Authenticator: byName, Authorizer: mayNotUpdate{}}}), written
}

// play is a way to play, with what the audit tells of it.
type play struct {
	method, target string
	headers        []string
	wanted         []string
}

var plays = map[string]play{
	"it is got":           {"GET", "/bear", nil, []string{"RequestReceived", "ResponseComplete 200"}},
	"its head is got":     {"HEAD", "/bear", nil, []string{"RequestReceived", "ResponseComplete 200"}},
	"nothing is answered": {"GET", "/silent", nil, []string{"RequestReceived", "ResponseComplete 200"}},
	"it is not there":     {"DELETE", "/nope", nil, []string{"RequestReceived", "ResponseComplete 404"}},
	"it is watched":       {"GET", "/bear?watch", nil, []string{"RequestReceived", "ResponseStarted 200", "ResponseComplete 200"}},
	"a watch of nothing":  {"GET", "/nope?watch", nil, []string{"RequestReceived", "ResponseStarted 404", "ResponseComplete 404"}},
	"a silent watch":      {"GET", "/silent?watch", nil, []string{"RequestReceived", "ResponseStarted 200", "ResponseComplete 200"}},
	"it is forbidden":     {"PUT", "/bear", nil, []string{"RequestReceived", "ResponseComplete 403"}},
	"as another one":      {"GET", "/bear", []string{"Impersonate-User: eve"}, []string{"RequestReceived", "ResponseComplete 200"}},
	"as a group":          {"GET", "/bear", []string{"Impersonate-Group: g"}, []string{"RequestReceived", "ResponseComplete 400"}},
	"it takes too long":   {"POST", "/slow", nil, []string{"RequestReceived", "ResponseComplete 504"}},
	"it breaks":           {"GET", "/broken", nil, []string{"RequestReceived", "Panic 500"}},
	"it breaks, watched":  {"GET", "/broken?watch", nil, []string{"RequestReceived", "Panic 500"}},
	"it breaks elsewhere": {"POST", "/broken", nil, []string{"RequestReceived", "Panic 500"}},
	"it breaks in two":    {"POST", "/half", nil, []string{"RequestReceived", "Panic 500"}},
	"it is cut off":       {"GET", "/abort", nil, []string{"RequestReceived", "Panic 500"}},
	"nobody asks":         {"GET", "/bear", []string{"Authorization: "}, []string{"ResponseStarted 401"}},
	"a stranger asks":     {"GET", "/bear?watch", []string{"Authorization: wrong"}, []string{"ResponseStarted 401"}},
	"it is not told":      {"GET", "/bear", []string{"Authorization: quiet"}, nil},
}

// with sends the request by which it is played, in the name of a user unless it says another one.
func (p play) with(handler http.Handler, id, user string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(p.method, p.target, nil)
	req.Header.Set("Audit-ID", id)
	req.Header.Set("Authorization", user)
	for _, header := range p.headers {
		name, value, _ := strings.Cut(header, ": ")
		req.Header.Set(name, value)
	}
	recorder := httptest.NewRecorder()
	func() {
		defer func() { _ = recover() }() // net/http does so with who cuts it off
		handler.ServeHTTP(recorder, req)
	}()
	return recorder
}

func TestEveryEndOfARequestIsAudited(t *testing.T) {
	t.Parallel()
	for name, p := range plays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				handler, written := audited(auditv1.LevelMetadata)
				answer := p.with(handler, "one", "ann")
				assert.Equal(t, "one", answer.Header().Get("Audit-ID"))
				time.Sleep(time.Hour)
				synctest.Wait()
				assert.Equal(t, p.wanted, inShort(written.of(t)["one"]))
			})
		})
	}
}

// Each request leaves its lines, in order, with its user, however many there are at a time. It
// replaces the process's log, so it is not parallel.
func TestTenThousandRequestsLeaveTheirLines(t *testing.T) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	const requests, clients = 10_000, 50
	names := slices.Sorted(maps.Keys(plays))
	synctest.Test(t, func(t *testing.T) {
		handler, written := audited(auditv1.LevelMetadata)
		random := rand.New(rand.NewPCG(2014, 6))
		var sent [requests]play
		for i := range sent {
			sent[i] = plays[names[random.IntN(len(names))]]
		}
		user := func(i int) string { return fmt.Sprintf("user-%d", i%7) }
		var all sync.WaitGroup
		for client := range clients {
			all.Go(func() {
				for i := client; i < requests; i += clients {
					sent[i].with(handler, fmt.Sprintf("request-%d", i), user(i))
				}
			})
		}
		all.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		events := written.of(t)
		for i, p := range sent {
			of := events[fmt.Sprintf("request-%d", i)]
			require.Equal(t, p.wanted, inShort(of), "%s %s", p.method, p.target)
			delete(events, fmt.Sprintf("request-%d", i))
			for j, event := range of {
				wanted := user(i)
				if event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusUnauthorized {
					wanted = ""
				}
				assert.Equal(t, wanted, event.User.Username)
				assert.Equal(t, p.target, event.RequestURI)
				if j > 0 {
					assert.False(t, event.StageTimestamp.Before(&of[j-1].StageTimestamp))
				}
			}
		}
		assert.Empty(t, events, "there are no other lines")
	})
}

func TestAnAnswerThatComesTooLateIsAuditedAsItWasTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handler, written := audited(auditv1.LevelRequestResponse)
		answer := plays["it takes too long"].with(handler, "", "ann")
		assert.Equal(t, http.StatusGatewayTimeout, answer.Code)
		id := answer.Header().Get("Audit-ID")
		require.NotEmpty(t, id, "it is told although the other answer goes nowhere")
		time.Sleep(time.Hour)
		synctest.Wait()
		of := written.of(t)[id]
		require.Len(t, of, 2)
		assert.Equal(t, "request did not complete within the allotted timeout", of[1].ResponseStatus.Message)
		assert.Nil(t, of[1].ResponseObject)
	})
}

func TestAClientThatGoesAwayLeavesItsLines(t *testing.T) {
	t.Parallel()
	handler, written := audited(auditv1.LevelMetadata)
	ctx, leave := context.WithCancel(t.Context())
	leave()
	for _, target := range []string{"/gone", "/gone?watch"} {
		req := httptest.NewRequestWithContext(ctx, "GET", target, nil)
		req.Header.Set("Authorization", "ann")
		req.Header.Set("Audit-ID", target)
		handler.ServeHTTP(httptest.NewRecorder(), req)
	}
	assert.Equal(t, []string{"RequestReceived", "ResponseComplete 200"}, inShort(written.of(t)["/gone"]))
	assert.Equal(t, []string{"RequestReceived", "ResponseStarted 200", "ResponseComplete 200"}, inShort(written.of(t)["/gone?watch"]))
}

func TestAnAuditTellsWhoActsAsWhomAndWhyTheyMay(t *testing.T) {
	t.Parallel()
	handler, written := audited(auditv1.LevelMetadata)
	plays["as another one"].with(handler, "one", "ann")
	plays["it is forbidden"].with(handler, "two", "ann")
	of := written.of(t)
	assert.Nil(t, of["one"][0].ImpersonatedUser, "it was not known then")
	assert.Equal(t, "ann", of["one"][1].User.Username)
	assert.Equal(t, "eve", of["one"][1].ImpersonatedUser.Username)
	assert.Equal(t, map[string]string{"authorization.k8s.io/decision": "allow", "authorization.k8s.io/reason": "everybody may"}, of["one"][1].Annotations)
	assert.Equal(t, map[string]string{"authorization.k8s.io/decision": "forbid", "authorization.k8s.io/reason": "nobody may"}, of["two"][1].Annotations)
}

func TestAnAuditTellsAsMuchAsItsLevelSays(t *testing.T) {
	t.Parallel()
	for level, wanted := range map[auditv1.Level][2]string{
		auditv1.LevelMetadata:        {"", ""},
		auditv1.LevelRequest:         {`{"metadata":{"name":"bear"}}`, ""},
		auditv1.LevelRequestResponse: {`{"metadata":{"name":"bear"}}`, `{"kind":"Toy"}`},
	} {
		handler, written := audited(level)
		answer := play{method: "POST", target: "/observed"}.with(handler, "one", "ann")
		assert.Equal(t, `{"kind":"Toy"}`, answer.Body.String())
		event := written.of(t)["one"][1]
		assert.Equal(t, level, event.Level)
		assert.Equal(t, "for fun", event.Annotations["toys/why"])
		var got [2]string
		if event.RequestObject != nil {
			got[0] = string(event.RequestObject.Raw)
		}
		if event.ResponseObject != nil {
			got[1] = string(event.ResponseObject.Raw)
		}
		assert.Equal(t, wanted, got, level)
	}
}

// A watch reaches its client, and its connection, as without an audit. What it sends is not kept.
func TestAnAuditedWatchStreams(t *testing.T) {
	t.Parallel()
	written := &trail{}
	began := 0
	stream := toys{"/toy": func(w http.ResponseWriter, _ *http.Request) {
		control := http.NewResponseController(w)
		assert.NoError(t, control.SetReadDeadline(time.Time{}))
		assert.NoError(t, control.SetWriteDeadline(time.Time{}))
		w.Header().Set("Content-Type", "application/json")
		assert.NoError(t, control.Flush())
		began = strings.Count(written.String(), "ResponseStarted")
		_, err := io.WriteString(w, "{}")
		assert.NoError(t, err)
		assert.NoError(t, control.Flush())
	}}
	connection := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	chain := chainOf(stream, server.Config{Audit: audit.New(playPolicy(auditv1.LevelRequestResponse), written)})
	chain.ServeHTTP(connection, httptest.NewRequest("GET", "/toy?watch", nil))
	assert.Equal(t, 1, began, "the line is there when the answer has begun")
	assert.Equal(t, 2, connection.set)
	assert.Equal(t, 2, connection.flushed)
	assert.Equal(t, "{}", connection.Body.String())
	for _, of := range written.of(t) {
		require.Len(t, of, 3)
		assert.Equal(t, "system:unsecured", of[0].User.Username)
		assert.Nil(t, of[2].ResponseObject)
	}
}

func TestAPanicKeepsItsStackThroughTheAudit(t *testing.T) {
	handler, _ := audited(auditv1.LevelMetadata)
	logged := logOf(func() { plays["it breaks"].with(handler, "one", "ann") })
	assert.Contains(t, logged, "panic in GET /broken: a toy broke\n")
	assert.Contains(t, logged, "server_test.init", "the stack names where")
}
