package hollow

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"kube2014/pkg/kubelet/hollow/memfs"
)

var errTarUse = errors.New("only c or x with f - , m, p and v, and -C, are known")

// tar packs and unpacks as kubectl cp asks for it: cf - PATH, and xmf - -C FOLDER.
func (p *process) tar() int32 {
	names, what, err := p.tarOptions()
	if err == nil && what == 'c' {
		err = p.pack(names)
	} else if err == nil {
		err = p.unpack()
	}
	if err != nil {
		_, _ = fmt.Fprintf(p.stderr, "tar: %v\n", err) // nobody may listen
		return 1
	}
	return 0
}

// tarOptions returns the names to pack, and whether to pack, c, or to unpack, x. It changes the folder.
func (p *process) tarOptions() (names []string, what byte, err error) {
	for i := 0; i < len(p.args); i++ {
		switch arg := p.args[i]; {
		case arg == "-C" && i+1 < len(p.args):
			i++
			in := *p.inside
			in.dir, p.inside = p.at(p.args[i]), &in
		case arg == "-", arg == "--no-same-permissions", arg == "--no-same-owner":
		case i > 0 && arg[:min(len(arg), 1)] != "-":
			names = append(names, arg)
		default:
			letters := strings.TrimPrefix(arg, "-")
			if strings.Trim(letters, "cxfmpv") != "" {
				return nil, 0, errTarUse
			}
			if at := strings.IndexAny(letters, "cx"); at >= 0 {
				what = letters[at]
			}
		}
	}
	if what == 0 || (what == 'c') != (len(names) > 0) {
		return nil, 0, errTarUse
	}
	return names, what, nil
}

// pack writes files, and folders with what is in them.
func (p *process) pack(names []string) error {
	w := tar.NewWriter(p.stdout)
	for _, name := range names {
		full := p.at(name)
		for _, each := range append([]string{full}, p.files.Under(full, true)...) {
			packed, err := p.files.Get(each)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			header := &tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(name+strings.TrimPrefix(each, full), "/"),
				Size: int64(len(packed.Text)), Mode: int64(packed.Mode.Perm()), ModTime: packed.Changed}
			if packed.Mode.IsDir() {
				header.Typeflag, header.Name = tar.TypeDir, path.Clean(header.Name)+"/"
			}
			if err := w.WriteHeader(header); err != nil {
				return err
			}
			if _, err := w.Write(packed.Text); err != nil {
				return err
			}
		}
	}
	return w.Close()
}

// unpack writes the files and folders of the input.
func (p *process) unpack() error {
	if in, err := p.files.Get(p.dir); err != nil {
		return fmt.Errorf("can't change directory to '%s': %w", p.dir, err)
	} else if !in.Mode.IsDir() {
		return fmt.Errorf("can't change directory to '%s': %w", p.dir, syscall.ENOTDIR)
	}
	r := tar.NewReader(p.stdin)
	for {
		header, err := r.Next()
		if err == io.EOF {
			_, err = io.Copy(io.Discard, p.stdin) // what fills the last block, so that the client can write it
			return err
		}
		if err != nil {
			return err
		}
		if err := p.unpackOne(header, r); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

func (p *process) unpackOne(header *tar.Header, r io.Reader) error {
	full := path.Join(p.dir, path.Join("/", header.Name))
	switch header.Typeflag {
	case tar.TypeDir:
		return p.files.Write(full, nil, fs.ModeDir|fs.FileMode(header.Mode).Perm())
	case tar.TypeReg:
		if header.Size > memfs.MaxWritten {
			return syscall.ENOSPC
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return p.files.Write(full, text, fs.FileMode(header.Mode).Perm())
	}
	return fmt.Errorf("neither a file nor a folder: %w", syscall.ENOTSUP)
}
