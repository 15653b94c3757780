package hollow_test

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"kube2014/pkg/kubelet/cri"
	"kube2014/pkg/kubelet/hollow"
)

// exec runs a command, and tells what it writes: its output, what it tells of errors, and its exit code.
func (s *started) exec(t *testing.T, stdin string, command ...string) (stdout, stderr string, code int32) {
	var out, errs bytes.Buffer
	code, err := s.Exec(t.Context(), command, cri.Streams{Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs})
	require.NoError(t, err)
	return out.String(), errs.String(), code
}

// startRunning starts a container in a bubble, and waits until it runs.
func startRunning(t *testing.T, told map[string]string, change ...func(*cri.Spec)) *started {
	s := start(&hollow.Runtime{StartAfter: time.Second}, told, change...)
	time.Sleep(time.Second)
	synctest.Wait()
	t.Cleanup(func() { s.end() })
	return s
}

// runs lets a container have a command.
func runs(command ...string) func(*cri.Spec) {
	return func(spec *cri.Spec) { spec.Container.Command, spec.Container.Args = command[:1], command[1:] }
}

func TestACommandWritesAndEndsAsElsewhere(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		stdin   string
		command []string
		stdout  string
		stderr  string
		code    int32
	}{
		"cat":                     {"a\x00b", []string{"cat"}, "a\x00b", "", 0},
		"cat of files":            {"in", []string{"cat", "/etc/hostname", "-", "hostname"}, "web-1\nin" + "web-1\n", "", 0},
		"cat of nothing":          {"", []string{"cat", "/nope", "/etc/hostname", "/etc"}, "web-1\n", "cat: /nope: no such file or directory\ncat: /etc: is a directory\n", 1},
		"date":                    {"", []string{"date"}, "Sat Jan  1 00:00:01 UTC 2000\n", "", 0},
		"date in another form":    {"", []string{"date", "-u", "+%s"}, "", "date: -u +%s: operation not supported\n", 1},
		"hosts":                   {"", []string{"cat", "/etc/hosts"}, "127.0.0.1\tlocalhost\n::1\tlocalhost\n10.1.0.1\tweb-1\n", "", 0},
		"what is mounted":         {"", []string{"cat", "/config/a", "/config/b/c"}, "AC", "", 0},
		"echo":                    {"", []string{"/usr/bin/echo", "a", "-n", "b"}, "a -n b\n", "", 0},
		"echo without a newline":  {"", []string{"echo", "-n", "a"}, "a", "", 0},
		"env":                     {"", []string{"env"}, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\nHOSTNAME=web-1\nA=b=c\n", "", 0},
		"exit":                    {"", []string{"exit"}, "", "", 0},
		"exit with a code":        {"", []string{"exit", "300"}, "", "", 44},
		"exit with a bad code":    {"", []string{"exit", "x"}, "", "exit: x: invalid syntax\n", 2},
		"false":                   {"", []string{"false"}, "", "", 1},
		"hostname":                {"", []string{"hostname"}, "web-1\n", "", 0},
		"ls":                      {"", []string{"ls"}, "hostname\nhosts\n", "", 0},
		"ls of the root":          {"", []string{"ls", "-1a", "/"}, "config\netc\ntmp\n", "", 0},
		"sleep":                   {"", []string{"sleep", "1.5"}, "", "", 0},
		"sleep at all":            {"", []string{"sleep"}, "", "sleep: : invalid argument\n", 1},
		"ls of a file":            {"", []string{"ls", "../config/a"}, "../config/a\n", "", 0},
		"ls with more":            {"", []string{"ls", "-a", "-lA", "/config"}, "-rw-r--r-- 1 root root        1 Jan  1 00:00 a\ndrwxr-xr-x 1 root root        0 Jan  1 00:00 b\n", "", 0},
		"ls of nothing":           {"", []string{"ls", "/nope", "/tmp"}, "", "ls: /nope: no such file or directory\n", 1},
		"sleep for no time":       {"", []string{"sleep", "soon"}, "", "sleep: soon: invalid argument\n", 1},
		"sleep for less":          {"", []string{"sleep", "-1"}, "", "sleep: -1: invalid argument\n", 1},
		"test of a folder":        {"", []string{"test", "-d", "/tmp/"}, "", "", 0},
		"test of no folder":       {"", []string{"test", "-d", "/etc/hosts"}, "", "", 1},
		"test of a file":          {"", []string{"test", "-f", "hosts"}, "", "", 0},
		"test of no file":         {"", []string{"test", "-f", "/etc"}, "", "", 1},
		"test of what is there":   {"", []string{"test", "-e", "/etc"}, "", "", 0},
		"test of what is not":     {"", []string{"test", "-e", "/etc/nope"}, "", "", 1},
		"test of something else":  {"", []string{"test", "1", "-lt", "2"}, "", "test: 1 -lt 2: operation not supported\n", 2},
		"true":                    {"", []string{"true"}, "", "", 0},
		"tar of nothing":          {"", []string{"tar", "cf", "-", "/nope"}, "", "tar: /nope: no such file or directory\n", 1},
		"tar into nothing":        {"", []string{"tar", "xf", "-", "-C", "/nope"}, "", "tar: can't change directory to '/nope': no such file or directory\n", 1},
		"tar into a file":         {"", []string{"tar", "xf", "-", "-C", "/etc/hosts"}, "", "tar: can't change directory to '/etc/hosts': not a directory\n", 1},
		"tar in an unknown way":   {"", []string{"tar", "czf", "-", "/tmp"}, "", "tar: only c or x with f - , m, p and v, and -C, are known\n", 1},
		"tar without a direction": {"", []string{"tar"}, "", "tar: only c or x with f - , m, p and v, and -C, are known\n", 1},
		"tar of no tar":           {strings.Repeat("x", 2000), []string{"tar", "xf", "-"}, "", "tar: archive/tar: invalid tar header\n", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := startRunning(t, nil, func(spec *cri.Spec) {
					spec.Env, spec.Files = []string{"A=b=c"}, map[string][]byte{"/config/a": []byte("A"), "/config/b/c": []byte("C")}
					spec.Container.WorkingDir = "/etc"
				})
				stdout, stderr, code := s.exec(t, row.stdin, row.command...)
				assert.Equal(t, row.stdout, stdout)
				assert.Equal(t, row.stderr, stderr)
				assert.Equal(t, row.code, code)
			})
		})
	}
}

func TestACommandSleepsAsLongAsItSays(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"0": 0, "3": 3 * time.Second, "1.5s": 1500 * time.Millisecond, "2m": 2 * time.Minute, "1h": time.Hour, "infinity": 100 * 365 * 24 * time.Hour, "1e300": 100 * 365 * 24 * time.Hour} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := startRunning(t, nil)
				began := time.Now()
				_, _, code := s.exec(t, "", "sleep", text)
				assert.Zero(t, code)
				assert.Equal(t, want, time.Since(began))
			})
		})
	}
}

func TestACommandThatIsNotThereIsToldAsByTodaysRuntimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startRunning(t, nil)
		for text, command := range map[string][]string{
			`exec: "foo": executable file not found in $PATH`: {"foo", "-x"},
			`exec: "sh": executable file not found in $PATH`:  {"sh", "-c", "echo hi"},
			`exec: "": executable file not found in $PATH`:    nil,
		} {
			_, err := s.Exec(t.Context(), command, cri.Streams{})
			var of *cri.CommandError
			require.ErrorAs(t, err, &of)
			assert.EqualError(t, err, text)
		}
	})
}

func TestACommandRunsOnlyInAContainerThatRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := start(&hollow.Runtime{StartAfter: time.Second}, nil)
		for range 2 {
			_, err := s.Exec(t.Context(), []string{"true"}, cri.Streams{})
			assert.ErrorIs(t, err, cri.ErrNotRunning)
			assert.ErrorIs(t, s.Attach(t.Context(), cri.Streams{}), cri.ErrNotRunning)
			s.end()
		}
	})
}

func TestACommandEndsWithItsContainerOrItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startRunning(t, nil)
		typed, keys := io.Pipe()
		defer keys.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		code, err := s.Exec(ctx, []string{"cat"}, cri.Streams{Stdin: typed})
		assert.NoError(t, err)
		assert.EqualValues(t, 137, code)
		time.AfterFunc(time.Minute, func() { s.Stop(0) })
		code, err = s.Exec(t.Context(), []string{"sleep", "1h"}, cri.Streams{})
		assert.NoError(t, err)
		assert.EqualValues(t, 137, code)
		assert.Equal(t, cri.Exited, s.State().Phase)
	})
}

func TestAContainerEndsWithItsOwnCommand(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		command []string
		told    map[string]string
		change  func(*cri.Spec)
		end     string
		code    int32
		log     string
	}{
		"it succeeds":                 {[]string{"/bin/echo", "a", "$(A)"}, nil, nil, "exited 1s", 0, "a $(A)\n"},
		"it fails":                    {[]string{"cat", "/nope"}, nil, nil, "exited 1s", 1, "cat: /nope: no such file or directory\n"},
		"it takes its time":           {[]string{"sleep", "3"}, nil, nil, "exited 4s", 0, ""},
		"it has a code":               {[]string{"exit", "7"}, nil, nil, "exited 1s", 7, ""},
		"it has no input":             {[]string{"cat"}, nil, nil, "exited 1s", 0, ""},
		"a line does not end":         {[]string{"echo", "-n", "a\nb"}, nil, nil, "exited 1s", 0, "a\nb\n"},
		"an init container's":         {[]string{"sleep", "3"}, nil, isInit, "exited 4s", 0, ""},
		"an annotation tells its end": {[]string{"echo", "a"}, map[string]string{"exit-after": "5s"}, nil, "exited 6s", 0, "a\n"},
		"an annotation tells a code":  {[]string{"sleep", "1h"}, map[string]string{"exit-code": "3"}, nil, "exited 2s", 3, ""},
		"one that is not known":       {[]string{"sh", "-c", "exit 7"}, nil, nil, "exited 1h0m0s", 137, "hollow: started nginx:1.8\nhollow: there is no \"sh\" here; the container runs until it is stopped\nhollow: killed with code 137\n"},
		"an unknown one that exits":   {[]string{"sh", "-c", "exit 7"}, nil, isInit, "exited 1.1s", 0, "hollow: started nginx:1.8\nhollow: there is no \"sh\" here; the container exits after 100ms\nhollow: exited with code 0\n"},
		"only options":                {[]string{"--port=80"}, nil, nil, "exited 1h0m0s", 137, "hollow: started nginx:1.8\nhollow: killed with code 137\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := start(&hollow.Runtime{StartAfter: time.Second}, row.told, runs(row.command...), func(spec *cri.Spec) {
					spec.Env = []string{"A=a"} // it is for the kubelet to use it
					if row.change != nil {
						row.change(spec)
					}
				})
				time.Sleep(time.Hour)
				phases, _ := s.end()
				assert.Equal(t, row.end, phases[len(phases)-1])
				assert.Equal(t, row.code, s.State().ExitCode)
				log := strings.ReplaceAll(s.text(), "hollow: told to stop\n", "")
				assert.Equal(t, row.log, log)
			})
		})
	}
}

func TestACommandIsToldToStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startRunning(t, map[string]string{"stop-after": "5s"}, runs("sleep", "infinity"))
		s.Stop(30 * time.Second)
		time.Sleep(4 * time.Second)
		assert.Equal(t, cri.Running, s.State().Phase)
		time.Sleep(2 * time.Second)
		assert.EqualValues(t, 143, s.State().ExitCode)
	})
}

// output is what a client of a container has seen.
type output struct {
	mu   sync.Mutex // guards what follows
	text string
}

func (o *output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text += string(text)
	return len(text), nil
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text
}

func TestAClientIsAttachedToACommand(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		once  bool
		phase cri.Phase
		seen  string
	}{
		"its input ends with the first client": {true, cri.Exited, "a\n"},
		"its input goes on":                    {false, cri.Running, "a\nb\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := startRunning(t, nil, runs("cat"), func(spec *cri.Spec) { spec.Container.Stdin, spec.Container.StdinOnce = true, row.once })
				seen := &output{}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- s.Attach(ctx, cri.Streams{Stdin: strings.NewReader("a\n"), Stdout: seen}) }()
				synctest.Wait()
				go func() { _ = s.Attach(ctx, cri.Streams{Stdin: strings.NewReader("b\n")}) }() // it may have ended
				synctest.Wait()
				assert.Equal(t, row.phase, s.State().Phase)
				assert.Equal(t, row.seen, seen.String())
				assert.Equal(t, row.seen, s.text())
				cancel()
				assert.NoError(t, <-done)
			})
		})
	}
}

func TestAClientThatGoesSeesNoMoreAndEndsTheInput(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		once  bool
		phase cri.Phase
	}{"of the first client": {true, cri.Exited}, "of all": {false, cri.Running}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := startRunning(t, nil, runs("cat"), func(spec *cri.Spec) { spec.Container.Stdin, spec.Container.StdinOnce = true, row.once })
				typed, keys := io.Pipe()
				defer keys.Close()
				seen := &output{}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, s.Attach(ctx, cri.Streams{Stdin: typed, Stdout: seen}))
				synctest.Wait()
				assert.Equal(t, row.phase, s.State().Phase)
				go func() { _ = s.Attach(t.Context(), cri.Streams{Stdin: strings.NewReader("b\n")}) }() // it may have ended
				synctest.Wait()
				assert.Empty(t, seen.String())
			})
		})
	}
}

func TestAClientCanSendMoreThanATarNeeds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startRunning(t, nil)
		in, out := io.Pipe()
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(out, packed(t, tar.Header{Name: "a", Size: 1})+strings.Repeat("\x00", 20_000))
			_ = out.Close() // it never fails
			sent <- err
		}()
		code, err := s.Exec(t.Context(), []string{"tar", "xmf", "-"}, cri.Streams{Stdin: in})
		assert.NoError(t, err)
		assert.Zero(t, code)
		assert.NoError(t, <-sent)
	})
}

func TestAClientOfAHollowContainerSeesWhatIsLoggedFromNowOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startRunning(t, nil)
		seen, terminal := &output{}, &output{}
		go func() { _ = s.Attach(t.Context(), cri.Streams{Stdout: seen}) }()
		go func() { _ = s.Attach(t.Context(), cri.Streams{Stdout: terminal, TTY: true}) }()
		synctest.Wait()
		s.end()
		assert.Equal(t, "hollow: told to stop\nhollow: killed with code 137\n", seen.String())
		assert.Equal(t, "hollow: told to stop\r\nhollow: killed with code 137\r\n", terminal.String())
	})
}

func TestATerminalShowsAndPassesOnWhatIsTyped(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		typed   string
		command []string
		shown   string
		code    int32
	}{
		"a line, and the end":      {"ab\x7f\x7f\x7fc\r\x04", []string{"cat"}, "ab\b \b\b \bc\r\nc\r\n", 0},
		"an end within a line":     {"ab\x04\x04", []string{"cat"}, "abab", 0},
		"an interruption":          {"ab\x03", []string{"cat"}, "ab^C\r\n", 130},
		"an interruption of sleep": {"\x03", []string{"sleep", "1h"}, "^C\r\n", 130},
		"the client goes":          {"", []string{"cat"}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := startRunning(t, nil)
				shown := &output{}
				code, err := s.Exec(t.Context(), row.command, cri.Streams{Stdin: strings.NewReader(row.typed), Stdout: shown, TTY: true})
				require.NoError(t, err)
				assert.Equal(t, row.shown, shown.String())
				assert.Equal(t, row.code, code)

				main := startRunning(t, nil, runs(row.command...), func(spec *cri.Spec) {
					spec.Container.Stdin, spec.Container.StdinOnce, spec.Container.TTY = true, true, true
				})
				shown = &output{}
				require.NoError(t, main.Attach(t.Context(), cri.Streams{Stdin: strings.NewReader(row.typed), Stdout: shown, TTY: true}))
				assert.Equal(t, row.shown, shown.String())
				assert.Equal(t, row.code, main.State().ExitCode)
			})
		})
	}
}

// packed is what tar sends.
func packed(t *testing.T, headers ...tar.Header) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, header := range headers {
		text := bytes.Repeat([]byte("x"), int(header.Size))
		require.NoError(t, w.WriteHeader(&header))
		_, err := w.Write(text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.String()
}

func TestFilesAreCopiedBothWays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startRunning(t, nil)
		sent := packed(t, tar.Header{Name: "d/", Typeflag: tar.TypeDir, Mode: 0o750}, tar.Header{Name: "d/a", Size: 3, Mode: 0o600}, tar.Header{Name: "../../b", Size: 5, Mode: 0o644})
		_, stderr, code := s.exec(t, sent+strings.Repeat("\x00", 5000), "tar", "--no-same-permissions", "--no-same-owner", "-xmf", "-", "-C", "/tmp")
		assert.Empty(t, stderr)
		assert.Zero(t, code)
		stdout, _, _ := s.exec(t, "", "ls", "-l", "/tmp", "/tmp/d")
		assert.Equal(t, "-rw-r--r-- 1 root root        5 Jan  1 00:00 b\ndrwxr-x--- 1 root root        0 Jan  1 00:00 d\n-rw------- 1 root root        3 Jan  1 00:00 a\n", stdout)
		stdout, stderr, code = s.exec(t, "", "tar", "cf", "-", "/tmp")
		assert.Empty(t, stderr)
		assert.Zero(t, code)
		r := tar.NewReader(strings.NewReader(stdout))
		var names []string
		for header, err := r.Next(); err != io.EOF; header, err = r.Next() {
			require.NoError(t, err)
			text, err := io.ReadAll(r)
			require.NoError(t, err)
			names = append(names, header.Name+string(text))
		}
		assert.Equal(t, []string{"tmp/", "tmp/bxxxxx", "tmp/d/", "tmp/d/axxx"}, names)
	})
}

func TestAContainerHasLittleRoomForFiles(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		headers []tar.Header
		stderr  string
	}{
		"as much as there is":   {[]tar.Header{{Name: "a", Size: 1000 << 10}, {Name: "a", Size: 1000 << 10}}, ""},
		"one too large":         {[]tar.Header{{Name: "a", Size: 1 << 20}}, "tar: a: no space left on device\n"},
		"one that says so":      {[]tar.Header{{Name: "a", Size: 3 << 20}}, "tar: a: no space left on device\n"},
		"too many":              {many(8000), ": no space left on device\n"},
		"folders too deep":      {[]tar.Header{{Name: strings.Repeat("d/", 2000) + "a"}}, ": no space left on device\n"},
		"one that is mounted":   {[]tar.Header{{Name: "config/a"}}, "tar: config/a: read-only file system\n"},
		"a folder":              {[]tar.Header{{Name: "config"}}, "tar: config: is a directory\n"},
		"a file as a folder":    {[]tar.Header{{Name: "etc/hosts", Typeflag: tar.TypeDir}}, "tar: etc/hosts: file exists\n"},
		"below a file":          {[]tar.Header{{Name: "etc/hosts/x/y"}}, "tar: etc/hosts/x/y: not a directory\n"},
		"neither of both":       {[]tar.Header{{Name: "l", Linkname: "/etc", Typeflag: tar.TypeSymlink}}, "tar: l: neither a file nor a folder: operation not supported\n"},
		"a folder that is here": {[]tar.Header{{Name: "tmp", Typeflag: tar.TypeDir}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := startRunning(t, nil, func(spec *cri.Spec) { spec.Files = map[string][]byte{"/config/a": bytes.Repeat([]byte("m"), 2<<20)} })
				_, stderr, _ := s.exec(t, packed(t, row.headers...), "tar", "xmf", "-", "-C", "/")
				assert.Equal(t, row.stderr == "", stderr == "")
				assert.Contains(t, stderr, row.stderr)
			})
		})
	}
}

func TestContainersShareTheFoldersOfVolumes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		volume := &cri.Volume{}
		with := func(folders map[string]cri.Folder) *started {
			return startRunning(t, nil, func(spec *cri.Spec) {
				spec.Folders, spec.Files, spec.Container.WorkingDir = folders, map[string][]byte{"/work/conf/c": []byte("C")}, "/work"
			})
		}
		writer := with(map[string]cri.Folder{"/work": {Volume: volume}})
		reader := with(map[string]cri.Folder{"/work": {Volume: volume, ReadOnly: true}, "/d": {Volume: volume, Path: "sub/d"}, "/work/hidden": {Volume: &cri.Volume{}}, "/tmp": {Volume: &cri.Volume{}}})
		at := func(s *started, stdin string, command ...string) string {
			stdout, stderr, _ := s.exec(t, stdin, command...)
			return stdout + stderr
		}
		assert.Equal(t, "conf\n", at(writer, "", "ls", "/work"), "it is empty but for what is mounted")
		assert.Equal(t, "drwxrwxrwx 1 root root        0 Jan  1 00:00 work\n", strings.SplitAfter(at(writer, "", "ls", "-l", "/"), "tmp\n")[1])
		sent := packed(t, tar.Header{Name: "a", Size: 1, Mode: 0o600}, tar.Header{Name: "sub/d/b", Size: 1, Mode: 0o644}, tar.Header{Name: "hidden/x", Size: 1})
		assert.Empty(t, at(writer, sent, "tar", "xmf", "-"))
		assert.Equal(t, "x", at(reader, "", "cat", "/work/a"))
		assert.Equal(t, "b\n", at(reader, "", "ls", "/d"))
		assert.Equal(t, "a\nconf\nhidden\nsub\n", at(reader, "", "ls"))
		assert.Empty(t, at(reader, "", "ls", "hidden"))
		assert.Empty(t, at(reader, "", "ls", "/tmp"))
		assert.Equal(t, "tar: a: read-only file system\n", at(reader, sent, "tar", "xmf", "-"))
		assert.Empty(t, at(reader, packed(t, tar.Header{Name: "n", Size: 1}), "tar", "xmf", "-", "-C", "/d"))
		assert.Equal(t, "b\nn\n", at(writer, "", "ls", "sub/d"))
		assert.Equal(t, "tar: conf/c: read-only file system\n", at(writer, packed(t, tar.Header{Name: "conf/c", Size: 1}), "tar", "xmf", "-"))
		assert.Equal(t, 10, strings.Count(at(writer, "", "tar", "cf", "-", "/work"), "ustar"), "the folder, and all in it")
		writer.Stop(0)
		assert.Equal(t, "x", at(with(map[string]cri.Folder{"/v": {Volume: volume}}), "", "cat", "/v/a"), "it stays when a container has ended")
	})
}

// many returns the headers of empty files in folders of their own.
func many(n int) (all []tar.Header) {
	for i := range n {
		all = append(all, tar.Header{Name: strings.Repeat("d/", i%20) + string(rune(0x4e00+i))})
	}
	return all
}

func TestALogHasLongOutputInPieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := startRunning(t, nil, runs("echo", strings.Repeat("x", 40_000)))
		lines, _, _ := s.Log(0)
		var sizes []int
		for _, line := range lines {
			sizes = append(sizes, len(line.Text))
		}
		assert.Equal(t, []int{16 << 10, 16 << 10, 40_000 - 32<<10}, sizes)
	})
}

func TestAContainerHasTheNameOfItsPodOrMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for want, change := range map[string]func(*cri.Spec){
			"web-1\n": func(*cri.Spec) {}, "m1\n": func(spec *cri.Spec) { spec.Pod.Spec.HostNetwork = true }, "own\n": func(spec *cri.Spec) { spec.Pod.Spec.Hostname = "own" },
			strings.Repeat("n", 63) + "\n": func(spec *cri.Spec) { spec.Pod.Name = strings.Repeat("n", 100) },
		} {
			stdout, _, _ := startRunning(t, nil, change).exec(t, "", "hostname")
			assert.Equal(t, want, stdout)
		}
		stdout, _, _ := startRunning(t, nil, func(spec *cri.Spec) {
			spec.Env, spec.Container.WorkingDir = []string{"PATH=/bin", "HOSTNAME=x"}, "/w/d"
		}, func(spec *cri.Spec) { spec.Container = &corev1.Container{WorkingDir: "/w/d"} }).exec(t, "", "env")
		assert.Equal(t, "PATH=/bin\nHOSTNAME=x\n", stdout)
	})
}
