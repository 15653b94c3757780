package hollow

import (
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
		"cat": (*process).cat, "date": (*process).date, "echo": (*process).echo, "env": (*process).printEnv, "exit": (*process).exit,
		"false": func(*process) int32 { return 1 }, "hostname": (*process).printHostname, "ls": (*process).ls, "pwd": (*process).pwd,
		"sleep": (*process).sleep, "tar": (*process).tar, "test": (*process).test, "true": func(*process) int32 { return 0 },
	}
}

// isKnown reports whether a command can be run. It may be named with a folder.
func isKnown(command []string) bool {
	return len(command) > 0 && commands[path.Base(command[0])] != nil
}

// unknown returns why a command cannot be run.
func unknown(command []string) error {
	return &cri.CommandError{Name: strings.Join(command[:min(len(command), 1)], "")}
}

// run runs the command until it ends.
func (p *process) run() int32 { return commands[p.name](p) }

// newProcess returns the process of a known command. It has no streams.
func newProcess(ctx context.Context, command []string, in *inside) *process {
	return &process{ctx: ctx, name: path.Base(command[0]), args: command[1:], stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, inside: in}
}

// fail tells an error of something, and returns the exit code for it.
func (p *process) fail(about string, err error) int32 {
	_, _ = fmt.Fprintf(p.stderr, "%s: %s: %v\n", p.name, about, err) // nobody may listen
	return 1
}

// print writes a line, and returns the exit code.
func (p *process) print(line string) int32 {
	if _, err := io.WriteString(p.stdout, line+"\n"); err != nil {
		return 1
	}
	return 0
}

// options takes the options before the other arguments, and returns their letters, which must be allowed.
func (p *process) options(allowed string) (given string, err error) {
	for len(p.args) > 0 && len(p.args[0]) > 1 && p.args[0][0] == '-' {
		letters := p.args[0][1:]
		if rest := strings.Trim(letters, allowed); rest != "" {
			return "", fmt.Errorf("unrecognized option %.40q", "-"+letters)
		}
		given, p.args = given+letters, p.args[1:]
	}
	return given, nil
}

func (p *process) at(name string) string { return path.Join("/", p.folder(name), name) }

// folder returns where a path begins.
func (p *process) folder(name string) string {
	if path.IsAbs(name) {
		return "/"
	}
	return p.dir
}

func (p *process) cat() (code int32) {
	for _, name := range p.args {
		if name == "-" {
			code = max(code, p.copyInput())
			continue
		}
		file, err := p.files.get(p.at(name))
		if err == nil && file.mode.IsDir() {
			err = syscall.EISDIR
		}
		if err != nil {
			code = p.fail(name, err)
		} else if _, err := p.stdout.Write(file.text); err != nil {
			return 1
		}
	}
	if len(p.args) == 0 {
		return p.copyInput()
	}
	return code
}

func (p *process) copyInput() int32 {
	if _, err := io.Copy(p.stdout, p.stdin); err != nil {
		return 1
	}
	return 0
}

func (p *process) date() int32 {
	now := time.Now().UTC()
	form := now.Format("Mon Jan _2 15:04:05 MST 2006")
	if len(p.args) > 0 && strings.HasPrefix(p.args[len(p.args)-1], "+") {
		form = strings.NewReplacer("%%", "%", "%F", now.Format(time.DateOnly), "%T", now.Format(time.TimeOnly), "%s", strconv.FormatInt(now.Unix(), 10),
			"%Y", now.Format("2006"), "%m", now.Format("01"), "%d", now.Format("02"), "%H", now.Format("15"), "%M", now.Format("04"), "%S", now.Format("05"),
		).Replace(p.args[len(p.args)-1][1:])
	}
	return p.print(form)
}

func (p *process) echo() int32 {
	if len(p.args) > 0 && p.args[0] == "-n" {
		if _, err := io.WriteString(p.stdout, strings.Join(p.args[1:], " ")); err != nil {
			return 1
		}
		return 0
	}
	return p.print(strings.Join(p.args, " "))
}

func (p *process) printEnv() int32 {
	if len(p.args) > 0 {
		p.fail(p.args[0], syscall.ENOENT)
		return 127
	}
	return p.print(strings.Join(p.env, "\n"))
}

func (p *process) printHostname() int32 { return p.print(p.hostname) }

func (p *process) pwd() int32 { return p.print(p.dir) }

func (p *process) exit() int32 {
	if len(p.args) == 0 {
		return 0
	}
	code, err := strconv.Atoi(p.args[0])
	if err != nil {
		p.fail(p.args[0], strconv.ErrSyntax)
		return 2
	}
	return int32(code & 0xff)
}

// ls lists names, and with -l also modes, sizes and times.
func (p *process) ls() (code int32) {
	given, err := p.options("1aAld")
	if err != nil {
		return p.fail("options", err)
	}
	if len(p.args) == 0 {
		p.args = []string{"."}
	}
	var lines []string
	for _, name := range p.args {
		there, err := p.files.get(p.at(name))
		if err != nil {
			code = p.fail(name, err)
			continue
		}
		shown := []string{p.at(name)}
		if there.mode.IsDir() && !strings.Contains(given, "d") {
			shown = p.files.under(p.at(name), false)
		}
		for _, full := range shown {
			line := name
			if full != p.at(name) {
				line = path.Base(full)
			}
			if listed, err := p.files.get(full); err == nil && strings.Contains(given, "l") {
				line = fmt.Sprintf("%v 1 root root %8d %s %s", listed.mode&(fs.ModeDir|fs.ModePerm), len(listed.text), listed.changed.UTC().Format("Jan _2 15:04"), line)
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return code
	}
	return max(code, p.print(strings.Join(lines, "\n")))
}

// test knows -d, -e and -f.
func (p *process) test() int32 {
	if len(p.args) != 2 || !slices.Contains([]string{"-d", "-e", "-f"}, p.args[0]) {
		p.fail(strings.Join(p.args, " "), syscall.ENOTSUP)
		return 2
	}
	file, err := p.files.get(p.at(p.args[1]))
	if err != nil || p.args[0] == "-d" && !file.mode.IsDir() || p.args[0] == "-f" && !file.mode.IsRegular() {
		return 1
	}
	return 0
}

// sleep sleeps for the sum of some times, such as 1.5, 2m, or infinity.
func (p *process) sleep() int32 {
	total := time.Duration(0)
	for _, text := range p.args {
		unit := time.Second
		switch number, last := text[:max(len(text)-1, 0)], text[max(len(text)-1, 0):]; last {
		case "s", "m", "h", "d":
			text, unit = number, map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[last]
		}
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || !(seconds >= 0) {
			return p.fail(text, syscall.EINVAL)
		}
		total = min(total+time.Duration(min(seconds*float64(unit), float64(maxSleep))), maxSleep)
	}
	if len(p.args) == 0 {
		return p.fail("missing operand", syscall.EINVAL)
	}
	timer := time.NewTimer(total)
	defer timer.Stop()
	select {
	case <-timer.C:
		return 0
	case <-p.ctx.Done():
		return killedCode
	}
}

// maxSleep is as good as forever.
const maxSleep = 100 * 365 * 24 * time.Hour
