package kube2014

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tableRows are the rows below a table's head.
var tableRows = regexp.MustCompile(`(?m)^\|-.*\n((?:\|.*\n)+)`)

// The tables of the map have a row for each name of the original, which tells
// where it is here, and no others.
func TestTheMapHasEveryNameOfTheOriginalAndNoOthers(t *testing.T) {
	t.Parallel()
	o := readOriginal(t)
	placed := map[string]bool{}
	files := section(t, mapFile, "## File by file")
	for _, table := range tableRows.FindAllStringSubmatch(files, -1) {
		for row := range strings.Lines(table[1]) {
			cells := strings.Split(row, " | ")
			names := link.FindAllStringSubmatch(cells[0], -1)
			assert.NotEmpty(t, names, "what is this in the original? %s", row)
			for _, name := range names {
				assert.True(t, strings.HasPrefix(name[3], o.url), "%s is not in the original: %s", name[0], row)
				placed[strings.TrimPrefix(name[3], o.url)+" "+strings.Trim(name[2], "`*")] = true
			}
			assert.Regexp(t, `\]\(\.\./.*\.go#L|^not here$`, cells[1], "where is it here? %s", row)
			assert.False(t, cells[1] == "not here" && strings.Contains(cells[0], "[`"), "it is here: %s", row)
		}
	}
	for file, names := range o.declared {
		assert.Contains(t, files, fmt.Sprintf("[%d lines](%s%s)", o.length[file], o.url, file))
		for name := range names {
			assert.True(t, placed[file+" "+name], "the map has no row for %s of %s", name, file)
		}
	}
}

func TestTheMapLeadsFromEachSnippetToBoth(t *testing.T) {
	t.Parallel()
	o := readOriginal(t)
	rows := tableRows.FindStringSubmatch(section(t, mapFile, "## Snippets that articles quote"))
	require.NotNil(t, rows)
	for row := range strings.Lines(rows[1]) {
		cells := strings.Split(row, " | ")
		require.Len(t, cells, 3, row)
		assert.Contains(t, cells[1], "]("+o.url, row)
		assert.Regexp(t, `\]\(\.\./.*\.go#L`, cells[2], row)
	}
}

var deviation = regexp.MustCompile(`\bD\d+\b`)

// Every deviation in a document is in the table, and every one in the table is
// on the map.
func TestEveryDeviationHasAPlaceOnTheMap(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("docs/deviations.md")
	require.NoError(t, err)
	known := map[string]bool{}
	for _, row := range deviationRow.FindAllStringSubmatch(string(table), -1) {
		known[row[1]] = false
	}
	for _, document := range documents(t) {
		data, err := os.ReadFile(document)
		require.NoError(t, err)
		for _, number := range deviation.FindAllString(string(data), -1) {
			assert.Contains(t, known, number, document)
			if document == mapFile {
				known[number] = true
			}
		}
	}
	for number, placed := range known {
		assert.True(t, placed, "the map does not have %s", number)
	}
}
