package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kube2014/compare/today"
)

// checkKubectl replays the recorded commands: on one kube-apiserver, which each session
// leaves as it found it, and on a new one of ours for each.
func (c *comparison) checkKubectl() error {
	sessions, err := today.LoadSessions(c.testdata)
	if err != nil {
		return err
	}
	url, err := c.StartEtcd()
	if err != nil {
		return err
	}
	theirs, _, err := c.kubeAPIServer(url, "AlwaysAllow", tokens)
	if err != nil {
		return err
	}
	if err := c.start(theirs); err != nil {
		return err
	}
	defer theirs.Stop()
	var there, here tally
	for _, session := range sessions {
		if err := theirs.isFresh(); err != nil {
			return fmt.Errorf("before %q: %w", session.Name, err)
		}
		if err := there.replay(c, theirs, session, nil); err != nil {
			return err
		}
		ours := c.ours(inMemory, "", "-scheduler", "none")
		if err := c.start(ours); err != nil {
			return err
		}
		if err := here.replay(c, ours, session, today.AtInsecurePort(session.Name)); err != nil {
			return err
		}
		ours.Stop()
	}
	c.kubectl = fmt.Sprintf("Recorded *kubectl* commands print the same on this kube-apiserver (%s) and on ours (%s, %d with\n"+
		"[known differences](differences.md)).\n%s", there, here, here.known, there.differences(kubeAPIServer)+here.differences("ours"))
	return nil
}

// isFresh is an error if somebody has made an object.
func (s *side) isFresh() error {
	for path, most := range map[string]int{podsPath: 0, "/api/v1/replicationcontrollers": 0, "/api/v1/services": 1} { // its own
		list, err := s.ask("GET", path, nil)
		if err != nil {
			return err
		}
		if n := strings.Count(string(list), `"uid":`); n > most {
			return fmt.Errorf("there are %d objects at %s", n, path)
		}
	}
	return nil
}

// tally counts the commands that print what was recorded.
type tally struct {
	commands, known int
	different       []string
}

func (t *tally) replay(c *comparison, s *side, session today.Session, known []today.Edit) error {
	dir, err := os.MkdirTemp(c.Dir, "session")
	if err != nil {
		return err
	}
	kubectl, err := filepath.Abs(filepath.Join(c.programs, "kubectl"))
	if err != nil {
		return err
	}
	url := "http://" + s.Address
	if s.TLS { // $K may be more than one word
		kubectl, url = kubectl+" --insecure-skip-tls-verify --token "+token, "https://"+s.Address
	}
	steps, err := session.Run(context.Background(), dir, kubectl, url)
	if err != nil {
		return err
	}
	t.add(session.Name, len(steps), known, today.Differences(steps, known))
	return nil
}

func (t *tally) add(session string, commands int, known []today.Edit, found []today.Difference) {
	t.commands += commands
	edited := map[string]bool{}
	for _, edit := range known {
		edited[edit.Step] = true
	}
	t.known += len(edited)
	different := map[string]bool{}
	for _, difference := range found {
		if !different[difference.Name] {
			different[difference.Name] = true
			t.different = append(t.different, session+": "+difference.Name)
		}
	}
}

func (t tally) String() string {
	return fmt.Sprintf("%d of %d", t.commands-len(t.different), t.commands)
}

// differences lists the commands that print something else.
func (t tally) differences(on string) string {
	var text strings.Builder
	for _, name := range t.different {
		fmt.Fprintf(&text, "\n- on %s, %s", on, name)
	}
	if text.Len() > 0 {
		text.WriteString("\n")
	}
	return text.String()
}
