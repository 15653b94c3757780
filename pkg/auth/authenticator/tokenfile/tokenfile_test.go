package tokenfile

import (
	"bytes"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"kube2014/pkg/auth/user"
)

func write(t *testing.T, file, text string) string {
	if file == "" {
		file = filepath.Join(t.TempDir(), "tokens.csv")
	}
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestAFileNamesUsersByTokens(t *testing.T) {
	t.Parallel()
	a, err := New(write(t, "", `s3cret,zoe,1,"dev, ops,,"
"t,2",bob,"",
t3,"carl ""the cat""",3,dev

t4,dan,4
`))
	require.NoError(t, err)
	for token, want := range map[string]*user.Info{
		"s3cret": {Name: "zoe", UID: "1", Groups: []string{"dev", "ops"}},
		"t,2":    {Name: "bob"},
		"t3":     {Name: `carl "the cat"`, UID: "3", Groups: []string{"dev"}},
		"t4":     {Name: "dan", UID: "4"},
		"":       nil,
		"S3cret": nil,
		"s3cre":  nil,
		"t3 ":    nil,
	} {
		who, ok, err := a.AuthenticateToken(t.Context(), token)
		assert.NoError(t, err)
		assert.Equal(t, want != nil, ok, token)
		assert.Equal(t, want, who, token)
	}
}

func TestAnEmptyFileKnowsNobody(t *testing.T) {
	t.Parallel()
	a, err := New(write(t, "", ""))
	require.NoError(t, err)
	_, ok, err := a.AuthenticateToken(t.Context(), "")
	assert.False(t, ok)
	assert.NoError(t, err)
}

// broken are files with the token s3cret and the user zoe, and what is wrong with them.
var broken = []struct{ text, problem string }{
	{"s3cret,zoe\n", "line 1: there are 2 columns, but token, user and uid are needed"},
	{"t1,bob,1\ns3cret\n", "line 2: there are 1 columns, but token, user and uid are needed"},
	{"t1,bob,1\n\ns3cret,zoe,1,dev,ops\n", `line 3: there are 5 columns, but groups are one: "group1,group2"`},
	{",zoe,1\n", "line 1: the token is empty"},
	{"s3cret,,1\n", "line 1: the user is empty"},
	{"s3cret,zoe,1\nt2,bob,1\ns3cret,bob,2\n", "line 3: the token is that of line 1"},
	{"t1,\"a\nb\",1\ns3cret,,1\n", "line 3: the user is empty"},
	{"s3cret,zo\"e,1\n", `line 1: bare " in non-quoted-field`},
	{"t1,bob,1\ns3cret,\"zoe\"s,1\n", `line 2: extraneous or missing " in quoted-field`},
	{"s3cret,\"zoe,1\n", `line 1: extraneous or missing " in quoted-field`},
}

func TestABrokenFileIsToldWithTheLineButWithoutItsText(t *testing.T) {
	t.Parallel()
	for _, row := range broken {
		file := write(t, "", row.text)
		_, err := New(file)
		require.EqualError(t, err, file+": "+row.problem)
		assert.NotContains(t, err.Error(), "s3cret")
		assert.NotContains(t, err.Error(), "zoe")
	}
	_, err := New("/nowhere")
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestABrokenEditKeepsTheOldTokens(t *testing.T) { // not parallel, for the log is everybody's
	var lines bytes.Buffer
	log.SetOutput(&lines)
	defer log.SetOutput(os.Stderr)
	synctest.Test(t, func(t *testing.T) {
		file := write(t, "", "old,bob,1\n")
		a, err := New(file)
		require.NoError(t, err)
		knows := func(token string) bool {
			_, ok, err := a.AuthenticateToken(t.Context(), token)
			assert.NoError(t, err)
			return ok
		}
		for _, row := range broken {
			write(t, file, row.text)
			time.Sleep(time.Second)
			assert.True(t, knows("old"))
			assert.False(t, knows("s3cret"))
			assert.Contains(t, lines.String(), "-token_auth_file cannot be read again, so what was read before stays: "+file+": "+row.problem)
		}
		write(t, file, "s3cret,zoe,1\n")
		time.Sleep(time.Second)
		assert.True(t, knows("s3cret"))
		assert.False(t, knows("old"), "a token that is taken away ends")
	})
	assert.NotContains(t, lines.String(), "s3cret")
	assert.NotContains(t, lines.String(), "zoe")
}

func FuzzTokenFiles(f *testing.F) {
	for _, row := range broken {
		f.Add(row.text)
	}
	f.Add("s3cret,zoe,1,\"dev,ops\"\r\nt2,bob,2")
	f.Add("\ufeffs3cret,zoe,1\n\"\"\"\",x,y\n")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parse([]byte(text))
		if err != nil {
			assert.Regexp(t, `^line \d+: `, err.Error())
			return
		}
		assert.LessOrEqual(t, len(all.users), strings.Count(text, "\n")+1)
		assert.NotContains(t, all.users, all.digest(""))
		for _, who := range all.users {
			assert.NotEmpty(t, who.Name)
			assert.NotContains(t, who.Groups, "")
		}
	})
}

func BenchmarkToken(b *testing.B) {
	all := make([]byte, 0)
	for i := range 1000 {
		all = append(all, strings.Repeat("x", i+1)+",zoe,1\n"...)
	}
	file := filepath.Join(b.TempDir(), "tokens.csv")
	require.NoError(b, os.WriteFile(file, all, 0o600))
	a, err := New(file)
	require.NoError(b, err)
	for b.Loop() {
		_, _, _ = a.AuthenticateToken(b.Context(), "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx")
	}
}
