package aggregation

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"kube2014/compare/today"
)

const (
	patience = 45 * time.Second      // with controllers
	pause    = 50 * time.Millisecond // between two tries
)

// Record does the steps of a chapter on a server, whose URL is given, and writes down its answers.
func (w *World) Record(server string, c *Chapter) {
	w.server = server
	for i := range c.Steps {
		step := &c.Steps[i]
		step.Answer = w.do(*step, step.isOver)
	}
}

// Replay does the steps of a recorded chapter, and returns those to be compared. An answer that takes time is asked for until it is the recorded
// one.
func (w *World) Replay(server string, c Chapter) (steps []today.Step) {
	w.server = server
	for i, step := range c.Steps {
		if step.Own != "" { // how a server asks others itself is its own matter
			continue
		}
		replayed := today.Step{Name: fmt.Sprint(c.Name, " ", i, " ", step.Name()), Want: strings.Join(step.Answer, "\n")}
		_, isOther := otherwise[c.Name][i]
		got := w.do(step, func(got string) bool {
			replayed.Got = asToday(replayed.Want, strings.TrimSuffix(got, "\n"))
			return isOther || step.Until == "" || len(today.Differences([]today.Step{replayed}, nil)) == 0
		})
		if replayed.Got = asToday(replayed.Want, strings.Join(got, "\n")); !isOther {
			steps = append(steps, replayed)
		}
	}
	return steps
}

// isOver tells whether a step that is asked again has the answer for which it waits.
func (s Step) isOver(got string) bool {
	text, gone := strings.CutPrefix(s.Until, "!")
	return strings.Contains(got, text) != gone
}

// do returns the lines of the answer to a step that is good, or of the last one.
func (w *World) do(step Step, good func(string) bool) []string {
	if step.Script != nil {
		script := *step.Script
		script.Body = w.show.Replace(script.Body)
		w.extensions[script.Server].script(script)
		return nil
	}
	var got string
	for end := time.Now().Add(patience); ; time.Sleep(pause) {
		w.steps++
		switch {
		case step.Own != "":
			got = w.extensions[step.Own].asked()
		case step.Idle != "":
			got = fmt.Sprint("idle: ", w.extensions[step.Idle].idle())
		default:
			got = w.ask(step)
		}
		if got = normal(w.hidden(got)); good(got) {
			break
		}
		if time.Now().After(end) {
			w.t.Errorf("%s: not until the end: %q, but %s", step.Name(), step.Until, got)
			break
		}
	}
	return strings.Split(strings.TrimSuffix(got, "\n"), "\n")
}

// ask sends a request, and returns what was answered, and what extension servers saw of it.
func (w *World) ask(step Step) string {
	method, path, _ := strings.Cut(w.show.Replace(step.Ask), " ")
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, w.server+path, strings.NewReader(w.show.Replace(step.Body)))
	require.NoError(w.t, err)
	if step.Body != "" {
		r.Header.Set("Content-Type", map[bool]string{true: "application/merge-patch+json", false: "application/json"}[method == http.MethodPatch])
	}
	number := fmt.Sprint(w.steps)
	r.Header.Set("User-Agent", "steps")
	r.Header.Set(stepHeader, number)
	client := w.clients[step.As]
	if client == nil {
		client = w.clients[""]
	}
	if token := w.tokens[step.who()]; token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for _, line := range step.Headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header[http.CanonicalHeaderKey(name)] = append(r.Header[http.CanonicalHeaderKey(name)], value)
	}
	resp, err := client.Do(r)
	if err != nil {
		return "no answer"
	}
	defer resp.Body.Close()
	body, err := step.read(resp)
	if err != nil {
		body += "\nthe body breaks off"
	}
	if step.Token != "" {
		var review struct{ Status struct{ Token string } }
		require.NoError(w.t, json.Unmarshal([]byte(body), &review))
		w.tokens[step.Token] = review.Status.Token
		body = ""
	}
	text := answerText(resp, step.picked(body))
	for _, name := range slices.Sorted(maps.Keys(w.extensions)) {
		if saw := w.extensions[name].saw(number); saw != "" {
			text += "\n" + name + " saw:\n" + saw
		}
	}
	return text
}

// read returns the body that counts.
func (s Step) read(resp *http.Response) (string, error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		if _, err := io.WriteString(resp.Body.(io.Writer), s.Say+"\n"); err != nil {
			return "", err
		}
		return bufio.NewReader(resp.Body).ReadString('\n')
	}
	if s.Lines == 0 {
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	var body string
	lines := bufio.NewReader(resp.Body)
	for range s.Lines {
		line, err := lines.ReadString('\n')
		body += line
		if err != nil {
			return body, err
		}
	}
	return body, nil
}
