package today

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func recordedRequests(t *testing.T) []Request {
	requests, err := LoadRequests("../../testdata/today/answers.json")
	require.NoError(t, err)
	require.Len(t, requests, 81)
	return requests
}

// replayed asks a server that answers what was recorded, each answer changed by alter.
func replayed(t *testing.T, alter func(n int, answer *Request)) []Step {
	requests, next := recordedRequests(t), 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		for unrepeatable[next] != "" {
			next++
		}
		answer := requests[next]
		assert.Equal(t, answer.Method+" "+answer.unhurried(), req.Method+" "+req.RequestURI)
		assert.Equal(t, answer.Accept, req.Header.Get("Accept"))
		answer.Answer, _ = uncut(answer.Answer)
		answer.Headers = maps.Clone(answer.Headers)
		alter(next, &answer)
		for name, value := range answer.Headers {
			w.Header()[name] = strings.Split(value, "\n")
		}
		w.WriteHeader(answer.Status)
		fmt.Fprint(w, answer.Answer)
		next++
	}))
	t.Cleanup(server.Close)
	steps, err := Replay(t.Context(), server.Client(), server.URL, requests)
	require.NoError(t, err)
	require.Len(t, steps, 79, "all but two")
	return steps
}

func TestTheRecordedServerIsNoDifferentFromItself(t *testing.T) {
	t.Parallel()
	assert.Empty(t, Differences(replayed(t, func(int, *Request) {}), nil))
}

func TestWhatVariesFromRunToRunIsNoDifference(t *testing.T) {
	t.Parallel()
	again := masks(
		`("uid":"|in record \()[0-9a-f]{4}`, "${1}ffff",
		`("resourceVersion":"|current: )`, "${1}9",
		`(Timestamp":")\d{4}(.{6}.\d\d)`, "${1}2030$2",
		`"g-hn9v7"`, `"g-24567"`,
		`"\d+s"`, `"3m20s"`,
		`192\.0\.2\.2:16443`, `127.0.0.1:8080`,
		`go1\.26\.8`, `go1.27`,
		`hash=[0-9A-F]{4}`, `hash=0000`,
		`("kind":"NodeList".*"items":\[)`, `$1{"metadata":{"name":"127.0.0.1"}}`,
	)
	changed := 0
	steps := replayed(t, func(_ int, answer *Request) {
		varied := replace(answer.Answer, again)
		if varied != answer.Answer {
			changed++
		}
		answer.Answer = varied
	})
	assert.Empty(t, Differences(steps, nil))
	assert.Greater(t, changed, 30)
}

func TestAnythingElseIsADifference(t *testing.T) {
	t.Parallel()
	for sentence, row := range map[string]struct {
		step     int
		old, new string // in the answer; nothing is replaced if both are empty
		alter    func(answer *Request)
	}{
		"a word of a message":                       {9, "not found", "not there", nil},
		"a member more":                             {0, `"generation":1`, `"generation":1,"selfLink":""`, nil},
		"a member less":                             {0, `"dnsPolicy":"ClusterFirst",`, "", nil},
		"the order of members":                      {9, `"kind":"Status","apiVersion":"v1"`, `"apiVersion":"v1","kind":"Status"`, nil},
		"a number that is a text":                   {9, `"code":404`, `"code":"404"`, nil},
		"how a character is escaped":                {6, `\u003cnone\u003e`, "<none>", nil},
		"a line break at the end":                   {9, "}\n", "}", nil},
		"indentation":                               {9, `{"kind"`, "{\n  \"kind\"", nil},
		"a list that ends early, where it was cut":  {50, `,{"name":"serviceaccounts/token"`, `]}`, nil},
		"a uid that is none":                        {0, `"uid":"79264241`, `"uid":"7926424`, nil},
		"another uid than before":                   {2, `"uid":"79264241`, `"uid":"00000000`, nil},
		"one uid for two objects":                   {30, `ee497cb0-a99a-471b-a7b1-4f64626ea0ef`, `79264241-2f78-49e1-83e2-f87025b6dcaf`, nil},
		"a new version, but nothing has changed":    {10, `"resourceVersion":"140"`, `"resourceVersion":"141"`, nil},
		"the old version, though a label was added": {14, `"resourceVersion":"141"`, `"resourceVersion":"140"`, nil},
		"a version that is empty":                   {0, `"resourceVersion":"140"`, `"resourceVersion":""`, nil},
		"a vowel in a random name":                  {34, `g-hn9v7`, `g-hn9va`, nil},
		"a status":                                  {1, "", "", func(answer *Request) { answer.Status = 422 }},
		"a type of content":                         {61, "", "", func(answer *Request) { answer.Headers["Content-Type"] = "application/json" }},
		"a warning less":                            {19, "", "", func(answer *Request) { delete(answer.Headers, "Warning") }},
		"a warning more":                            {0, "", "", func(answer *Request) { answer.Headers["Warning"] = `299 - "no"` }},
		"the type of an event":                      {40, `"ADDED"`, `"MODIFIED"`, nil},
		"an event less":                             {47, "", "", func(answer *Request) { answer.Answer = answer.Answer[:strings.Index(answer.Answer, "\n")+1] }},
		"columns of a second event":                 {42, `"columnDefinitions":null`, `"columnDefinitions":[]`, nil},
		"when to come again":                        {44, "", "", func(answer *Request) { delete(answer.Headers, "Retry-After") }},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			steps := replayed(t, func(n int, answer *Request) {
				if n != row.step {
					return
				}
				if row.alter != nil {
					row.alter(answer)
					return
				}
				require.Contains(t, answer.Answer, row.old)
				answer.Answer = strings.Replace(answer.Answer, row.old, row.new, 1)
				if strings.HasPrefix(row.new, "]") {
					answer.Answer = answer.Answer[:strings.Index(answer.Answer, row.new)+len(row.new)] + "\n"
				}
			})
			found := Differences(steps, nil)
			require.NotEmpty(t, found)
			assert.Regexp(t, fmt.Sprintf(`^%d `, row.step), found[0].Name)
			assert.NotEqual(t, found[0].Want, found[0].Got)
		})
	}
}

// A known difference that the recording does not have would hide nothing, and tell readers
// what is not so.
func TestAServerThatDiffersInAllThatIsKnownIsAsItShouldBe(t *testing.T) {
	t.Parallel()
	check := func(steps []Step, known []Edit) {
		for i := range steps {
			for _, edit := range known {
				steps[i].Got = edit.apply(steps[i].Name, steps[i].Got)
			}
		}
		assert.Empty(t, Differences(steps, known))
	}
	check(replayed(t, func(int, *Request) {}), KnownOfRequests(true))
	sessions := 0
	more, err := LoadSessions("../../testdata/today/kubectl-2.json")
	require.NoError(t, err)
	for _, session := range append(recordedSessions(t), more...) {
		if known, ok := KnownOfKubectl[session.Name]; ok {
			sessions++
			check(session.asRecorded(), known)
		}
		for _, known := range []map[string][]Edit{KnownWithoutSecurePort, KnownWithoutAddresses, KnownInMemory} {
			check(session.asRecorded(), known[session.Name])
		}
	}
	assert.Len(t, KnownOfKubectl, sessions, "no session has this name")
}

// asRecorded is what Run returns with a server that is the recorded one.
func (s Session) asRecorded() (steps []Step) {
	for _, c := range s.Steps {
		if c.File == "" {
			answer := s.Answers[len(steps)].String()
			steps = append(steps, Step{Name: fmt.Sprint(len(steps), " ", c.Line), Want: answer, Got: answer})
		}
	}
	return steps
}

func TestWhatIsKnownButNotSoIsADifference(t *testing.T) {
	t.Parallel()
	steps := []Step{{Name: "0 GET /", Want: "yes", Got: "yes"}, {Name: "1 GET /x", Want: "no", Got: "yes"}}
	for sentence, row := range map[string]struct {
		edit Edit
		want []Difference
	}{
		"it is known rightly":            {Edit{"K7", "1 GET /x", "^no$", "yes"}, nil},
		"the recorded answer is no such": {Edit{"K7", "", "maybe", "yes"}, []Difference{{"1 GET /x", "no", "yes"}, {"K7 of the known differences", "maybe", "no such answer "}}},
		"there is no such request":       {Edit{"K7", "2 GET /x", "no", "yes"}, []Difference{{"1 GET /x", "no", "yes"}, {"K7 of the known differences", "no", "no such answer 2 GET /x"}}},
		"the server does not differ":     {Edit{"K7", "", "no|yes", "no"}, []Difference{{"0 GET /", "no", "yes"}, {"1 GET /x", "no", "yes"}}},
	} {
		assert.Equal(t, row.want, Differences(steps, []Edit{row.edit}), sentence)
	}
}

func recordedSessions(t *testing.T) []Session {
	sessions, err := LoadSessions("../../testdata/today/kubectl.json")
	require.NoError(t, err)
	require.Len(t, sessions, 5)
	return sessions
}

func TestTheSessionsAre86Commands(t *testing.T) {
	t.Parallel()
	answers := 0
	for _, session := range recordedSessions(t) {
		answers += len(session.Answers)
		assert.Len(t, session.asRecorded(), len(session.Answers), session.Name)
	}
	assert.Equal(t, 86, answers)
}

func TestASessionRunsItsCommandsWithAKubeconfigForTheServer(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	kubectl := filepath.Join(folder, "kubectl")
	require.NoError(t, os.WriteFile(kubectl, []byte("#!/bin/bash\necho \"$@  \"; cat; echo oops >&2; exit 3\n"), 0o700))
	session := Session{"s", []command{{File: "a", Text: "editme\n"}, {Line: "$K get pods < a"}, {Line: "$KUBE_EDITOR a; cat a"},
		{Line: "cat kubeconfig | grep -o 'server:.*7'; [ $HOME = $PWD ]"}}, []printed{
		{3, "get pods\neditme", "oops"}, {0, "edited", ""}, {0, `server: "SERVER`, ""}}}
	steps, err := session.Run(t.Context(), folder, kubectl, "http://127.0.0.1:7777")
	require.NoError(t, err)
	assert.Empty(t, Differences(steps, nil))

	session.Answers[1].Out = "editme"
	steps, err = session.Run(t.Context(), folder, kubectl, "http://127.0.0.1:7777")
	require.NoError(t, err)
	found := Differences(steps, nil)
	require.Len(t, found, 1)
	assert.Equal(t, "1 $KUBE_EDITOR a; cat a", found[0].Name)
	assert.Equal(t, "exit 0\nstdout:\nedited\nstderr:\n\n", found[0].Got)

	session.Answers = nil
	_, err = session.Run(t.Context(), folder, kubectl, "")
	assert.EqualError(t, err, `session "s" has no answer to "$K get pods < a"`)
}

func TestALineThatSleepsIsRepeatedUntilItPrintsWhatWasRecorded(t *testing.T) {
	t.Parallel()
	const line = "sleep 0; echo >> tries; wc -l < tries"
	for sentence, row := range map[string]struct{ line, recorded, printed string }{
		"it prints it at the third try": {line, "3", "3"},
		"it never prints it":            {line, "none", "30"},
		"it does not sleep":             {strings.TrimPrefix(line, "sleep 0; "), "3", "1"},
	} {
		session := Session{"s", []command{{Line: row.line}}, []printed{{0, row.recorded, ""}}}
		steps, err := session.Run(t.Context(), t.TempDir(), "", "")
		require.NoError(t, err)
		assert.Equal(t, printed{0, row.printed, ""}.String(), steps[0].Got, sentence)
	}
}

func TestTheOutputOfKubectlIsNormalised(t *testing.T) {
	t.Parallel()
	for sentence, row := range map[string][2]string{
		"ages at the end of a line, and before a blank": {"a  5s\nb  3m ago\nc  7s  x\n", "a  AGE\nb  AGE\nc  AGE  x"},
		"blanks and lines around":                       {"\n NAME      READY  \t\nx  y\n\n", "NAME  READY\nx  y"},
		"uids, times, dates":                            {"79264241-2f78-49e1-83e2-f87025b6dcaf 2026-11-21T08:34:11Z Sat, 21 Nov 2026 08:34:11 +0000 2026-11-21 08:34:11 +0000 UTC", "UID TIME DATE DATE"},
		"versions in YAML and JSON":                     {"resourceVersion: \"7\"\n\"resourceVersion\": \"7\"", "resourceVersion: RV\n\"resourceVersion\":\"RV\""},
		"hashes of templates":                           {"Labels: app=web,pod-template-hash=6c74f7b6c5", "Labels: app=web,pod-template-hash=HASH"},
		"random names":                                  {"pod/gen-x2b4z created\npod/nginx created", "pod/gen-RANDOM created\npod/nginx created"},
		"addresses":                                     {"10.0.0.1 http://127.0.0.1:8080/api", "IP SERVER/api"},
	} {
		assert.Equal(t, row[1], normalOutput(row[0]), sentence)
	}
}

func TestATextThatWasCutEndsAfterItsLastWholeMember(t *testing.T) {
	t.Parallel()
	for cut, want := range map[string]string{
		`{"a":1,"b":{"c":[{"d":"}\"]","e":"f …cut`: `{"a":1,"b":{"c":[{"d":"}\"]"}]}}` + "\n",
		"{\n  \"a\": [\n    1,\n    2 …cut":        "{\n  \"a\": [\n    1]}",
	} {
		got, wasCut := uncut(cut)
		assert.True(t, wasCut)
		assert.Equal(t, want, got)
	}
	got, wasCut := uncut(`{"a":1,"b":2}`)
	assert.False(t, wasCut)
	assert.Equal(t, `{"a":1,"b":2}`, got)
}
