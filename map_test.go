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
	o := original{length: map[string]int{}, declared: map[string]map[string]lines{}}
	file := ""
	for line := range strings.Lines(read(t, "testdata/original-lines.txt")) {
		name, number, _ := strings.Cut(strings.TrimSpace(line), " ")
		var err error
		switch {
		case name == "" || name == "#":
		case strings.HasPrefix(name, "https://"):
			o.url = name
		case strings.HasSuffix(name, ".go"):
			file, o.declared[name] = name, map[string]lines{}
			o.length[file], err = strconv.Atoi(number)
		default:
			var l lines
			_, err = fmt.Sscanf(number, "%d-%d", &l.first, &l.last)
			o.declared[file][name] = l
		}
		require.NoError(t, err, line)
	}
	require.Len(t, o.length, 20)
	return o
}

func (l lines) anchor() string {
	if l.first == l.last {
		return fmt.Sprintf("#L%d", l.first)
	}
	return fmt.Sprintf("#L%d-L%d", l.first, l.last)
}

// linkTo returns the link into the original that shows this: a name, or how long a file
// is, or its name. A name that this project does not have is in italics.
func (o original) linkTo(c *code, shown, url string) (string, error) {
	file := strings.TrimPrefix(url, o.url)
	name := strings.Trim(shown, "`*")
	l, ok := o.declared[file][name]
	switch {
	case ok && c.has(name):
		return "[`" + name + "`](" + url + l.anchor() + ")", nil
	case ok:
		return "[*" + name + "*](" + url + l.anchor() + ")", nil
	case o.length[file] > 0 && strings.HasSuffix(shown, " lines"):
		return fmt.Sprintf("[%d lines](%s)", o.length[file], url), nil
	case o.length[file] > 0 && name == path.Base(file):
		return "[" + shown + "](" + url + ")", nil
	}
	return "", fmt.Errorf("the original has no %s in %s", name, file)
}

// linkTo returns the link to a name in our code. If the file does not declare it any
// more, the only other one that does is meant; what is not exported does not move to
// another package.
func (c *code) linkTo(shown, url string) (string, error) {
	name, file := strings.Trim(shown, "`"), strings.TrimPrefix(url, "../")
	if _, ok := c.declared[file][name]; !ok {
		var files []string
		for _, other := range slices.Sorted(maps.Keys(c.declared)) {
			_, ok := c.declared[other][name]
			if ok && (ast.IsExported(name) || path.Dir(other) == path.Dir(file)) {
				files = append(files, other)
			}
		}
		if len(files) != 1 {
			return "", fmt.Errorf("%s does not declare %s; files that do: %q", file, name, files)
		}
		file = files[0]
	}
	return "[" + shown + "](../" + file + c.declared[file][name].anchor() + ")", nil
}

// Not parallel: with -update it writes what other tests read.
func TestTheMapLinksToTheLinesThereAndHere(t *testing.T) {
	document, c, o := read(t, mapFile), readCode(t), readOriginal(t)
	corrected := link.ReplaceAllStringFunc(document, func(was string) string {
		match := link.FindStringSubmatch(was)
		now, err := was, error(nil)
		switch shown, url := match[2], match[3]; {
		case strings.HasPrefix(url, o.url):
			now, err = o.linkTo(c, shown, url)
		case strings.HasPrefix(url, "https://"):
			assert.Contains(t, url, path.Base(o.url), "another commit")
		case strings.HasSuffix(url, ".go"):
			now, err = c.linkTo(shown, url)
		}
		if !assert.NoError(t, err, "correct this link in %s by hand: %s", mapFile, was) {
			return was
		}
		return now
	})
	if *update {
		require.NoError(t, os.WriteFile(mapFile, []byte(corrected), 0o644))
	} else {
		assert.Equal(t, corrected, document, "this corrects the links: go test -run TestTheMap . -update")
	}
}

var (
	// mapFiles are the sections of the map: a file of the original, its heading, and the items below.
	mapFiles = regexp.MustCompile(`(?m)^### (\S+\.go), \[.*\n\n((?:[- ] .*\n)+)`)
	// mapItem is a list of names there, an arrow, and what does the same here.
	mapItem = regexp.MustCompile(`(?m)^- .*\n(?:  .*\n)*`)
)

// The map has each name of the original, below its file, and tells where it is here.
func TestTheMapHasEveryNameOfTheOriginal(t *testing.T) {
	t.Parallel()
	o := readOriginal(t)
	placed := map[string]bool{}
	text := section(t, mapFile, "## File by file")
	assert.Empty(t, strings.TrimSpace(mapFiles.ReplaceAllString(text, "")), "it is in no list of a file")
	for _, file := range mapFiles.FindAllStringSubmatch(text, -1) {
		assert.Empty(t, mapItem.ReplaceAllString(file[2], ""), "it is in no item of %s", file[1])
		for _, item := range mapItem.FindAllString(file[2], -1) {
			there, here, ok := strings.Cut(strings.TrimSpace(item), "\n  → ")
			assert.True(t, ok, "no arrow: %s", item)
			for _, name := range link.FindAllStringSubmatch(there, -1) {
				assert.Equal(t, o.url+file[1], name[3], "it is below another file")
				placed[file[1]+" "+strings.Trim(name[2], "`*")] = true
			}
			assert.Regexp(t, `\]\(\.\./.*\.go#L|^not here$`, here, "where is it here? %s", item)
			assert.False(t, here == "not here" && strings.Contains(there, "[`"), "it is here: %s", item)
		}
	}
	for file, names := range o.declared {
		assert.Contains(t, text, fmt.Sprintf("\n### %s, [%d lines](%s%s)\n", file, o.length[file], o.url, file))
		for name := range names {
			assert.True(t, placed[file+" "+name], "the map has no item for %s of %s", name, file)
		}
	}
}

func TestTheMapHasShortLines(t *testing.T) {
	t.Parallel()
	for line := range strings.Lines(read(t, mapFile)) {
		assert.LessOrEqual(t, len([]rune(line)), 250, line)
	}
}
