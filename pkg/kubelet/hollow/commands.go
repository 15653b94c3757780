package hollow

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"kube2014/pkg/kubelet/cri"
)

// process is a command that runs.
type process struct {
	ctx            context.Context // it is killed when that ends
	kill           context.CancelCauseFunc
	name           string
	args           []string // those after its name
	stdin          io.Reader
	stdout, stderr io.Writer
	*inside
}

// commands are what hollow containers can run. They return an exit code.
var commands map[string]func(*process) int32

func init() { // it would refer to itself
	commands = map[string]func(*process) int32{
		"cat": (*process).cat, "date": (*process).date, "echo": (*process).echo, "exit": (*process).exit, "ls": (*process).ls, "sleep": (*process).sleep, "tar": (*process).tar, "test": (*process).test,
		"env":      func(p *process) int32 { return p.print(strings.Join(p.env, "\n") + "\n") },
		"hostname": func(p *process) int32 { return p.print(p.hostname + "\n") },
		"false":    func(*process) int32 { return 1 },
		"true":     func(*process) int32 { return 0 },
	}
}

// isKnown reports whether a command can be run. It may be named with a folder.
func isKnown(command []string) bool {
	return len(command) > 0 && commands[path.Base(command[0])] != nil
}

// newProcess returns the process of a known command, with the streams that there are.
func newProcess(ctx context.Context, command []string, in *inside, streams cri.Streams) *process {
	p := &process{name: path.Base(command[0]), args: command[1:], inside: in, stdin: cmp.Or[io.Reader](streams.Stdin, strings.NewReader("")),
		stdout: cmp.Or(streams.Stdout, io.Discard), stderr: cmp.Or(streams.Stderr, io.Discard)}
	p.ctx, p.kill = context.WithCancelCause(ctx)
	return p
}

// run runs the command until it ends, and returns its exit code.
func (p *process) run() int32 {
	code := commands[p.name](p)
	if p.ctx.Err() != nil {
		return p.killedCode()
	}
	return code
}

// killedCode returns the exit code if the context has ended.
func (p *process) killedCode() int32 {
	if context.Cause(p.ctx) == errInterrupted {
		return interruptedCode
	}
	return killedCode
}

// fail tells an error of something, and returns the exit code for it.
func (p *process) fail(about string, err error) int32 {
	_, _ = fmt.Fprintf(p.stderr, "%s: %s: %v\n", p.name, about, err) // nobody may listen
	return 1
}

// print returns the exit code.
func (p *process) print(text string) int32 {
	if _, err := io.WriteString(p.stdout, text); err != nil {
		return 1
	}
	return 0
}

// at returns the absolute path of a name.
func (p *process) at(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(p.dir, name)
}

func (p *process) cat() (code int32) {
	if len(p.args) == 0 {
		p.args = []string{"-"}
	}
	for _, name := range p.args {
		if name == "-" {
			if _, err := io.Copy(p.stdout, p.stdin); err != nil {
				return 1
			}
			continue
		}
		file, err := p.files.Get(p.at(name))
		if err == nil && file.Mode.IsDir() {
			err = syscall.EISDIR
		}
		if err != nil {
			code = p.fail(name, err)
		} else {
			code = max(code, p.print(string(file.Text)))
		}
	}
	return code
}

// date prints the time as coreutils do in the locale C, in UTC. It knows neither options nor formats.
func (p *process) date() int32 {
	if len(p.args) > 0 {
		return p.fail(strings.Join(p.args, " "), syscall.ENOTSUP)
	}
	return p.print(time.Now().UTC().Format(time.UnixDate) + "\n")
}

func (p *process) echo() int32 {
	if len(p.args) > 0 && p.args[0] == "-n" {
		return p.print(strings.Join(p.args[1:], " "))
	}
	return p.print(strings.Join(p.args, " ") + "\n")
}

func (p *process) exit() int32 {
	code, err := strconv.Atoi(strings.Join(p.args, " "))
	if err != nil && len(p.args) > 0 {
		p.fail(p.args[0], strconv.ErrSyntax)
		return 2
	}
	return int32(code & 0xff)
}

// ls lists names, and with -l also modes, sizes and times. Other options change nothing.
func (p *process) ls() (code int32) {
	long := false
	for len(p.args) > 0 && strings.HasPrefix(p.args[0], "-") {
		long = long || strings.Contains(p.args[0], "l")
		p.args = p.args[1:]
	}
	if len(p.args) == 0 {
		p.args = []string{"."}
	}
	for _, name := range p.args {
		there, err := p.files.Get(p.at(name))
		if err != nil {
			code = p.fail(name, err)
			continue
		}
		shown := []string{p.at(name)}
		if there.Mode.IsDir() {
			shown = p.files.Under(p.at(name), false)
		}
		for _, full := range shown {
			line := name
			if full != p.at(name) {
				line = path.Base(full)
			}
			if listed, err := p.files.Get(full); err == nil && long {
				line = fmt.Sprintf("%v 1 root root %8d %s %s", listed.Mode&(fs.ModeDir|fs.ModePerm), len(listed.Text), listed.Changed.UTC().Format("Jan _2 15:04"), line)
			}
			code = max(code, p.print(line+"\n"))
		}
	}
	return code
}

// test knows -d, -e and -f.
func (p *process) test() int32 {
	if len(p.args) != 2 || !slices.Contains([]string{"-d", "-e", "-f"}, p.args[0]) {
		p.fail(strings.Join(p.args, " "), syscall.ENOTSUP)
		return 2
	}
	file, err := p.files.Get(p.at(p.args[1]))
	if err != nil || p.args[0] == "-d" && !file.Mode.IsDir() || p.args[0] == "-f" && !file.Mode.IsRegular() {
		return 1
	}
	return 0
}

// sleep sleeps for a time, such as 1.5, 2m, or infinity.
func (p *process) sleep() int32 {
	text := strings.Join(p.args, " ")
	pause, err := time.ParseDuration(text)
	if seconds, isNumber := strconv.ParseFloat(text, 64); isNumber == nil && seconds >= 0 {
		pause, err = time.Duration(min(seconds, maxSleep.Seconds())*float64(time.Second)), nil
	}
	if err != nil || pause < 0 {
		return p.fail(text, syscall.EINVAL)
	}
	select {
	case <-time.After(pause):
		return 0
	case <-p.ctx.Done():
		return killedCode
	}
}

// maxSleep is as good as forever.
const maxSleep = 100 * 365 * 24 * time.Hour
