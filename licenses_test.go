package kube2014

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const licensesFile = "THIRD_PARTY"

// module is a library that is built into the program.
type module struct{ path, version, dir string }

func modulesOfTheProgram(t *testing.T) (modules []module) {
	listed, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", "./cmd/apiserver").Output()
	require.NoError(t, err)
	lines := slices.DeleteFunc(strings.Split(string(listed), "\n"), func(line string) bool { return line == "" })
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		fields := strings.Fields(line)
		require.Len(t, fields, 3, line)
		modules = append(modules, module{fields[0], fields[1], fields[2]})
	}
	return modules
}

// licenses are known by their words.
var licenses = []struct {
	name  string
	words *regexp.Regexp
}{
	{"Apache-2.0", regexp.MustCompile(`Apache License,?\s+Version 2\.0`)},
	{"BSD-3-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms[\s\S]*endorse`)},
	{"BSD-2-Clause", regexp.MustCompile(`Redistribution and use in source and binary forms`)},
	{"ISC", regexp.MustCompile(`Permission to use, copy, modify, and(/or)? distribute`)},
	{"MIT", regexp.MustCompile(`Permission is hereby granted, free of charge`)},
}

// licensesOf returns the licenses of a module: of two BSD ones the longer.
func licensesOf(t *testing.T, m module) (names []string) {
	files, err := filepath.Glob(filepath.Join(m.dir, "[lL][iI][cC][eE][nN][sScC][eE]*"))
	require.NoError(t, err)
	for _, file := range files {
		text := read(t, file)
		for _, license := range licenses {
			isShorter := license.name == "BSD-2-Clause" && slices.Contains(names, "BSD-3-Clause")
			if license.words.MatchString(text) && !isShorter && !slices.Contains(names, license.name) {
				names = append(names, license.name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// Nobody types the list: go test -run TestTheLicenses . -update writes it.
func TestTheLicensesOfAllLibrariesAreListed(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("The libraries in bin/apiserver, their versions and licenses. The texts of the licenses are in their modules.\n\n")
	for _, m := range modulesOfTheProgram(t) {
		names := licensesOf(t, m)
		require.NotEmpty(t, names, "%s has a license that nobody knows", m.path)
		fmt.Fprintf(&text, "%s %s: %s\n", m.path, m.version, strings.Join(names, ", "))
	}
	if *update {
		require.NoError(t, os.WriteFile(licensesFile, []byte(text.String()), 0o644))
	}
	assert.Equal(t, text.String(), read(t, licensesFile), "this corrects it: go test -run TestTheLicenses . -update")
}

// What go.mod requires for the program itself, and not only for what it is built of, has a row.
func TestTheTableOfLibrariesInTheREADMEIsComplete(t *testing.T) {
	t.Parallel()
	direct, _, _ := strings.Cut(read(t, "go.mod"), ")")
	var wanted []string
	for _, m := range modulesOfTheProgram(t) {
		for library, importers := range libraries {
			used := slices.ContainsFunc(importers, func(dir string) bool { return strings.HasPrefix(dir, "pkg/") && !strings.HasSuffix(dir, "test") })
			if used && (library == m.path || strings.HasPrefix(library+"/", m.path+"/") || strings.HasPrefix(m.path+"/", library+"/")) && strings.Contains(direct, "\t"+m.path+" ") {
				wanted = append(wanted, m.path)
			}
		}
	}
	slices.Sort(wanted)
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| .+ \\| [\\d.]+ \\|$").FindAllStringSubmatch(section(t, "README.md", "## What it depends on"), -1) {
		rows = append(rows, row[1])
	}
	slices.Sort(rows)
	assert.Greater(t, len(rows), 15)
	assert.Equal(t, slices.Compact(wanted), rows)
}
