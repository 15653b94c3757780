package kube2014

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Text in backticks in a document names something of the project: a name in the
// code, a file, a flag, a key in etcd. If that is gone, the document is wrong.
// Names of others (the original's other programs, later Kubernetes) are in
// *italics*. Not checked is text that cannot be a name: with a blank (commands,
// JSON, sentences), with a character that no name has, or in capitals only (HTTP
// methods, placeholders, environment variables).

// othersNames are in backticks although they are not the project's.
var othersNames = []string{"null", "-h", "_", "--enable-v2"}

var (
	goName       = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(\))?$`)
	capitalsOnly = regexp.MustCompile(`^[A-Z_]+$`)
	flagName     = regexp.MustCompile(`^--?[a-z][\w-]*$`)
	fileName     = regexp.MustCompile(`^[\w.-]+\.(go|md|json|svg|mod|sum)$`)
	projectPath  = regexp.MustCompile(`^(api|cmd|pkg|docs|tools)/`)

	block     = regexp.MustCompile("(?ms)^```.*?^```$|^    [^ -].*?$")
	codeSpan  = regexp.MustCompile("`([^`\n]+)`")
	inPicture = regexp.MustCompile(`class="(?:[^"]* )?code(?: [^"]*)?"[^>]*>([^<]+)<`)
)

// check returns what is wrong with a text in backticks, nil when it names
// something that exists, or is no name.
func (c *code) check(text string) error {
	exists := true
	switch {
	case slices.Contains(othersNames, text), strings.Contains(text, " "), capitalsOnly.MatchString(text):
	case flagName.MatchString(text):
		exists = c.words[strings.TrimLeft(text, "-")]
	case strings.HasPrefix(text, "/registry/"):
		for segment := range strings.SplitSeq(text, "/") {
			exists = exists && (c.words[segment] || capitalsOnly.MatchString(segment))
		}
	case projectPath.MatchString(text):
		found, _ := filepath.Glob(text)
		exists = len(found) > 0
	case strings.Contains(text, "/"):
	case fileName.MatchString(text):
		found, _ := filepath.Glob("*/*/" + text)
		inTestdata, _ := filepath.Glob("*/*/*/" + text)
		exists = len(found)+len(inTestdata) > 0
	case goName.MatchString(text):
		exists = c.has(strings.TrimSuffix(text, "()"))
	}
	if !exists {
		return fmt.Errorf("there is no %s: names of others are written in *italics*", text)
	}
	return nil
}

func TestEveryNameInADocumentExists(t *testing.T) {
	t.Parallel()
	c := readCode(t)
	for _, document := range documents(t) {
		for _, match := range codeSpan.FindAllStringSubmatch(block.ReplaceAllString(read(t, document), ""), -1) {
			assert.NoError(t, c.check(match[1]), document)
		}
	}
	// In a picture, names are set in the class "code".
	for picture, atLeast := range map[string]int{"docs/architecture.svg": 30, "docs/parts.svg": 5, "docs/second-door.svg": 8, "docs/server.svg": 20} {
		names := inPicture.FindAllStringSubmatch(read(t, picture), -1)
		assert.Greater(t, len(names), atLeast, picture)
		for _, match := range names {
			assert.NoError(t, c.check(match[1]), picture)
		}
	}
}
