package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTheTableIsMadeOfTheModulesInGoMod(t *testing.T) {
	t.Parallel()
	want, err := makeTable()
	require.NoError(t, err)
	got, err := os.ReadFile("../" + tableFile)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "go generate ./pkg/api/v1/markers makes it anew")
}
