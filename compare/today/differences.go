package today

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Edit is a difference that is on purpose: it makes of a recorded answer the one that is
// right here.
type Edit struct {
	K    string // its number in docs/differences.md
	Step string // the name of a step; all steps if empty
	Old  string // a regular expression for what the recorded server says
	New  string // what is said here, with $1 for what Old has in parentheses
}

func (e Edit) apply(step, text string) string {
	if e.Step != "" && e.Step != step {
		return text
	}
	return regexp.MustCompile(e.Old).ReplaceAllString(text, e.New)
}

// Difference is an answer that is not the recorded one, with the edits.
type Difference struct{ Name, Want, Got string }

// Differences compares the answers to one replay. An edit that changes nothing, or whose
// step was not replayed, is a difference too. An object that had one uid all along must have
// one here, and its version changes when the recorded one did.
func Differences(steps []Step, edits []Edit) (found []Difference) {
	used := make([]bool, len(edits))
	here := identities{}
	for _, step := range steps {
		want, got := step.Want, step.Got
		for i, edit := range edits {
			edited := edit.apply(step.Name, want)
			used[i] = used[i] || edited != want
			want = edited
		}
		if step.cut {
			want = closing.ReplaceAllString(want, "\n")
			lines := slices.Collect(strings.Lines(got))
			got = strings.Join(lines[:min(len(lines), len(slices.Collect(strings.Lines(want))))], "")
		}
		maskedWant, maskedGot := want, got
		if want != got {
			maskedWant, maskedGot = replace(want, answerMasks), replace(got, answerMasks)
		}
		if maskedWant != maskedGot {
			found = append(found, Difference{step.Name, maskedWant, maskedGot})
		} else if was, is, ok := here.check(want, got); !ok {
			found = append(found, Difference{step.Name + ": is it the same object or version as before?", was, is})
		}
	}
	for i, edit := range edits {
		if !used[i] {
			found = append(found, Difference{fmt.Sprintf("%s of the known differences", edit.K), edit.Old, "no such answer " + edit.Step})
		}
	}
	return found
}

// closing matches the end of a JSON text that was cut.
var closing = regexp.MustCompile(`(\n *[\]}])*\n$`)

// identities has, for each recorded uid, and each uid with a version, the one here.
type identities map[string]string

var identity = regexp.MustCompile(`"uid": "(` + uid + `)"\n +"resourceVersion": "(\d+)"`)

// check compares two texts that are equal when masked, and returns the first pair of which
// one was paired otherwise before.
func (here identities) check(want, got string) (was, is string, ok bool) {
	theirs, ours := identity.FindAllStringSubmatch(want, -1), identity.FindAllStringSubmatch(got, -1)
	for i := range min(len(theirs), len(ours)) {
		pairs := [][2]string{{theirs[i][1], ours[i][1]}, {theirs[i][1] + " " + theirs[i][2], ours[i][1] + " " + ours[i][2]}}
		for _, pair := range pairs {
			// Both ways: what is one there is one here, and what is two is two.
			for _, way := range [][2]string{{"their " + pair[0], pair[1]}, {"our " + pair[1], pair[0]}} {
				if before, seen := here[way[0]]; seen && before != way[1] {
					return before, way[1], false
				}
				here[way[0]] = way[1]
			}
		}
	}
	return "", "", true
}
