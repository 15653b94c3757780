package kube2014

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A link or a picture: its text, the file, the heading in it.
var (
	link    = regexp.MustCompile(`(!?)\[([^\]]*)\]\(([^)#]*)(#[^)]*)?\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*?) *$`)
)

// anchors returns the anchors of a document's headings, as GitHub makes them.
func anchors(document string) map[string]bool {
	found := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(block.ReplaceAllString(document, ""), -1) {
		text := link.ReplaceAllString(match[1], "$2")
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, text)
		again := slug
		for n := 1; found["#"+again]; n++ {
			again = fmt.Sprintf("%s-%d", slug, n)
		}
		found["#"+again] = true
	}
	return found
}

// brokenLinks returns the broken links of a document, and the number of its
// links. Links to other sites are not checked.
func brokenLinks(file, document string) (broken []string, links int) {
	for _, match := range link.FindAllStringSubmatch(block.ReplaceAllString(document, ""), -1) {
		isPicture, text, target, anchor := match[1] == "!", match[2], match[3], match[4]
		if strings.Contains(target, "://") {
			continue
		}
		links++
		linked := file
		if target != "" {
			linked = filepath.Join(filepath.Dir(file), target)
		}
		_, err := os.Stat(linked)
		there := err == nil
		if there && anchor != "" {
			there = hasAnchor(linked, anchor)
		}
		if !there || text == "" || isPicture && len(text) < 40 {
			broken = append(broken, match[0])
		}
	}
	return broken, links
}

var lineAnchor = regexp.MustCompile(`^#L([1-9]\d*)(?:-L([1-9]\d*))?$`)

// hasAnchor tells whether a document has a heading, or a Go file has lines.
func hasAnchor(file, anchor string) bool {
	data, err := os.ReadFile(file)
	match := lineAnchor.FindStringSubmatch(anchor)
	switch {
	case err != nil:
		return false
	case strings.HasSuffix(file, ".md"):
		return anchors(string(data))[anchor]
	case !strings.HasSuffix(file, ".go") || match == nil:
		return false
	}
	first, _ := strconv.Atoi(match[1])
	last, _ := strconv.Atoi(cmp.Or(match[2], match[1]))
	return first <= last && last <= bytes.Count(data, []byte("\n"))
}

// A picture also needs a description.
func TestEveryLinkInADocumentLeadsSomewhere(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, document := range documents(t) {
		data, err := os.ReadFile(document)
		require.NoError(t, err)
		broken, links := brokenLinks(document, string(data))
		assert.Empty(t, broken, document)
		checked += links
	}
	assert.Greater(t, checked, 30)
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	t.Parallel()
	broken, links := brokenLinks("docs/etcd.md", strings.Join([]string{
		"[a](deviations.md) [a](etcd.md#the-keys) [a](../README.md#a-tour-with-curl) [a](../api/examples) [a](https://example.com/#b)",
		"[a](../links_test.go) [a](../links_test.go#L1) [a](../links_test.go#L1-L9)",
		"[b](nothing.md) [b](#the-locks) [b](../LICENSE#license) [](etcd.md) ![short](etcd.md)",
		"[b](../nothing.go#L1) [b](../links_test.go#L0) [b](../links_test.go#L9-L8) [b](../links_test.go#L1-L9999) [b](etcd.md#L1)",
	}, "\n"))
	assert.Equal(t, 17, links)
	assert.Equal(t, []string{"[b](nothing.md)", "[b](#the-locks)", "[b](../LICENSE#license)", "[](etcd.md)", "![short](etcd.md)",
		"[b](../nothing.go#L1)", "[b](../links_test.go#L0)", "[b](../links_test.go#L9-L8)", "[b](../links_test.go#L1-L9999)",
		"[b](etcd.md#L1)"}, broken)
	assert.Equal(t, map[string]bool{"#a-b_c-d": true, "#the-cmdapiserverapiservergo-file": true, "#a-b_c-d-1": true},
		anchors("# A b_c, d!\n## The `cmd/apiserver/apiserver.go` file\n### A B_C D\n```text\n# no\n```\n"))
}
