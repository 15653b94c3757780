package kube2014

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// docs/original.md links each name to its lines in the original and here. Nobody
// writes line numbers by hand: a link needs the name and a file, and
//
//	go test -run TestTheMap . -update
//
// writes the rest, also when a declaration has moved to another file.
const mapFile = "docs/original.md"

// original is what testdata/original-lines.txt tells of the first commit.
type original struct {
	url      string                      // of a file, up to its path
	length   map[string]int              // by file
	declared map[string]map[string]lines // by file: Name or Type.Method
}

func readOriginal(t *testing.T) original {
	data, err := os.ReadFile("testdata/original-lines.txt")
	require.NoError(t, err)
	o := original{length: map[string]int{}, declared: map[string]map[string]lines{}}
	file := ""
	for line := range strings.Lines(string(data)) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case name == "" || name == "#":
		case strings.HasPrefix(name, "https://"):
			o.url = name
		case strings.HasSuffix(name, ".go"):
			file, o.declared[name] = name, map[string]lines{}
			o.length[file], err = strconv.Atoi(number)
			require.NoError(t, err)
		default:
			var l lines
			_, err := fmt.Sscanf(number, "%d-%d", &l.first, &l.last)
			require.NoError(t, err, "%s: %s", file, name)
			require.True(t, 0 < l.first && l.first <= l.last && l.last <= o.length[file], "%s: %s", file, name)
			o.declared[file][name] = l
		}
	}
	require.Len(t, o.length, 20)
	return o
}

// commit is the hash in the URL.
func (o original) commit() string { return path.Base(o.url) }

func (l lines) anchor() string {
	if l.first == l.last {
		return fmt.Sprintf("#L%d", l.first)
	}
	return fmt.Sprintf("#L%d-L%d", l.first, l.last)
}

// mapLinks corrects the links of a map.
type mapLinks struct {
	code     *code
	original original

	stale []string // what it has corrected
	wrong []string // what it cannot correct
}

var inRepository = regexp.MustCompile(`^https://github\.com/kubernetes/kubernetes/(?:blob|tree|commit)/`)

// correct returns the document with the right lines in each link, and the right
// file of ours.
func (m *mapLinks) correct(document string) string {
	return link.ReplaceAllStringFunc(document, func(was string) string {
		match := link.FindStringSubmatch(was)
		shown, file := match[2], match[3]
		target, err := file+match[4], error(nil)
		switch {
		case inRepository.MatchString(file):
			shown, target, err = m.there(shown, file, target)
		case strings.HasSuffix(file, ".go") && !strings.Contains(file, "://"):
			target, err = m.here(shown, path.Join(path.Dir(mapFile), file))
		}
		corrected := "[" + shown + "](" + target + ")"
		switch {
		case err != nil:
			m.wrong = append(m.wrong, was+": "+err.Error())
			return was
		case corrected != was:
			m.stale = append(m.stale, was+" → "+corrected)
		}
		return corrected
	})
}

var wholeFile = regexp.MustCompile(`^\d+ lines$`)

// there corrects a link into the original: to the lines of the name that it shows,
// or to the whole file when it shows how long that is, or its name. A name that
// this project does not have is in italics.
func (m *mapLinks) there(shown, url, target string) (string, string, error) {
	file, listed := strings.CutPrefix(url, m.original.url)
	declared, known := m.original.declared[file]
	name := strings.Trim(shown, "`*")
	l, ok := declared[name]
	quote := "*"
	if m.code.names[name] {
		quote = "`"
	}
	switch {
	case !strings.Contains(url, "/"+m.original.commit()):
		return "", "", fmt.Errorf("another commit")
	case !listed:
		return shown, target, nil
	case !known:
		return "", "", fmt.Errorf("the original's apiserver has no file %s", file)
	case ok:
		return quote + name + quote, url + l.anchor(), nil
	case wholeFile.MatchString(shown):
		return fmt.Sprintf("%d lines", m.original.length[file]), url, nil
	case name == path.Base(file):
		return shown, url, nil
	}
	return "", "", fmt.Errorf("it declares no %s", name)
}

// here returns the target of a link into our code: the lines of the name that it
// shows. If the file does not declare it any more, the only other one that does is
// meant; what is not exported does not move to another package.
func (m *mapLinks) here(shown, file string) (string, error) {
	name := strings.Trim(shown, "`")
	if _, ok := m.code.declared[file][name]; !ok {
		var files []string
		for _, other := range slices.Sorted(maps.Keys(m.code.declared)) {
			_, ok := m.code.declared[other][name]
			if ok && (ast.IsExported(name) || path.Dir(other) == path.Dir(file)) {
				files = append(files, other)
			}
		}
		if len(files) != 1 {
			return "", fmt.Errorf("%s does not declare %s; files that do: %q", file, name, files)
		}
		file = files[0]
	}
	return strings.Repeat("../", strings.Count(mapFile, "/")) + file + m.code.declared[file][name].anchor(), nil
}

// Not parallel: with -update it writes what other tests read.
func TestTheMapLinksToTheLinesThereAndHere(t *testing.T) {
	document, err := os.ReadFile(mapFile)
	require.NoError(t, err)
	m := &mapLinks{code: readCode(t), original: readOriginal(t)}
	corrected := m.correct(string(document))
	if *update {
		require.NoError(t, os.WriteFile(mapFile, []byte(corrected), 0o644))
	} else {
		assert.Empty(t, strings.Join(m.stale, "\n"), "links are stale; this corrects %s:\n\n\tgo test -run TestTheMap . -update", mapFile)
	}
	assert.Empty(t, strings.Join(m.wrong, "\n"), "correct these links in %s by hand", mapFile)
	assert.Contains(t, corrected, "["+m.original.commit()+"](https://github.com/kubernetes/kubernetes/commit/"+m.original.commit()+")")
}

func TestALinkOfTheMapThatIsStaleOrWrongIsFound(t *testing.T) {
	t.Parallel()
	const url = "https://github.com/kubernetes/kubernetes/blob/2c4b/"
	makeLinks := func() *mapLinks {
		return &mapLinks{
			original: original{url: url, length: map[string]int{"a.go": 9},
				declared: map[string]map[string]lines{"a.go": {"New": {3, 5}, "List.Set": {7, 7}, "run": {8, 9}}}},
			code: &code{names: map[string]bool{"New": true, "List.Set": true},
				declared: map[string]map[string]lines{"pkg/a.go": {"New": {10, 12}}, "pkg/b.go": {"New": {2, 3}, "List.Set": {4, 4}, "run": {5, 6}}}},
		}
	}
	for _, right := range []string{
		"[`New`](" + url + "a.go#L3-L5)", "[`List.Set`](" + url + "a.go#L7)", "[*run*](" + url + "a.go#L8-L9)", "[9 lines](" + url + "a.go)",
		"[*a.go*](" + url + "a.go)", "[x](https://github.com/kubernetes/kubernetes/tree/2c4b/cmd/kubelet)",
		"[`New`](../pkg/a.go#L10-L12)", "[`New`](../pkg/b.go#L2-L3)", "[x](etcd.md#x)", "[x](https://example.com/a.go)",
	} {
		m := makeLinks()
		assert.Equal(t, right, m.correct(right))
		assert.Empty(t, append(m.stale, m.wrong...))
	}
	for stale, corrected := range map[string]string{
		"[`New`](" + url + "a.go#L1)":     "[`New`](" + url + "a.go#L3-L5)",
		"[`New`](" + url + "a.go)":        "[`New`](" + url + "a.go#L3-L5)",
		"[9 lines](" + url + "a.go#L9)":   "[9 lines](" + url + "a.go)",
		"[*New*](" + url + "a.go#L3-L5)":  "[`New`](" + url + "a.go#L3-L5)",
		"[`run`](" + url + "a.go#L8-L9)":  "[*run*](" + url + "a.go#L8-L9)",
		"[8 lines](" + url + "a.go)":      "[9 lines](" + url + "a.go)",
		"[`New`](../pkg/a.go#L10-L13)":    "[`New`](../pkg/a.go#L10-L12)",
		"[`List.Set`](../pkg/a.go)":       "[`List.Set`](../pkg/b.go#L4)",
		"[`List.Set`](../cmd/gone.go#L7)": "[`List.Set`](../pkg/b.go#L4)",
		"[`run`](../pkg/a.go#L5-L6)":      "[`run`](../pkg/b.go#L5-L6)",
	} {
		m := makeLinks()
		assert.Equal(t, corrected, m.correct(stale))
		assert.Equal(t, []string{stale + " → " + corrected}, m.stale)
		assert.Empty(t, m.wrong)
	}
	for _, wrong := range []string{
		"[`New`](https://github.com/kubernetes/kubernetes/blob/master/a.go#L3-L5)", "[`New`](" + url + "b.go#L3-L5)",
		"[`Set`](" + url + "a.go#L7)", "[*b.go*](" + url + "a.go)",
		"[`Set`](../pkg/b.go#L4)", "[`New`](../pkg/c.go#L2)", "[`run`](../cmd/a.go#L5-L6)",
	} {
		m := makeLinks()
		assert.Equal(t, wrong, m.correct(wrong))
		assert.Len(t, m.wrong, 1, wrong)
	}
}
