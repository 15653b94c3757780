package client

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/api"
)

func TestALabelQueryIsReadAndWritten(t *testing.T) {
	t.Parallel()
	for query, labels := range map[string]map[string]string{
		"":                {},
		"name=web":        {"name": "web"},
		"a=1,b=2,c=":      {"a": "1", "b": "2", "c": ""},
		"name=a b,é=\x00": {"name": "a b", "é": "\x00"},
	} {
		got, err := DecodeLabelQuery(query)
		require.NoError(t, err, query)
		assert.Equal(t, labels, got)
		assert.Equal(t, query, EncodeLabelQuery(labels))
	}
}

// D5: a malformed query is an error, not a query for everything.
func TestD5AMalformedLabelQueryIsAnError(t *testing.T) {
	t.Parallel()
	for query, text := range map[string]string{
		"name":       `labels: "name" is not of the form key=value`,
		"=web":       `labels: "=web" is not of the form key=value`,
		"a=b=c":      `labels: "a=b=c" is not of the form key=value`,
		"a=1,":       `labels: "" is not of the form key=value`,
		",":          `labels: "" is not of the form key=value`,
		"a=1,a=2":    `labels: key "a" is given twice`,
		"a=1,b\nc,d": `labels: "b\nc" is not of the form key=value`,
	} {
		got, err := DecodeLabelQuery(query)
		require.EqualError(t, err, text)
		assert.Equal(t, api.Invalid, api.KindOf(err))
		assert.Nil(t, got)
	}
}
