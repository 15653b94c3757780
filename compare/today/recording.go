// Package today asks a server what kube-apiserver 1.36.3 was asked when testdata/today was
// recorded, and compares the answers.
package today

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Step is one request or command, with the recorded answer and that of the server, both in
// the form in which Differences compares them.
type Step struct {
	Name      string // its number in the recording, from 0, and what was asked
	Want, Got string
	cut       bool // the recorded answer went on
}

// Session is a sequence of kubectl commands, recorded on a server of its own.
type Session struct {
	Name    string
	Steps   []command
	Answers []printed // to the steps that are no files
}

// command is a shell line, or a file that the next ones read.
type command struct{ Line, File, Text string }

func (c *command) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		return json.Unmarshal(data, &c.Line)
	}
	type plain command
	return json.Unmarshal(data, (*plain)(c))
}

// printed is what a command printed, with what varies from run to run replaced by words.
type printed struct {
	Exit     int
	Out, Err string
}

func (p printed) String() string {
	return fmt.Sprintf("exit %d\nstdout:\n%s\nstderr:\n%s\n", p.Exit, p.Out, p.Err)
}

// LoadSessions reads testdata/today/kubectl.json, or a file like it.
func LoadSessions(file string) (sessions []Session, err error) {
	return sessions, load(file, &sessions)
}

func load(file string, into any) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// Run runs the commands one after the other, with an empty folder as home and working
// directory, and a kubeconfig in it for the server. An error means that a command could not
// be run at all.
func (s Session) Run(ctx context.Context, folder, kubectl, server string) (steps []Step, err error) {
	return s.RunAs(ctx, folder, kubectl, fmt.Sprintf(kubeconfig, server))
}

// RunAs is Run with a kubeconfig, which says how to get in. A line that sleeps gives controllers time; for those of a slow
// machine it is repeated until it prints what was recorded, 30 times at most.
func (s Session) RunAs(ctx context.Context, folder, kubectl, kubeconfig string) (steps []Step, err error) {
	config := filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(config, []byte(kubeconfig), 0o600); err != nil {
		return nil, err
	}
	environment := append(os.Environ(), "K="+kubectl, "KUBECONFIG="+config, "HOME="+folder, "KUBE_EDITOR=sed -i s/editme/edited/")
	for _, c := range s.Steps {
		if c.File != "" {
			if err := os.WriteFile(filepath.Join(folder, c.File), []byte(c.Text), 0o600); err != nil {
				return nil, err
			}
			continue
		}
		n := len(steps)
		if n == len(s.Answers) {
			return nil, fmt.Errorf("session %q has no answer to %q", s.Name, c.Line)
		}
		got, err := c.print(ctx, folder, environment)
		for tries := 1; err == nil && got != s.Answers[n] && strings.HasPrefix(c.Line, "sleep ") && tries < 30; tries++ {
			got, err = c.print(ctx, folder, environment)
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{Name: fmt.Sprint(n, " ", c.Line), Want: s.Answers[n].String(), Got: got.String()})
	}
	return steps, nil
}

func (c command) print(ctx context.Context, folder string, environment []string) (printed, error) {
	var stdout, stderr strings.Builder
	shell := exec.CommandContext(ctx, "bash", "-c", c.Line)
	shell.Dir, shell.Env, shell.Stdout, shell.Stderr = folder, environment, &stdout, &stderr
	if err := shell.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return printed{}, err
	}
	return printed{shell.ProcessState.ExitCode(), normalOutput(stdout.String()), normalOutput(stderr.String())}, nil
}

const kubeconfig = `apiVersion: v1
kind: Config
current-context: kube2014
clusters: [{name: kube2014, cluster: {server: %q}}]
contexts: [{name: kube2014, context: {cluster: kube2014, user: nobody}}]
users: [{name: nobody, user: {}}]
`

// Request is one of a sequence, with its recorded answer.
type Request struct {
	Method, Path, Accept, ContentType, Body string
	Status                                  int
	Headers                                 map[string]string
	Answer                                  string

	User  string  // who is impersonated
	Later bool    // a controller makes what is answered: it is asked until it is as recorded, for a minute
	Asked []Asked // webhooks meanwhile

	Hook     string          // the path of a webhook that answers otherwise from now on; then there is no request
	Response json.RawMessage // how it answers
}

// LoadRequests reads testdata/today/answers.json.
func LoadRequests(file string) (requests []Request, err error) {
	return requests, load(file, &requests)
}

// unrepeatable has the requests that are not replayed, by their number, with the reason.
var unrepeatable = map[int]string{
	39: "its watch begins with what was done before the recording",
	41: "the recorded server's etcd was too old for it",
}

// Replay sends the requests one after the other, but for two. Server is a URL.
func Replay(ctx context.Context, client *http.Client, server string, requests []Request) (steps []Step, err error) {
	for i, r := range requests {
		if unrepeatable[i] != "" {
			continue
		}
		got, err := r.send(ctx, client, server)
		if err != nil {
			return nil, err
		}
		text, cut := uncut(r.Answer)
		want := answerText(r.Status, func(name string) string { return r.Headers[name] }, text)
		steps = append(steps, Step{Name: fmt.Sprint(i, " ", r.Method, " ", r.Path), Want: want, Got: got, cut: cut})
	}
	return steps, nil
}

// watches tells whether the answer is a stream of events.
func (r Request) watches() bool {
	return strings.Contains(r.Path, "watch=1") || strings.HasPrefix(r.Path, "/api/v1/watch/")
}

// unhurried returns the path, with so much time for a watch that no slow machine is a difference.
func (r Request) unhurried() string {
	return strings.Replace(r.Path, "timeoutSeconds=1", "timeoutSeconds=60", 1)
}

// read returns the body of an answer: of a stream as many lines as were recorded, so that
// the result does not depend on how many come before its time is over.
func (r Request) read(resp *http.Response) (string, error) {
	if !r.watches() || resp.StatusCode != http.StatusOK {
		body, err := io.ReadAll(resp.Body)
		return string(body), err
	}
	var body strings.Builder
	lines := bufio.NewReader(resp.Body)
	for range strings.Lines(r.Answer) {
		line, err := lines.ReadString('\n')
		body.WriteString(line)
		if errors.Is(err, io.EOF) {
			break // it has fewer
		}
		if err != nil {
			return "", err
		}
	}
	return body.String(), nil
}

func (r Request) send(ctx context.Context, client *http.Client, server string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, server+r.unhurried(), strings.NewReader(r.Body))
	if err != nil {
		return "", err
	}
	if r.Body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range map[string]string{"Content-Type": r.ContentType, "Accept": r.Accept} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	if r.User != "" {
		req.Header.Set("Impersonate-User", r.User)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := r.read(resp)
	header := func(name string) string { return strings.Join(resp.Header.Values(name), "\n") }
	return answerText(resp.StatusCode, header, body), err
}
