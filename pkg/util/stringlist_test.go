package util

import (
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var _ flag.Value = (*StringList)(nil)

func parse(args ...string) (StringList, error) {
	var list StringList
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Var(&list, "list", "")
	err := flags.Parse(args)
	return list, err
}

func TestAStringListTakesValuesByCommaAndByRepetition(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		args []string
		want StringList
	}{
		"never given":         {nil, nil},
		"one value":           {[]string{"-list=a"}, StringList{"a"}},
		"two by comma":        {[]string{"-list=a,b"}, StringList{"a", "b"}},
		"two by repetition":   {[]string{"-list=a", "-list", "b"}, StringList{"a", "b"}},
		"both ways, in order": {[]string{"-list=a,b", "-list=c"}, StringList{"a", "b", "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list, err := parse(row.args...)
			require.NoError(t, err)
			assert.Equal(t, row.want, list)
		})
	}
}

func TestAStringListRefusesAnEmptyValueAndStaysAsItWas(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"", "a,,b", ",a", "a,"} {
		list := StringList{"before"}
		assert.Error(t, list.Set(value), value)
		assert.Equal(t, StringList{"before"}, list)
	}
}

func TestAStringListPrintsItsValuesWithCommas(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a,b", (&StringList{"a", "b"}).String())
}
