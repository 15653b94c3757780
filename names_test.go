package kube2014

import (
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Text in backticks in a document names something of the project: a name in the
// code, a file, a flag, a key in etcd. If that is gone, the document is wrong.
// Names of others (the original's other programs, later Kubernetes) are in
// *italics*. Not checked is text that cannot be a name: with a blank (commands,
// JSON, sentences), with a character that no name has, or in capitals only (HTTP
// methods, placeholders, environment variables).
//
// A name may be given alone or with its type or package (Name, package.Name,
// Type.Member), if the project declares it or uses it from a library. A word may
// also be a JSON name or a string literal of the program.

// othersNames are in backticks although they are not the project's.
var othersNames = map[string]string{
	"null":        "JSON",
	"-h":          "a flag of every program",
	"_":           "a character",
	"--enable-v2": "etcd's flag",
}

var (
	goName       = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(\))?$`)
	capitalsOnly = regexp.MustCompile(`^[A-Z_]+$`)
	flagName     = regexp.MustCompile(`^--?[a-z][\w-]*$`)
	fileName     = regexp.MustCompile(`^[\w.-]+\.(go|md|json|svg|mod|sum)$`)
	projectPath  = regexp.MustCompile(`^(api|cmd|pkg|docs|tools|bin|data|\.ci)/`)
)

// documents are the files that people read.
func documents(t *testing.T) []string {
	files, err := filepath.Glob("docs/*.md")
	require.NoError(t, err)
	return append(files, "README.md")
}

var (
	block    = regexp.MustCompile("(?ms)^```.*?^```$|^    .*?$")
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
)

// spansOf returns the texts in backticks of a document, outside blocks.
func spansOf(document string) []string {
	var spans []string
	for _, match := range codeSpan.FindAllStringSubmatch(block.ReplaceAllString(document, ""), -1) {
		spans = append(spans, match[1])
	}
	return spans
}

// check returns what is wrong with a text in backticks, nil when it names
// something that exists, or is no name.
func (c *code) check(text string) error {
	switch {
	case othersNames[text] != "" || strings.Contains(text, " ") || capitalsOnly.MatchString(text):
		return nil
	case flagName.MatchString(text):
		return exists(c.flags[strings.TrimLeft(text, "-")], "flag", text)
	case strings.HasPrefix(text, "/registry/"):
		for segment := range strings.SplitSeq(text, "/") {
			placeholder := capitalsOnly.MatchString(segment)
			if !placeholder && !c.segments[segment] {
				return fmt.Errorf("no key in etcd has the segment %s of %s", segment, text)
			}
		}
	case projectPath.MatchString(text):
		return existsFile(text)
	case strings.Contains(text, "/"):
		return nil
	case fileName.MatchString(text):
		return existsFile("{"+text+"}", text, "*/"+text, "*/*/"+text, "*/*/*/"+text)
	case goName.MatchString(text):
		name := strings.TrimSuffix(text, "()")
		return exists(c.names[name] || c.words[name] || c.isFieldPath(name), "name", text)
	}
	return nil
}

// isFieldPath reports whether a text is a path of JSON names, like
// currentState.host.
func (c *code) isFieldPath(text string) bool {
	for name := range strings.SplitSeq(text, ".") {
		if !c.words[name] {
			return false
		}
	}
	return true
}

func exists(known bool, kind, text string) error {
	if !known {
		return fmt.Errorf("there is no %s %s", kind, text)
	}
	return nil
}

// existsFile checks that a file matches one of the patterns. Files that git
// ignores need not exist: make builds them.
func existsFile(patterns ...string) error {
	for _, pattern := range patterns {
		if found, err := filepath.Glob(pattern); err != nil || len(found) > 0 {
			return err
		}
		ignored, err := os.ReadFile(".gitignore")
		if folder, _, ok := strings.Cut(pattern, "/"); ok && strings.Contains(string(ignored), "/"+folder+"/\n") {
			return err
		}
	}
	return fmt.Errorf("there is no file %s", patterns[len(patterns)-1])
}

func TestEveryNameInADocumentExists(t *testing.T) {
	t.Parallel()
	c := readCode(t)
	checked := 0
	for _, document := range documents(t) {
		data, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, text := range spansOf(string(data)) {
			checked++
			assert.NoError(t, c.check(text), "%s: names of others are written in *italics*", document)
		}
	}
	assert.Greater(t, checked, 300)
}

// In the picture, names are set in the class "code".
func TestEveryNameInThePictureExists(t *testing.T) {
	t.Parallel()
	c := readCode(t)
	names := namesInPicture(t, "docs/architecture.svg")
	assert.Greater(t, len(names), 30)
	for _, name := range names {
		assert.NoError(t, c.check(name))
	}
}

func namesInPicture(t *testing.T, file string) []string {
	picture, err := os.Open(file)
	require.NoError(t, err)
	defer picture.Close()
	var names []string
	var isCode []bool // for each open element
	for decoder := xml.NewDecoder(picture); ; {
		switch node, err := decoder.Token(); node := node.(type) {
		case nil:
			require.ErrorIs(t, err, io.EOF)
			return names
		case xml.StartElement:
			inherited := len(isCode) > 0 && isCode[len(isCode)-1]
			for _, attribute := range node.Attr {
				inherited = inherited || attribute.Name.Local == "class" && strings.Contains(" "+attribute.Value+" ", " code ")
			}
			isCode = append(isCode, inherited)
		case xml.EndElement:
			isCode = isCode[:len(isCode)-1]
		case xml.CharData:
			if text := strings.TrimSpace(string(node)); text != "" && isCode[len(isCode)-1] {
				names = append(names, text)
			}
		}
	}
}

func TestThePictureIsReadableInTheDarkAndAloud(t *testing.T) {
	t.Parallel()
	picture, err := os.ReadFile("docs/architecture.svg")
	require.NoError(t, err)
	for _, part := range []string{"@media (prefers-color-scheme: dark)", `aria-labelledby="title desc"`, `<title id="title">`, `<desc id="desc">`} {
		assert.Contains(t, string(picture), part)
	}
}

// The check must also fail on names that do not exist.
func TestANameThatDoesNotExistIsFound(t *testing.T) {
	t.Parallel()
	c := readCode(t)
	for _, right := range []string{
		"FirstFitScheduler", "FirstFitScheduler.Schedule", "registry.FirstFitScheduler", "handleREST", "ApiServer.handleREST",
		"etcd.Client.Check", "http.Server", "HTTPContainerInfo.Port", "currentState.host", "first_fit", "-etcd_servers",
		"pkg/registry/etcd_*.go", "etcd_registry.go", "layers_test.go", "bin/apiserver", "/registry/hosts/MACHINE/kubelet",
		"GET /minions", "MACHINE", "text/plain", "{}", "127.0.0.1", "ServeHTTP()",
	} {
		assert.NoError(t, c.check(right))
	}
	for _, wrong := range []string{
		"BestFitScheduler", "FirstFitScheduler.Bind", "apiserver.FirstFitScheduler", "handleRest", "ApiServer.handlePod",
		"etcd.Client.Txn", "http.Serve2r", "HTTPContainerInfo.Ports", "currentState.node", "best_fit", "-etcd_server",
		"pkg/registry/pod_*.go", "replication_controller.go", "cmd/kubelet", "docs/none.md", "/registry/minions/MACHINE",
		"serveHTTP()",
	} {
		assert.Error(t, c.check(wrong))
	}
	assert.Equal(t, []string{"a.B", "c d"}, spansOf("`a.B` and\n\n    `make x`\n\n```text\n`y`\n```\n`c d`"))
}
